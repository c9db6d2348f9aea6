/* hostcuda/hints.h: what tells a GPU how to be quick, and changes no result: memory pools, which
 * lines of the L2 cache shall stay. Here there is one pool and no such cache. */
#ifndef HOSTCUDA_HINTS_H
#define HOSTCUDA_HINTS_H

#include "hostcuda/names.h"

typedef struct CUmemPoolHandle_st *cudaMemPool_t;
enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies = 1,
    cudaMemPoolReuseAllowOpportunistic = 2,
    cudaMemPoolReuseAllowInternalDependencies = 3,
    cudaMemPoolAttrReleaseThreshold = 4
};

#define cudaDeviceGetDefaultMemPool   hc_cuda_DeviceGetDefaultMemPool
#define cudaDeviceGetMemPool          hc_cuda_DeviceGetDefaultMemPool
#define cudaMemPoolSetAttribute       hc_cuda_MemPoolSetAttribute
#define cudaMemPoolTrimTo             hc_cuda_MemPoolTrimTo
#define cudaStreamSetAttribute        hc_cuda_StreamSetAttribute
#define cudaCtxResetPersistingL2Cache hc_cuda_CtxResetPersistingL2Cache
#define cudaMallocFromPoolAsync(...)  hc_cuda_MallocFromPoolAsync(#__VA_ARGS__, __VA_ARGS__)

static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    if (!pool || device != 0) return cudaErrorInvalidValue;
    *pool = (cudaMemPool_t)1;
    return cudaSuccess;
}
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *value) {
    return value ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
template <class T>
static inline cudaError_t hc_cuda_MallocFromPoolAsync(const char *text, T **p, size_t bytes,
                                                      cudaMemPool_t, cudaStream_t stream, HC_HERE) {
    return hc_cuda_MallocAsync(text, p, bytes, stream, hc_file, hc_line);
}

enum cudaAccessProperty {
    cudaAccessPropertyNormal,
    cudaAccessPropertyStreaming,
    cudaAccessPropertyPersisting
};
struct cudaAccessPolicyWindow {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    cudaAccessProperty hitProp, missProp;
};
enum cudaStreamAttrID { cudaStreamAttributeAccessPolicyWindow = 1 };
union cudaStreamAttrValue {
    cudaAccessPolicyWindow accessPolicyWindow;
};
static inline cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID,
                                                 const cudaStreamAttrValue *value) {
    return value ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

#endif
