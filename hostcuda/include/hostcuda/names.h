/* hostcuda/names.h: CUDA's names for the functions of api.h, and those that are templates in CUDA.
 */
#ifndef HOSTCUDA_NAMES_H
#define HOSTCUDA_NAMES_H

#include "hostcuda/api.h"
#include "hostcuda/kernel.h"

#define cudaFree                         hc_Free
#define cudaFreeAsync                    hc_FreeAsync
#define cudaFreeHost                     hc_FreeHost
#define cudaHostRegister                 hc_HostRegister
#define cudaHostUnregister               hc_HostUnregister
#define cudaMemcpy                       hc_Memcpy
#define cudaMemcpyAsync                  hc_MemcpyAsync
#define cudaMemcpy2D                     hc_Memcpy2D
#define cudaMemcpy2DAsync                hc_Memcpy2DAsync
#define cudaMemcpy3D                     hc_Memcpy3D
#define cudaMemcpy3DAsync                hc_Memcpy3DAsync
#define cudaMemset                       hc_Memset
#define cudaMemsetAsync                  hc_MemsetAsync
#define cudaMemset2D                     hc_Memset2D
#define cudaMemset2DAsync                hc_Memset2DAsync
#define cudaMemGetInfo                   hc_MemGetInfo
#define cudaPointerGetAttributes         hc_PointerGetAttributes
#define cudaStreamCreate                 hc_StreamCreate
#define cudaStreamCreateWithFlags        hc_StreamCreateWithFlags
#define cudaStreamCreateWithPriority     hc_StreamCreateWithPriority
#define cudaStreamDestroy                hc_StreamDestroy
#define cudaStreamSynchronize            hc_StreamSynchronize
#define cudaStreamQuery                  hc_StreamQuery
#define cudaStreamWaitEvent              hc_StreamWaitEvent
#define cudaStreamBeginCapture           hc_StreamBeginCapture
#define cudaStreamEndCapture             hc_StreamEndCapture
#define cudaStreamIsCapturing            hc_StreamIsCapturing
#define cudaLaunchHostFunc               hc_LaunchHostFunc
#define cudaStreamAddCallback            hc_StreamAddCallback
#define cudaEventCreate                  hc_cuda_EventCreate
#define cudaEventCreateWithFlags         hc_EventCreateWithFlags
#define cudaEventDestroy                 hc_EventDestroy
#define cudaEventRecord                  hc_EventRecord
#define cudaEventSynchronize             hc_EventSynchronize
#define cudaEventQuery                   hc_EventQuery
#define cudaEventElapsedTime             hc_EventElapsedTime
#define cudaGraphLaunch                  hc_GraphLaunch
#define cudaGraphUpload                  hc_GraphUpload
#define cudaGraphGetNodes                hc_GraphGetNodes
#define cudaGraphDestroy                 hc_GraphDestroy
#define cudaGraphExecDestroy             hc_GraphExecDestroy
#define cudaGetLastError                 hc_GetLastError
#define cudaPeekAtLastError              hc_PeekAtLastError
#define cudaGetDeviceCount               hc_GetDeviceCount
#define cudaGetDevice                    hc_GetDevice
#define cudaSetDevice                    hc_SetDevice
#define cudaSetDeviceFlags               hc_SetDeviceFlags
#define cudaGetDeviceProperties          hc_GetDeviceProperties
#define cudaDeviceGetAttribute           hc_DeviceGetAttribute
#define cudaDeviceSynchronize            hc_DeviceSynchronize
#define cudaDeviceReset                  hc_DeviceReset
#define cudaDeviceSetLimit               hc_DeviceSetLimit
#define cudaDeviceGetLimit               hc_DeviceGetLimit
#define cudaDeviceSetCacheConfig         hc_DeviceSetCacheConfig
#define cudaDeviceGetStreamPriorityRange hc_DeviceGetStreamPriorityRange
#define cudaDriverGetVersion             hc_DriverGetVersion
#define cudaRuntimeGetVersion            hc_RuntimeGetVersion
#define cudaMallocArray                  hc_MallocArray
#define cudaFreeArray                    hc_FreeArray
#define cudaMemcpy2DToArray              hc_Memcpy2DToArray
#define cudaMemcpy2DToArrayAsync         hc_Memcpy2DToArrayAsync
#define cudaMemcpy2DFromArray            hc_Memcpy2DFromArray
#define cudaMemcpyToArray                hc_MemcpyToArray
#define cudaCreateTextureObject          hc_CreateTextureObject
#define cudaDestroyTextureObject         hc_DestroyTextureObject
#define cudaGetErrorString               hc_GetErrorString
#define cudaGetErrorName                 hc_GetErrorName
#define cudaMallocPitch                  hc_cuda_MallocPitch
#define cudaMemcpyToSymbol               hc_cuda_MemcpyToSymbol
#define cudaMemcpyFromSymbol             hc_cuda_MemcpyFromSymbol
#define cudaMemcpyToSymbolAsync          hc_cuda_MemcpyToSymbolAsync
#define cudaMemcpyFromSymbolAsync        hc_cuda_MemcpyFromSymbolAsync
#define cudaGetSymbolAddress             hc_cuda_GetSymbolAddress
#define cudaGetSymbolSize                hc_cuda_GetSymbolSize
#define cudaHostGetDevicePointer         hc_cuda_HostGetDevicePointer
#define cudaFuncSetAttribute             hc_cuda_FuncSetAttribute
#define cudaFuncGetAttributes            hc_cuda_FuncGetAttributes
#define cudaFuncSetCacheConfig           hc_cuda_FuncSetCacheConfig
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor                                              \
    hc_cuda_OccupancyMaxActiveBlocksPerMultiprocessor
#define cudaOccupancyMaxPotentialBlockSize hc_cuda_OccupancyMaxPotentialBlockSize
#define cudaGraphInstantiate               hc_cuda_GraphInstantiate
#define cudaLaunchKernel                   hc_cuda_LaunchKernel
#define cudaLaunchCooperativeKernel        hc_cuda_LaunchCooperativeKernel
#define cudaMemPrefetchAsync               hc_cuda_MemPrefetchAsync
#define cudaMemAdvise                      hc_cuda_MemAdvise
#define cudaStreamAttachMemAsync           hc_cuda_StreamAttachMemAsync

#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaCpuDeviceId  (-1)
#define CUDART_CB
#define CUDART_VERSION 12000

/* By macro, for the text of the call: so a message knows what the buffer is called. */
namespace hc {
template <class T> cudaError_t named(T **p, cudaError_t error, const char *arguments) {
    if constexpr (std::is_void_v<T> || std::is_function_v<T>)
        (void)p, (void)arguments;
    else if (!error)
        hc_name_buffer((const void *)*p, sizeof(T), arguments);
    return error;
}
} // namespace hc

#define cudaMalloc(...)        hc_cuda_Malloc(#__VA_ARGS__, __VA_ARGS__)
#define cudaMallocAsync(...)   hc_cuda_MallocAsync(#__VA_ARGS__, __VA_ARGS__)
#define cudaMallocHost(...)    hc_cuda_MallocHost(#__VA_ARGS__, __VA_ARGS__)
#define cudaHostAlloc(...)     hc_cuda_MallocHost(#__VA_ARGS__, __VA_ARGS__)
#define cudaMallocManaged(...) hc_cuda_MallocManaged(#__VA_ARGS__, __VA_ARGS__)

template <class T>
static inline cudaError_t hc_cuda_Malloc(const char *text, T **p, size_t bytes, HC_HERE) {
    return hc::named(p, hc_MallocBytes((void **)p, bytes, hc_file, hc_line), text);
}
template <class T>
static inline cudaError_t hc_cuda_MallocAsync(const char *text, T **p, size_t bytes, cudaStream_t,
                                              HC_HERE) {
    return hc::named(p, hc_MallocBytes((void **)p, bytes, hc_file, hc_line), text);
}
template <class T>
static inline cudaError_t hc_cuda_MallocHost(const char *text, T **p, size_t bytes, unsigned = 0,
                                             HC_HERE) {
    return hc::named(p, hc_MallocHostBytes((void **)p, bytes, hc_file, hc_line), text);
}
template <class T>
static inline cudaError_t hc_cuda_MallocManaged(const char *text, T **p, size_t bytes, unsigned = 1,
                                                HC_HERE) {
    return hc::named(p, hc_MallocManagedBytes((void **)p, bytes, hc_file, hc_line), text);
}
template <class T>
static inline cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height,
                                          HC_HERE) {
    return hc_MallocPitchBytes((void **)p, pitch, width, height, hc_file, hc_line);
}
template <class T> static inline cudaError_t cudaHostGetDevicePointer(T **p, void *host, unsigned) {
    *p = static_cast<T *>(host);
    return cudaSuccess;
}

template <class T>
static inline cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind = cudaMemcpyHostToDevice, HC_HERE) {
    return hc_symbol_copy((void *)&symbol, (void *)from, bytes, offset, sizeof symbol, true, true,
                          nullptr, hc_file, hc_line);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes,
                                               size_t offset = 0,
                                               cudaMemcpyKind = cudaMemcpyDeviceToHost, HC_HERE) {
    return hc_symbol_copy((void *)&symbol, to, bytes, offset, sizeof symbol, false, true, nullptr,
                          hc_file, hc_line);
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t bytes,
                                                  size_t offset, cudaMemcpyKind,
                                                  cudaStream_t stream = nullptr, HC_HERE) {
    return hc_symbol_copy((void *)&symbol, (void *)from, bytes, offset, sizeof symbol, true, false,
                          stream, hc_file, hc_line);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes,
                                                    size_t offset, cudaMemcpyKind,
                                                    cudaStream_t stream = nullptr, HC_HERE) {
    return hc_symbol_copy((void *)&symbol, to, bytes, offset, sizeof symbol, false, false, stream,
                          hc_file, hc_line);
}
template <class P, class T> static inline cudaError_t cudaGetSymbolAddress(P **p, const T &symbol) {
    *p = (P *)const_cast<T *>(&symbol);
    return cudaSuccess;
}
template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol) {
    *bytes = sizeof symbol;
    return cudaSuccess;
}

template <class K>
static inline cudaError_t cudaFuncSetAttribute(K *kernel, cudaFuncAttribute attribute, int value,
                                               HC_HERE) {
    return hc_FuncSetAttributeOf((const void *)kernel, attribute, value, hc_file, hc_line);
}
template <class K>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, K *kernel,
                                                HC_HERE) {
    return hc_FuncGetAttributesOf(attributes, (const void *)kernel, hc_file, hc_line);
}
template <class K> static inline cudaError_t cudaFuncSetCacheConfig(K *, cudaFuncCache) {
    return cudaSuccess;
}
template <class K>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K *kernel,
                                                                        int threads, size_t shared,
                                                                        HC_HERE) {
    return hc_OccupancyOf(blocks, (const void *)kernel, threads, shared, hc_file, hc_line);
}
template <class K>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, K *, size_t = 0,
                                                             int limit = 0) {
    *grid = 64;
    *block = limit > 0 && limit < 256 ? limit : 256;
    return cudaSuccess;
}

/* Kernels are launched by type; an untyped address is known where the program has made it of a
 * kernel (hc::noted). */
template <class... P>
static inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block,
                                           void **arguments, size_t shared = 0,
                                           cudaStream_t stream = nullptr, HC_HERE) {
    auto l = hc::hc_kernel({"cudaLaunchKernel", {hc_file, hc_line}}, kernel, grid, block, shared,
                           stream);
    cudaError_t error = hc::launch_array(l, arguments, std::index_sequence_for<P...>());
    hc_PeekAtLastError(hc_file, hc_line); /* this form says what failed: nothing is unasked */
    return error;
}
template <class... P>
static inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block,
                                                      void **arguments, size_t shared = 0,
                                                      cudaStream_t stream = nullptr, HC_HERE) {
    auto l = hc::hc_kernel({"cudaLaunchCooperativeKernel", {hc_file, hc_line}}, kernel, grid, block,
                           shared, stream);
    l.launch.cooperative = true;
    cudaError_t error = hc::launch_array(l, arguments, std::index_sequence_for<P...>());
    hc_PeekAtLastError(hc_file, hc_line);
    return error;
}
static inline cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                                           void **arguments, size_t shared = 0,
                                           cudaStream_t stream = nullptr, HC_HERE) {
    hc_launch l =
        hc::configure({"cudaLaunchKernel", {hc_file, hc_line}}, grid, block, shared, stream);
    cudaError_t error = hc_launch_noted(&l, kernel, arguments);
    hc_PeekAtLastError(hc_file, hc_line);
    return error;
}
static inline cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block,
                                                      void **arguments, size_t shared = 0,
                                                      cudaStream_t stream = nullptr, HC_HERE) {
    hc_launch l = hc::configure({"cudaLaunchCooperativeKernel", {hc_file, hc_line}}, grid, block,
                                shared, stream);
    l.cooperative = true;
    cudaError_t error = hc_launch_noted(&l, kernel, arguments);
    hc_PeekAtLastError(hc_file, hc_line);
    return error;
}

/* Managed memory lies in one place here: advice changes nothing. CUDA 13 names the place by a
 * structure, earlier versions by a device's number. */
template <class Place>
static inline cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, Place, unsigned = 0,
                                               cudaStream_t = nullptr, HC_HERE) {
    return hc_MemAdvised(p, bytes, hc_file, hc_line);
}
template <class Place>
static inline cudaError_t cudaMemAdvise(const void *p, size_t bytes, cudaMemoryAdvise, Place,
                                        HC_HERE) {
    return hc_MemAdvised(p, bytes, hc_file, hc_line);
}

template <class T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, T *p, size_t bytes = 0,
                                                   unsigned = cudaMemAttachSingle, HC_HERE) {
    return hc_MemAdvised((const void *)p, bytes, hc_file, hc_line);
}

/* Behind the arguments of a call of two forms: so what the other form is given, often 0 or NULL, is
 * not taken for a file. */
struct hc_nothing {};
static inline cudaError_t cudaEventCreate(cudaEvent_t *event, hc_nothing = {}, HC_HERE) {
    return hc_EventCreate(event, hc_file, hc_line);
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags, HC_HERE) {
    return hc_EventCreateWithFlags(event, flags, hc_file, hc_line);
}

/* CUDA 12 has the flags; CUDA 11 had a node and a text buffer for errors. */
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               unsigned long long flags = 0, hc_nothing = {},
                                               HC_HERE) {
    return hc_GraphInstantiateFlags(exec, graph, flags, hc_file, hc_line);
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphNode_t *, char *, size_t, HC_HERE) {
    return hc_GraphInstantiateFlags(exec, graph, 0, hc_file, hc_line);
}

#endif
