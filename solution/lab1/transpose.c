/* transpose.c: y = xᵀ, block by block, on the CPU (tl/matmul.h). */
#include "tl/matmul.h"

enum {
    //@lab 1:
    /* Reads run along rows of x, writes along rows of y, and one of the two must jump. In a block
     * of this size every cache line that a jump fetches is used up before it is pushed out. */
    BLOCK = 32,
    //@end
    PARALLEL_FROM = 1 << 15, /* elements below which waking the threads costs more than it saves */
};

//@lab 1:
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
//@end

tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_transpose: ctx, y or x is NULL");
    TL_NEED(rows >= 1 && cols >= 1, TL_EINVAL,
            "tl_transpose: x is [%d,%d], sizes must be at least 1", rows, cols);

    //@lab 1: y[j*rows + i] = x[i*cols + j]: y has `cols` rows of `rows` elements each. Two loops
    //@  are enough for the points. Mind the types: rows*cols may pass INT_MAX. Then look at what
    //@  it costs: one of the two arrays is walked with jumps of a whole row, and of every cache
    //@  line that a jump fetches one number is used. Work in blocks that fit the cache, and let
    //@  threads share the blocks.
    size_t height = (size_t)rows, width = (size_t)cols;
#pragma omp parallel for collapse(2) num_threads(ctx->threads) if (height * width >= PARALLEL_FROM)
    for (size_t j0 = 0; j0 < width; j0 += BLOCK) {
        for (size_t i0 = 0; i0 < height; i0 += BLOCK) {
            size_t j_end = smaller(j0 + BLOCK, width), i_end = smaller(i0 + BLOCK, height);
            for (size_t j = j0; j < j_end; j++)
                for (size_t i = i0; i < i_end; i++) y[j * height + i] = x[i * width + j];
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
