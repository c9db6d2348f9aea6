/* walk.h: a thread's share of a sum's terms, for the rungs of reduce on CUDA devices. */
#ifndef REDUCE_WALK_H
#define REDUCE_WALK_H

#include "kernels/device.h"
#include "kernels/reduce/sums.h"

/* Terms number first, first + apart, first + 2 * apart … of sum k; term t is x[o, k, i] with
 * t = o * inner + i. The two divisions are made once; a step adds, and carries from i to o.
 *
 *   for (walk w(s, k, threadIdx.x, blockDim.x); w.o < s.outer; w.step(s)) sum += *w.at(s); */
struct walk {
    size_t k, o, i, step_o, step_i;

    __device__ walk(const sums &s, size_t k, size_t first, size_t apart)
        : k(k), o(first / s.inner), i(first % s.inner), step_o(apart / s.inner),
          step_i(apart % s.inner) {}

    __device__ void step(const sums &s) {
        o += step_o;
        i += step_i;
        if (i < s.inner) return;
        i -= s.inner;
        o++;
    }
    __device__ const tl_real *at(const sums &s) const {
        return s.x + (o * s.kept + k) * s.inner + i;
    }
};

/* Threads of a block for so many terms: whole warps, a power of two, up to `most`. */
static inline unsigned sums_threads(size_t terms, unsigned most) {
    unsigned threads = 32;
    while (threads < most && threads < terms) threads *= 2;
    return threads;
}

#endif
