/* transpose.c: y = xᵀ, block by block, on the CPU (tl/matmul.h). */
#include "tl/matmul.h"

enum {
    PARALLEL_FROM = 1 << 15, /* elements below which waking the threads costs more than it saves */
};

tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_transpose: ctx, y or x is NULL");
    TL_NEED(rows >= 1 && cols >= 1, TL_EINVAL,
            "tl_transpose: x is [%d,%d], sizes must be at least 1", rows, cols);

    /* TODO(lab 1): y[j*rows + i] = x[i*cols + j]: y has `cols` rows of `rows` elements each. Two
     * loops are enough for the points. Mind the types: rows*cols may pass INT_MAX. Then look at
     * what it costs: one of the two arrays is walked with jumps of a whole row, and of every cache
     * line that a jump fetches one number is used. Work in blocks that fit the cache, and let
     * threads share the blocks. */
    return TL_NOT_IMPLEMENTED();
}
