/* prelude.h: what clang must know to judge a .cu file as CUDA: hostcuda's own headers, each
 * function declared for host or device as in CUDA. No CUDA toolkit is needed. Included first, by
 * legality.sh.
 *
 * Nothing here is ever run: bodies only give types to templates. */
#ifndef HOSTCUDA_LEGALITY_PRELUDE
#define HOSTCUDA_LEGALITY_PRELUDE

/* A GPU has no thread-locals; the names below only stand for built-in variables. */
#define __thread
#pragma clang force_cuda_host_device begin
#include "hostcuda/abi.h"
#pragma clang force_cuda_host_device end
#undef __thread

/* What CUDA gives to kernels of the C library. */
extern "C" {
__attribute__((device)) int printf(const char *, ...);
__attribute__((device)) void *memcpy(void *, const void *, size_t);
__attribute__((device)) void *memmove(void *, const void *, size_t);
__attribute__((device)) void *memset(void *, int, size_t);
__attribute__((device)) int memcmp(const void *, const void *, size_t);
__attribute__((device)) void *malloc(size_t) noexcept;
__attribute__((device)) void free(void *) noexcept;
__attribute__((device)) int abs(int) noexcept;
__attribute__((device)) long labs(long) noexcept;
__attribute__((device)) long long llabs(long long) noexcept;
}

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector> /* what cmath includes is to be host code, cmath itself is not */

/* The special functions of C++17 call host code. */
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#pragma clang force_cuda_host_device begin
#include <cmath>

#include "hostcuda/math.h"
#include "hostcuda/types.h"
#pragma clang force_cuda_host_device end

/* ---- qualifiers as they are ---- */

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __managed__
#undef __launch_bounds__
#define __global__             __attribute__((global))
#define __device__             __attribute__((device))
#define __host__               __attribute__((host))
#define __constant__           __attribute__((constant))
#define __shared__             __attribute__((shared))
#define __managed__            __attribute__((device)) /* clang 14 knows it for HIP alone */
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
/* (nothing: so the C++ library's own __attribute__((__noinline__)) stays an attribute) */
#define __noinline__

/* ---- device code alone ---- */

#pragma clang force_cuda_host_device begin
#define threadIdx hc_threadIdx /* hostcuda's own belong to a thread of the host */
#define blockIdx  hc_blockIdx
#define blockDim  hc_blockDim
#define gridDim   hc_gridDim
#include "hostcuda/kernel.h"
#undef __syncthreads
#undef __syncthreads_count
#undef __syncthreads_and
#undef __syncthreads_or
#undef __trap
#undef __threadfence
#undef __threadfence_block
#undef __threadfence_system
#undef __nanosleep
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef clock
#undef clock64
#include "hostcuda/atomics.h"
#include "hostcuda/texture.h"
#include "hostcuda/warp.h"
#pragma clang force_cuda_host_device end

extern __device__ const uint3 threadIdx, blockIdx;
extern __device__ const dim3 blockDim, gridDim;
__device__ void __syncthreads();
__device__ int __syncthreads_count(int);
__device__ int __syncthreads_and(int);
__device__ int __syncthreads_or(int);
__device__ void __trap();
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ void __nanosleep(unsigned);
__device__ clock_t clock();
__device__ long long clock64();

/* k<<<grid, block, shared, stream>>>: clang calls the one or the other. */
extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, void * = nullptr);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void * = nullptr);

#include "hostcuda/names.h"
#include "hostcuda/nodes.h"
#include "hostcuda/hints.h"

/* (the C++ library's own, whose functions are host code) */
#include <new>

/* Two of them nvcc takes in device code, too. */
namespace std {
template <class T> __device__ constexpr remove_reference_t<T> &&move(T &&value) noexcept {
    return static_cast<remove_reference_t<T> &&>(value);
}
template <class T> __device__ constexpr T &&forward(remove_reference_t<T> &value) noexcept {
    return static_cast<T &&>(value);
}
template <class T> __device__ constexpr T &&forward(remove_reference_t<T> &&value) noexcept {
    return static_cast<T &&>(value);
}
} // namespace std

/* CUDA's further headers: in a file of their own they would be host code. */
#pragma clang force_cuda_host_device begin
#include "cooperative_groups.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "mma.h"

#include "cooperative_groups/memcpy_async.h"
#include "cuda/atomic"
#include "cuda/barrier"
#include "cuda/pipeline"
#include "cuda_pipeline.h"
#pragma clang force_cuda_host_device end

#define HOSTCUDA_H
#define HOSTCUDA 1
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif

#endif
