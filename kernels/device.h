/* device.h: what kernels of several operations share (CUDA C). */
#ifndef KERNELS_DEVICE_H
#define KERNELS_DEVICE_H

#include "tl/cuda.h"

/* T numbers that are loaded and stored in one go, where an address is aligned for it. */
template <int T> struct alignas(T * sizeof(tl_real)) pack { tl_real v[T]; };

/* Whether v takes the place of best, as in max pooling: the first of equals, and a NaN, stay. */
static inline __device__ bool beats(tl_real v, tl_real best) {
    return !(v <= best) && !isnan(best);
}

/* ---- copies from global to shared memory that nobody waits for, in groups ----
 *
 * copy_async(to, from, there): T numbers of 4, 8 or 16 bytes in all; zeros, and nothing is read, if
 * not `there`. copy_commit() ends a group; copy_wait<N>() returns when all but the last N groups of
 * this thread have come: a barrier must follow before others read them. GPUs have that from compute
 * capability 8.0 on (PTX ISA, cp.async); elsewhere a thread copies by itself, at once. In device
 * code COPIES_ARE_ASYNC says which. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#include "kernels/device_async.h"
#define COPIES_ARE_ASYNC 1
#else
#define COPIES_ARE_ASYNC 0
template <int T>
static inline __device__ void copy_async(tl_real *to, const tl_real *from, bool there) {
    pack<T> v = {};
    if (there) v = *(const pack<T> *)from;
    *(pack<T> *)to = v;
}
static inline __device__ void copy_commit() {}
template <int N> static inline __device__ void copy_wait() {}
#endif

#endif
