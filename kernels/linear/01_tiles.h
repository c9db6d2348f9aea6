/* 01_tiles.h: the pieces of rung 1 and what they have in common. (01_tiles.cu says how it works) */
#ifndef LINEAR_TILES_H
#define LINEAR_TILES_H

#include "kernels/device.h"
#include "kernels/rungs.h"
#include "tl/cuda.h"
#include "tl/fused.h"
#include "tl/layers.h"

enum {
    WARP = 32,
    ROWS = 32, /* a block's tile of the product: ROWS x COLUMNS */
    COLUMNS = 64,
    DEPTH = sizeof(tl_real) == 4 ? 64 : 32, /* of the inner dimension at a time */
    THREADS = 128                           /* each sums 4 x 4 elements of the tile */
};

struct alignas(4 * sizeof(tl_real)) four {
    tl_real v[4];
};

static inline int tiles_of(int rows, int columns) {
    return (rows + ROWS - 1) / ROWS * ((columns + COLUMNS - 1) / COLUMNS);
}

#ifdef __cplusplus
extern "C" {
#endif

/* The entries of the table (tl/backend.h, tl/fused.h), 01_tiles_forward.cu and
 * 01_tiles_backward.cu. */
tl_status tl_rung_linear_block_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                                   const tl_real *b, const tl_linear_geom *g, bool relu,
                                   void *work);
tl_status tl_rung_linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                             const tl_real *b, const tl_linear_geom *g);
tl_status tl_rung_linear_block_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dw, tl_real *db,
                                   const tl_real *dy, const tl_real *y, const tl_real *x,
                                   const tl_real *w, const tl_linear_geom *g, bool fresh);
tl_status tl_rung_linear_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                   const tl_linear_geom *g);
tl_status tl_rung_linear_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                    const tl_linear_geom *g);

#ifdef __cplusplus
}
#endif

#endif
