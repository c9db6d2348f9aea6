/* 02_block.h: the pieces of rung 2 and what they have in common. (02_block.cu says how it works) */
#ifndef CONV2D_BLOCK_H
#define CONV2D_BLOCK_H

#include "kernels/rungs.h"
#include "tl/cuda.h"
#include "tl/fused.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WARP = 32,
    TAPS = 9,
    THREADS = 128,           /* of a block, where windows do not ask for more */
    MOST_WINDOWS = 256,      /* 2x2 windows of one image plane: a thread each */
    SHARED_BYTES = 48 << 10, /* what every GPU gives a block without being asked */
    MANY_THREADS = 16 << 10, /* from here on a thread may take 4 output channels */
};

/* The entries of the table (tl/backend.h), 02_block_forward.cu and 02_block_backward.cu. */
tl_status tl_rung_conv2d_block_fwd(tl_ctx *ctx, tl_real *y, uint8_t *code, const tl_real *x,
                                   const tl_real *w, const tl_real *b,
                                   const tl_conv2d_block *block);
tl_status tl_rung_conv2d_block_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dw, tl_real *db,
                                   const tl_real *dy, const uint8_t *code, const tl_real *x,
                                   const tl_real *w, const tl_conv2d_block *block, bool fresh,
                                   void *work);

/* Shared memory of a block for a geometry of 3x3 filters; at most SHARED_BYTES can be had. */
size_t tl_rung_conv2d_block_fwd_shared(const tl_conv2d_block *block);
size_t tl_rung_conv2d_block_bwd_shared(const tl_conv2d_block *block);

#ifdef __cplusplus
}
#endif
#endif
