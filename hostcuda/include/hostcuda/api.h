/* hostcuda/api.h: the runtime API. hc_ functions of the runtime under CUDA's names, by macro, so
 * that an object file neither defines nor wants a symbol called cuda…. */
#ifndef HOSTCUDA_API_H
#define HOSTCUDA_API_H

#include "hostcuda/abi.h"
#include "hostcuda/graph.h"
#include "hostcuda/texture.h"
#include "hostcuda/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef hc_stream cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum {
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaHostAllocWriteCombined = 4
};
enum {
    cudaHostRegisterDefault = 0,
    cudaHostRegisterPortable = 1,
    cudaHostRegisterMapped = 2,
    cudaMemAttachGlobal = 1,
    cudaMemAttachHost = 2,
    cudaMemAttachSingle = 4
};
enum {
    cudaDeviceScheduleAuto = 0,
    cudaDeviceScheduleSpin = 1,
    cudaDeviceScheduleYield = 2,
    cudaDeviceScheduleBlockingSync = 4,
    cudaDeviceBlockingSync = 4,
    cudaDeviceMapHost = 8
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxL1 = 0,
    cudaSharedmemCarveoutMaxShared = 100
};
enum cudaFuncCache {
    cudaFuncCachePreferNone,
    cudaFuncCachePreferShared,
    cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrTotalConstantMemory = 9,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxPitch = 11,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13,
    cudaDevAttrGpuOverlap = 15,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrComputeMode = 20,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMemoryPoolsSupported = 115
};
enum cudaComputeMode {
    cudaComputeModeDefault,
    cudaComputeModeExclusive,
    cudaComputeModeProhibited,
    cudaComputeModeExclusiveProcess
};
enum cudaLimit {
    cudaLimitStackSize,
    cudaLimitPrintfFifoSize,
    cudaLimitMallocHeapSize,
    cudaLimitMaxL2FetchGranularity = 5,
    cudaLimitPersistingL2CacheSize = 6
};
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly,
    cudaMemAdviseSetPreferredLocation,
    cudaMemAdviseUnsetPreferredLocation,
    cudaMemAdviseSetAccessedBy,
    cudaMemAdviseUnsetAccessedBy
};
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};

typedef struct cudaMemLocation {
    enum cudaMemLocationType type;
    int id;
} cudaMemLocation;

typedef struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
} cudaPointerAttributes;

typedef struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent;
    enum cudaMemcpyKind kind;
} cudaMemcpy3DParms;

typedef struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
    size_t totalConstMem, memPitch, textureAlignment, reservedSharedMemPerBlock;
    int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock;
    int maxThreadsDim[3], maxGridSize[3];
    int clockRate, memoryClockRate, memoryBusWidth, l2CacheSize;
    int major, minor, multiProcessorCount, maxThreadsPerMultiProcessor;
    int maxBlocksPerMultiProcessor, concurrentKernels, asyncEngineCount, unifiedAddressing;
    int managedMemory, integrated, canMapHostMemory, ECCEnabled, pciBusID, pciDeviceID;
    int kernelExecTimeoutEnabled, computeMode, cooperativeLaunch;
    int deviceOverlap, concurrentManagedAccess, pageableMemoryAccess, streamPrioritiesSupported;
    int globalL1CacheSupported, localL1CacheSupported, pciDomainID, isMultiGpuBoard;
    int persistingL2CacheMaxSize, accessPolicyMaxWindowSize, memoryPoolsSupported; /* 0, 0, 1 */
} cudaDeviceProp;

typedef struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
} cudaFuncAttributes;

/* What every call is given that adds a node to a graph. */
#define HC_NODE cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count

/* X(suffix, (arguments)): hc_<suffix> is cuda<suffix>; each takes the caller's file and line last.
 */
#define HC_API(X)                                                                                  \
    X(MallocBytes, (void **p, size_t bytes, HC_AT))                                                \
    X(MallocHostBytes, (void **p, size_t bytes, HC_AT))                                            \
    X(MallocManagedBytes, (void **p, size_t bytes, HC_AT))                                         \
    X(MallocPitchBytes, (void **p, size_t *pitch, size_t width, size_t height, HC_AT))             \
    X(Free, (void *p, HC_AT))                                                                      \
    X(FreeAsync, (void *p, cudaStream_t stream, HC_AT))                                            \
    X(FreeHost, (void *p, HC_AT))                                                                  \
    X(HostRegister, (void *p, size_t bytes, unsigned flags, HC_AT))                                \
    X(HostUnregister, (void *p, HC_AT))                                                            \
    X(Memcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, HC_AT))         \
    X(MemcpyAsync, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,            \
                    cudaStream_t stream HC_NONE, HC_AT))                                           \
    X(Memcpy2D, (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,     \
                 size_t height, enum cudaMemcpyKind kind, HC_AT))                                  \
    X(Memcpy2DAsync,                                                                               \
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,               \
       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream HC_NONE, HC_AT))               \
    X(Memcpy3D, (const struct cudaMemcpy3DParms *p, HC_AT))                                        \
    X(Memcpy3DAsync, (const struct cudaMemcpy3DParms *p, cudaStream_t stream HC_NONE, HC_AT))      \
    X(Memset, (void *p, int value, size_t bytes, HC_AT))                                           \
    X(MemsetAsync, (void *p, int value, size_t bytes, cudaStream_t stream HC_NONE, HC_AT))         \
    X(Memset2D, (void *p, size_t pitch, int value, size_t width, size_t height, HC_AT))            \
    X(Memset2DAsync, (void *p, size_t pitch, int value, size_t width, size_t height,               \
                      cudaStream_t stream HC_NONE, HC_AT))                                         \
    X(MemAdvised, (const void *p, size_t bytes, HC_AT))                                            \
    X(MemGetInfo, (size_t * free_bytes, size_t * total, HC_AT))                                    \
    X(PointerGetAttributes, (cudaPointerAttributes * attributes, const void *p, HC_AT))            \
    X(StreamCreate, (cudaStream_t * stream, HC_AT))                                                \
    X(StreamCreateWithFlags, (cudaStream_t * stream, unsigned flags, HC_AT))                       \
    X(StreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority, HC_AT))      \
    X(StreamDestroy, (cudaStream_t stream, HC_AT))                                                 \
    X(StreamSynchronize, (cudaStream_t stream, HC_AT))                                             \
    X(StreamQuery, (cudaStream_t stream, HC_AT))                                                   \
    X(StreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags HC_NONE, HC_AT))    \
    X(StreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode, HC_AT))           \
    X(StreamEndCapture, (cudaStream_t stream, cudaGraph_t * graph, HC_AT))                         \
    X(StreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus * status, HC_AT))      \
    X(LaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *data, HC_AT))             \
    X(StreamAddCallback,                                                                           \
      (cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned flags, HC_AT))     \
    X(EventCreate, (cudaEvent_t * event, HC_AT))                                                   \
    X(EventCreateWithFlags, (cudaEvent_t * event, unsigned flags, HC_AT))                          \
    X(EventDestroy, (cudaEvent_t event, HC_AT))                                                    \
    X(EventRecord, (cudaEvent_t event, cudaStream_t stream HC_NONE, HC_AT))                        \
    X(EventSynchronize, (cudaEvent_t event, HC_AT))                                                \
    X(EventQuery, (cudaEvent_t event, HC_AT))                                                      \
    X(EventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end, HC_AT))                    \
    X(GraphCreate, (cudaGraph_t * graph, unsigned flags, HC_AT))                                   \
    X(GraphClone, (cudaGraph_t * clone, cudaGraph_t graph, HC_AT))                                 \
    X(GraphAddEmptyNode, (HC_NODE, HC_AT))                                                         \
    X(GraphAddKernel, (HC_NODE, const hc_kernel_node *kernel, HC_AT))                              \
    X(GraphAddMemcpyNode, (HC_NODE, const struct cudaMemcpy3DParms *p, HC_AT))                     \
    X(GraphAddMemcpyNode1D,                                                                        \
      (HC_NODE, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, HC_AT))        \
    X(GraphAddMemsetNode, (HC_NODE, const struct cudaMemsetParams *p, HC_AT))                      \
    X(GraphAddHostNode, (HC_NODE, const struct cudaHostNodeParams *p, HC_AT))                      \
    X(GraphAddChildGraphNode, (HC_NODE, cudaGraph_t child, HC_AT))                                 \
    X(GraphExecSetKernel,                                                                          \
      (cudaGraphExec_t exec, cudaGraphNode_t node, const hc_kernel_node *kernel, HC_AT))           \
    X(GraphExecUpdatePlan, (cudaGraphExec_t exec, cudaGraph_t graph, HC_AT))                       \
    X(GraphInstantiateFlags,                                                                       \
      (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags, HC_AT))                \
    X(GraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream, HC_AT))                             \
    X(GraphUpload, (cudaGraphExec_t exec, cudaStream_t stream, HC_AT))                             \
    X(GraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t * nodes, size_t * count, HC_AT))          \
    X(GraphDestroy, (cudaGraph_t graph, HC_AT))                                                    \
    X(GraphExecDestroy, (cudaGraphExec_t exec, HC_AT))                                             \
    X(GetLastError, (HC_AT))                                                                       \
    X(PeekAtLastError, (HC_AT))                                                                    \
    X(GetDeviceCount, (int *count, HC_AT))                                                         \
    X(GetDevice, (int *device, HC_AT))                                                             \
    X(SetDevice, (int device, HC_AT))                                                              \
    X(SetDeviceFlags, (unsigned flags, HC_AT))                                                     \
    X(GetDeviceProperties, (cudaDeviceProp * properties, int device, HC_AT))                       \
    X(DeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device, HC_AT))          \
    X(DeviceSynchronize, (HC_AT))                                                                  \
    X(DeviceReset, (HC_AT))                                                                        \
    X(DeviceSetLimit, (enum cudaLimit limit, size_t value, HC_AT))                                 \
    X(DeviceGetLimit, (size_t * value, enum cudaLimit limit, HC_AT))                               \
    X(DeviceSetCacheConfig, (enum cudaFuncCache config, HC_AT))                                    \
    X(DeviceGetStreamPriorityRange, (int *least, int *greatest, HC_AT))                            \
    X(DriverGetVersion, (int *version, HC_AT))                                                     \
    X(RuntimeGetVersion, (int *version, HC_AT))                                                    \
    X(FuncSetAttributeOf,                                                                          \
      (const void *kernel, enum cudaFuncAttribute attribute, int value, HC_AT))                    \
    X(FuncGetAttributesOf, (cudaFuncAttributes * attributes, const void *kernel, HC_AT))           \
    X(OccupancyOf, (int *blocks, const void *kernel, int threads, size_t shared, HC_AT))           \
    X(MallocArray, (cudaArray_t * array, const struct cudaChannelFormatDesc *desc, size_t width,   \
                    size_t height HC_NONE, unsigned flags HC_NONE, HC_AT))                         \
    X(FreeArray, (cudaArray_t array, HC_AT))                                                       \
    X(Memcpy2DToArray, (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,        \
                        size_t width, size_t height, enum cudaMemcpyKind kind, HC_AT))             \
    X(Memcpy2DToArrayAsync,                                                                        \
      (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,           \
       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream HC_NONE, HC_AT))               \
    X(Memcpy2DFromArray, (void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,      \
                          size_t width, size_t height, enum cudaMemcpyKind kind, HC_AT))           \
    X(MemcpyToArray, (cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,          \
                      enum cudaMemcpyKind kind, HC_AT))                                            \
    X(CreateTextureObject,                                                                         \
      (cudaTextureObject_t * object, const struct cudaResourceDesc *from,                          \
       const struct cudaTextureDesc *how, const struct cudaResourceViewDesc *view, HC_AT))         \
    X(DestroyTextureObject, (cudaTextureObject_t object, HC_AT))

#ifdef __cplusplus
#define HC_AT   const char *hc_file = __builtin_FILE(), int hc_line = __builtin_LINE()
#define HC_NONE = 0
#else
#define HC_AT const char *hc_file, int hc_line
#define HC_NONE
#endif
#define HC_DECLARE(name, arguments) cudaError_t hc_##name arguments;
HC_API(HC_DECLARE)
#undef HC_DECLARE
#undef HC_AT
#undef HC_NONE

const char *hc_GetErrorString(cudaError_t error);
const char *hc_GetErrorName(cudaError_t error);
cudaError_t hc_symbol_copy(void *symbol, void *host, size_t bytes, size_t offset,
                           size_t symbol_bytes, bool to_symbol, bool wait, cudaStream_t stream,
                           const char *file, int line);

#ifdef __cplusplus
}
#endif
#endif
