/* transpose.cu: y = xᵀ through tiles in shared memory, on a GPU (tl/matmul.h). */
#include "tl/matmul.h"

#include "tl/cuda.h"

enum {
    TILE = 32,     /* a side of the tile, and the threads in x: one warp per row */
    THREADS_Y = 8, /* each thread moves TILE / THREADS_Y elements */
};

tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_transpose: ctx, y or x is NULL");
    TL_NEED(rows >= 1 && cols >= 1, TL_EINVAL,
            "tl_transpose: x is [%d,%d], sizes must be at least 1", rows, cols);

    /* TODO(lab 1): y = xᵀ. Copied directly, the loads or the stores of a warp jump by a whole row:
     * one memory transaction for each number. So let a block of TILE x THREADS_Y threads load a
     * TILE x TILE piece of x into __shared__ memory row by row, and store it to y row by row; the
     * turn happens in shared memory. Think of: the barrier between the two, and one more if a block
     * does several tiles; pieces that stick out at the edges, where all threads must still reach
     * the barrier; a row length of the tile that keeps a column out of a single bank; grids of at
     * most 65,535 blocks in y (tl_blocks). */
    return TL_NOT_IMPLEMENTED();
}
