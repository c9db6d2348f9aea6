/* 09_tensor_stored.h: rungs 9 and 10 of gemm: products of operands that are stored rounded, whose
 * tiles the tensor memory accelerator brings and warpgroups multiply.
 *
 *   09_tensor_stored.cu   which products are taken, and how operands are described
 *   09_tensor_tile.cu     the kernel
 *
 * A block makes 128 x 256 sums of X · Yᵀ: x is the side of rows that a warpgroup has 64 of, y that
 * of 256 columns. A product C = A · B is that with x = A and y = B; a TF32 product whose B runs
 * across k is Cᵀ = Bᵀ · Aᵀ, with x = B: only x may, for it can go through registers. */
#ifndef GEMM_TENSOR_STORED_H
#define GEMM_TENSOR_STORED_H

#include "kernels/rungs.h"
#include "tl/cuda.h"

/* Who has CUtensorMap, and a way to the driver's function that makes one. (An older toolkit builds
 * the plug-in without the kernels; the rungs then say so.) */
#if !defined(TL_REAL_DOUBLE) && !defined(HOSTCUDA) && CUDART_VERSION >= 12050
#define HAS_TENSOR_MAPS 1
#include <cuda.h>

enum {
    STORED_X = 128,
    STORED_Y = 256,
    STORED_SLICE = 128, /* bytes along k: 64 numbers of bfloat16, 32 of TF32 */
    STORED_CLUSTER = 2, /* blocks side by side along x: each brings half of the y that they share */
};

typedef struct stored_job {
    float *C;
    int x, y, k;            /* lengths */
    size_t x_step, y_step;  /* in C; one is 1 */
    bool accumulate, pairs; /* pairs: two sums along y may be stored in one go */
} stored_job;

/* In which order operands lie: along k, or across it. */
typedef struct stored_order {
    bool narrow; /* bfloat16 */
    bool x_across, y_across;
} stored_order;

#ifdef __cplusplus
extern "C" {
#endif

/* Boxes of the maps: of 128 bytes by so many lines. */
enum { STORED_X_BOX = STORED_X, STORED_Y_BOX = STORED_Y / STORED_CLUSTER };
tl_status tl_gemm_stored_tiles(tl_ctx *ctx, const CUtensorMap *x, const CUtensorMap *y,
                               const stored_job *job, stored_order order);

#ifdef __cplusplus
}
#endif
#endif
#endif
