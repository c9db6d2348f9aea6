/* tl/conv3x3.h: a convolution of 3x3 pixels, to be made quick. (lab 5, CUDA alone)
 *
 * What counts here is not only the result but what it costs in memory traffic: hostcuda's check
 * build counts it exactly, on any machine.
 *   sector    32 bytes of global memory, the least that a GPU fetches: one request of a warp costs
 *             as many as its lanes touch
 *   conflict  a turn that a warp's request to shared memory waits, because several of its lanes
 *             want different words of one of the 32 banks (bank = address / 4 mod 32)
 * The kernel that is given fetches nine pixels and nine weights for every channel of every output.
 */
#ifndef TL_CONV3X3_H
#define TL_CONV3X3_H

#include <stddef.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x[n,c,h,w], w[k,c,3,3], y[n,k,h,w]; all sizes at least 1. */
typedef struct tl_conv3x3_geom {
    int n, c, k, h, w;
} tl_conv3x3_geom;

/* The shape whose traffic is counted, and what is allowed: the given kernel fetches and writes
 * TL_CONV3X3_GIVEN sectors; a tile in shared memory that serves one output channel at a time stays
 * below a third of that, one that serves several below TL_CONV3X3_SECTORS. */
static const tl_conv3x3_geom tl_conv3x3_counted = {2, 4, 16, 24, 40};
enum {
    TL_CONV3X3_GIVEN = 189952, /* as counted: Nsight Compute on an H200 says the same */
    TL_CONV3X3_THIRD = TL_CONV3X3_GIVEN / 3,
    TL_CONV3X3_SECTORS = TL_CONV3X3_GIVEN / 12,
    TL_CONV3X3_CONFLICTS = 0
};

/* y[n,k,i,j] = sum over c, r, s of w[k,c,r,s] * x[n,c, i+r-1, j+s-1], pixels outside being zero:
 * stride 1, one pixel of padding per side, no bias. y is overwritten. All pointers are device
 * pointers; needs no workspace, neither allocates nor waits. TL_EINVAL if a pointer
 * is NULL or a size below 1. */
tl_status tl_conv3x3(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_conv3x3_geom *g);

#ifdef __cplusplus
}
#endif
#endif
