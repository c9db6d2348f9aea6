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

#endif
