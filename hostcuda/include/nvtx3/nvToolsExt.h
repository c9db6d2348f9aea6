/* nvtx3/nvToolsExt.h: marks for NVIDIA's profilers, which see nothing of a program that runs here:
 * they do nothing. */
#ifndef HOSTCUDA_NVTX
#define HOSTCUDA_NVTX

typedef unsigned long long nvtxRangeId_t;
static inline int nvtxRangePushA(const char *text) { return (void)text, 0; }
static inline int nvtxRangePop(void) { return 0; }
static inline nvtxRangeId_t nvtxRangeStartA(const char *text) { return (void)text, 0; }
static inline void nvtxRangeEnd(nvtxRangeId_t range) { (void)range; }
static inline void nvtxMarkA(const char *text) { (void)text; }
static inline void nvtxNameOsThreadA(unsigned thread, const char *name) {
    (void)thread, (void)name;
}
#define nvtxRangePush    nvtxRangePushA
#define nvtxRangeStart   nvtxRangeStartA
#define nvtxMark         nvtxMarkA
#define nvtxNameOsThread nvtxNameOsThreadA

#endif
