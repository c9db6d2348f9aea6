/* device.c: the one device: what it says of itself. */
#include "internal.h"

#include <fenv.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define UNUSED_SITE (void)file, (void)line

/* Limits are those of compute capability 7.5, the oldest GPU that today's toolkit builds for; only
 * shared memory is what common GPUs have. */
cudaError_t hc_GetDeviceProperties(cudaDeviceProp *p, int device, const char *file, int line) {
    UNUSED_SITE;
    if (!p) return hc_fail(cudaErrorInvalidValue);
    if (device != 0) return hc_fail(cudaErrorInvalidDevice);
    /* (a cooperative launch may fill them all: whole.c) */
    int workers = hc_options_get()->workers, most = WHOLE_MAX / THREADS_MAX;
    int multiprocessors = workers < most ? workers : most;
    *p = (cudaDeviceProp){.totalGlobalMem = hc_options_get()->memory,
                          .sharedMemPerBlock = SHARED_STATIC_MAX,
                          .sharedMemPerBlockOptin = SHARED_MAX,
                          .sharedMemPerMultiprocessor = SHARED_MAX + 1024,
                          .totalConstMem = 64 * 1024,
                          .memPitch = 0x7fffffff,
                          .textureAlignment = 512,
                          .reservedSharedMemPerBlock = 1024,
                          .regsPerBlock = 65536,
                          .regsPerMultiprocessor = 65536,
                          .warpSize = WARP,
                          .maxThreadsPerBlock = THREADS_MAX,
                          .maxThreadsDim = {1024, 1024, 64},
                          .maxGridSize = {0x7fffffff, 65535, 65535},
                          .clockRate = 1000000,
                          .memoryClockRate = 1000000,
                          .memoryBusWidth = 64,
                          .l2CacheSize = 4 << 20,
                          .major = 7,
                          .minor = 5,
                          .multiProcessorCount = multiprocessors,
                          .maxThreadsPerMultiProcessor = THREADS_MAX,
                          .maxBlocksPerMultiProcessor = 16,
                          .concurrentKernels = 1,
                          .asyncEngineCount = 1,
                          .unifiedAddressing = 1,
                          .managedMemory = 1,
                          .integrated = 1,
                          .canMapHostMemory = 1,
                          .cooperativeLaunch = 1,
                          .deviceOverlap = 1,
                          .memoryPoolsSupported = 1,
                          .globalL1CacheSupported = 1,
                          .localL1CacheSupported = 1};
    snprintf(p->name, sizeof p->name, "hostcuda (%d CPU workers)", workers);
    return cudaSuccess;
}

/* An attribute is a field of the properties under a name of its own. */
cudaError_t hc_DeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device,
                                  const char *file, int line) {
    cudaDeviceProp p;
    if (!value) return hc_fail(cudaErrorInvalidValue);
    cudaError_t error = hc_GetDeviceProperties(&p, device, file, line);
    if (error) return error;
    const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } known[] = {
        {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
        {cudaDevAttrMaxSharedMemoryPerBlock, (int)p.sharedMemPerBlock},
        {cudaDevAttrTotalConstantMemory, (int)p.totalConstMem},
        {cudaDevAttrWarpSize, p.warpSize},
        {cudaDevAttrMaxPitch, (int)p.memPitch},
        {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
        {cudaDevAttrClockRate, p.clockRate},
        {cudaDevAttrGpuOverlap, p.deviceOverlap},
        {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
        {cudaDevAttrIntegrated, p.integrated},
        {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
        {cudaDevAttrComputeMode, p.computeMode},
        {cudaDevAttrConcurrentKernels, p.concurrentKernels},
        {cudaDevAttrMemoryClockRate, p.memoryClockRate},
        {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
        {cudaDevAttrL2CacheSize, p.l2CacheSize},
        {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
        {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
        {cudaDevAttrComputeCapabilityMajor, p.major},
        {cudaDevAttrComputeCapabilityMinor, p.minor},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)p.sharedMemPerMultiprocessor},
        {cudaDevAttrManagedMemory, p.managedMemory},
        {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)p.sharedMemPerBlockOptin},
        {cudaDevAttrMemoryPoolsSupported, p.memoryPoolsSupported},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute != attribute) continue;
        *value = known[i].value;
        return cudaSuccess;
    }
    return hc_fail(cudaErrorInvalidValue);
}

cudaError_t hc_GetDeviceCount(int *count, const char *file, int line) {
    UNUSED_SITE;
    *count = 1;
    return cudaSuccess;
}

cudaError_t hc_GetDevice(int *device, const char *file, int line) {
    UNUSED_SITE;
    *device = 0;
    return cudaSuccess;
}

cudaError_t hc_SetDevice(int device, const char *file, int line) {
    UNUSED_SITE;
    return device == 0 ? cudaSuccess : hc_fail(cudaErrorInvalidDevice);
}

cudaError_t hc_SetDeviceFlags(unsigned flags, const char *file, int line) {
    UNUSED_SITE;
    (void)flags;
    return cudaSuccess;
}

/* A thread's stack has one size; the other limits are of no consequence here. */
cudaError_t hc_DeviceSetLimit(enum cudaLimit limit, size_t value, const char *file, int line) {
    if (limit == cudaLimitMallocHeapSize) hc_heap_set_limit(value);
    if (limit != cudaLimitStackSize || value <= STACK_BYTES) return cudaSuccess;
    hc_complain("stack-overflow", file, line, "recursion that deep wants a loop",
                "a stack of %zu bytes asked for; a thread has %d", value, STACK_BYTES);
    return hc_fail(cudaErrorInvalidValue);
}

cudaError_t hc_DeviceGetLimit(size_t *value, enum cudaLimit limit, const char *file, int line) {
    UNUSED_SITE;
    if (!value) return hc_fail(cudaErrorInvalidValue);
    *value = limit == cudaLimitStackSize        ? STACK_BYTES
             : limit == cudaLimitMallocHeapSize ? hc_heap_limit()
                                                : 8 << 20;
    return cudaSuccess;
}

cudaError_t hc_DeviceSetCacheConfig(enum cudaFuncCache config, const char *file, int line) {
    UNUSED_SITE;
    (void)config;
    return cudaSuccess;
}

cudaError_t hc_DeviceGetStreamPriorityRange(int *least, int *greatest, const char *file, int line) {
    UNUSED_SITE;
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t hc_DriverGetVersion(int *version, const char *file, int line) {
    UNUSED_SITE;
    *version = 12000;
    return cudaSuccess;
}

cudaError_t hc_RuntimeGetVersion(int *version, const char *file, int line) {
    return hc_DriverGetVersion(version, file, line);
}

cudaError_t hc_OccupancyOf(int *blocks, const void *kernel, int threads, size_t shared,
                           const char *file, int line) {
    UNUSED_SITE;
    if (!kernel || threads <= 0) return hc_fail(cudaErrorInvalidValue);
    int by_threads = THREADS_MAX / threads, by_shared = shared ? (int)(SHARED_MAX / shared) : 16;
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    if (*blocks > 16) *blocks = 16;
    return cudaSuccess;
}

/* Ends all work, frees all memory after naming what was leaked, and forgets errors. */
cudaError_t hc_DeviceReset(const char *file, int line) {
    hc_enter();
    if (hc_sticky())
        hc_streams_drop();
    else
        hc_drain_all();
    hc_report_unchecked();
    hc_report_leaks();
    hc_arena_release_all((hc_site){file, line});
    hc_forget_errors();
    hc_leave();
    return cudaSuccess;
}

long long hc_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* (a function, not fesetround itself: the compiler must not move what is computed past it) */
void hc_rounding(int direction) { fesetround(direction); }
