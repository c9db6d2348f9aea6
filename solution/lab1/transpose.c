/* transpose.c: y = xᵀ, block by block, on the CPU (tl/matmul.h). */
#include "tl/matmul.h"

enum {
    /* Reads run along rows of x, writes along rows of y, and one of the two must jump. In a block
     * of this size every cache line that a jump fetches is used up before it is pushed out. */
    BLOCK = 32,
    PARALLEL_FROM = 1 << 15, /* elements below which waking the threads costs more than it saves */
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_transpose: ctx, y or x is NULL");
    TL_NEED(rows >= 1 && cols >= 1, TL_EINVAL,
            "tl_transpose: x is [%d,%d], sizes must be at least 1", rows, cols);

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
}
