/* warp.h: the sum of one number of each thread, by shuffles: rung 3 of reduce, and what the rungs
 * above it use as it is. */
#ifndef REDUCE_WARP_H
#define REDUCE_WARP_H

#include "tl/cuda.h"

enum { WARP = 32 };

/* For all threads of a full warp. In each of five steps a thread adds the number of a thread 16, 8,
 * 4, 2, 1 places away; a + b is b + a, so all of them get the same bits. */
static inline __device__ tl_real warp_sum(tl_real value) {
    for (int away = WARP / 2; away > 0; away /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, away);
    return value;
}

/* For thread 0 of a block of whole warps, which all come here once: the warps leave their sums in
 * shared memory, and the first warp adds those. */
static inline __device__ tl_real block_sum(tl_real value) {
    __shared__ tl_real part[WARP];
    unsigned warps = blockDim.x / WARP;
    value = warp_sum(value);
    if (warps == 1) return value;
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x >= WARP) return value;
    return warp_sum(threadIdx.x < warps ? part[threadIdx.x] : TL_R(0));
}

#endif
