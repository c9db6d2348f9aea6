/* online.h: largest and sum of exponentials in one walk: rung 4 of softmax_xent, and what rung 5
 * leaves to it. */
#ifndef SOFTMAX_XENT_ONLINE_H
#define SOFTMAX_XENT_ONLINE_H

#include "kernels/softmax_xent/rows.h"

enum { WARP = 32, THREADS = 4 * WARP };

/* Of the numbers seen so far: the largest, and the sum of exp(x - m). Of none: m is -inf. */
typedef struct online {
    tl_real m;
    double sum;
} online;

/* exp(from - to), and 1 for equal ones: also for -inf less -inf, of what has seen no number. */
static inline __device__ tl_real rescale(tl_real from, tl_real to) {
    return from == to ? TL_R(1) : tl_exp(from - to);
}

static inline __device__ online joined(online a, online b) {
    tl_real m = tl_max(a.m, b.m);
    return online{m, a.sum * rescale(a.m, m) + b.sum * rescale(b.m, m)};
}

/* Of a warp, for all its lanes: lane 0's, since a * b + c * d rounds by what comes first. */
static inline __device__ online joined_warp(online mine) {
    for (int away = WARP / 2; away > 0; away /= 2) {
        online other = {__shfl_xor_sync(0xffffffffu, mine.m, away),
                        __shfl_xor_sync(0xffffffffu, mine.sum, away)};
        mine = joined(mine, other);
    }
    return online{__shfl_sync(0xffffffffu, mine.m, 0), __shfl_sync(0xffffffffu, mine.sum, 0)};
}

/* Rung 4's rows. */
extern "C" tl_status tl_rung_softmax_xent_online_rows(tl_ctx *ctx, const loss_rows *r);

#endif
