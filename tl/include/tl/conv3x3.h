/* tl/conv3x3.h: a convolution of 3x3 pixels, to be made quick. (lab 5, CUDA alone)
 *
 * What counts here is not only the result but what it costs in memory traffic: hostcuda's check
 * build counts it exactly, on any machine.
 *   sector    32 bytes of global memory, the least that a GPU fetches: one request of a warp costs
 *             as many as its lanes touch
 *   conflict  a turn that a warp's request to shared memory waits, because several of its lanes
 *             want different words of one of the 32 banks (bank = address / 4 mod 32)
 *   request   what a warp asks of memory at one time: an instruction that reads or writes
 * The kernel that is given fetches nine pixels and nine weights for every channel of every output.
 */
#ifndef TL_CONV3X3_H
#define TL_CONV3X3_H

#include <stddef.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x[n,c,h,w], w[k,c,3,3], y[n,k,h,w]; all sizes at least 1. `transposed` is 0 or 1. */
typedef struct tl_conv3x3_geom {
    int n, c, k, h, w, transposed;
} tl_conv3x3_geom;

/* The shape whose traffic is counted. */
enum {
    TL_CONV3X3_N = 2,
    TL_CONV3X3_C = 4,
    TL_CONV3X3_K = 16,
    TL_CONV3X3_HIGH = 24,
    TL_CONV3X3_WIDE = 40
};
static const tl_conv3x3_geom tl_conv3x3_counted = {TL_CONV3X3_N,    TL_CONV3X3_C,    TL_CONV3X3_K,
                                                   TL_CONV3X3_HIGH, TL_CONV3X3_WIDE, 0};

/* What kernels cost at that shape, in sectors that they fetch and write, as hostcuda counts them:
 * the given one, and plain designs, each of which is quicker on a GPU than the one before
 * (results/h200/conv3x3.jsonl). And what nobody gets around: x and w are read once, y is written
 * once. */
enum {
    TL_CONV3X3_GIVEN = 189952,   /* Nsight Compute on an H200 says the same */
    TL_CONV3X3_CHANNELS = 76480, /* four output channels a thread, all from global memory */
    TL_CONV3X3_PIXELS = 66304,   /* and pixels in shared memory, in blocks of 32 x 8 places */
    TL_CONV3X3_WEIGHTS = 9832,   /* weights there, too, eight channels, blocks of 16 x 16 places */
    TL_CONV3X3_ONE_PLACE = 111360,  /* requests to shared memory, not sectors: of 16 channels, */
    TL_CONV3X3_FOUR_PLACES = 16320, /* blocks of 32 x 8 places, one and four places a thread */
    TL_CONV3X3_PLACES = TL_CONV3X3_N * TL_CONV3X3_HIGH * TL_CONV3X3_WIDE,
    TL_CONV3X3_LEAST =
        (TL_CONV3X3_PLACES * (TL_CONV3X3_C + TL_CONV3X3_K) + TL_CONV3X3_K * TL_CONV3X3_C * 9) *
        (int)sizeof(tl_real) / 32
};

/* What is allowed on each rung: up to 1.3 times the plain design, less where the one below would
 * pass, or four channels on rung 3, which are not quicker; 1.6 times the least on rung 4. Rung 5
 * has its sectors and conflicts, and 4/3 of its plain design's requests to shared memory: less than
 * one place a thread needs that reads its weights four at a time, and is not quicker. */
enum {
    TL_CONV3X3_RUNG_1 = TL_CONV3X3_CHANNELS * 13 / 10,
    TL_CONV3X3_RUNG_2 = TL_CONV3X3_PIXELS * 11 / 10,
    TL_CONV3X3_RUNG_3 = TL_CONV3X3_WEIGHTS * 12 / 10,
    TL_CONV3X3_RUNG_4 = TL_CONV3X3_LEAST * 8 / 5,
    TL_CONV3X3_RUNG_4_CONFLICTS = 0,
    TL_CONV3X3_RUNG_5_REQUESTS = TL_CONV3X3_FOUR_PLACES * 4 / 3
};

/* y[n,k,i,j] = sum over c, r, s of w[k,c,r,s] * x[n,c, i+r-1, j+s-1], pixels outside being zero:
 * stride 1, one pixel of padding per side, no bias. y is overwritten. All pointers are device
 * pointers; needs no workspace, neither allocates nor waits. TL_EINVAL if a pointer
 * is NULL or a size below 1.
 *
 * With g->transposed the weights are w[c,k,3,3], and w[c,k,2-r,2-s] stands for w[k,c,r,s]: so the
 * operation is the gradient of its own input, which is what training needs of it. With x the dy of
 * a convolution of k channels to c, y is its dx. */
tl_status tl_conv3x3(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_conv3x3_geom *g);

#ifdef __cplusplus
}
#endif
#endif
