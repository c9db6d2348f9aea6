/* conv2d_fwd.c: convolution forward as im2col and one matrix product per chunk (tl/conv2d.h). */
#include "tl/backend.h"
#include "tl/conv2d.h"
#include "tl/matmul.h"

tl_status tl_conv2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "tl_conv2d_fwd: ctx, y, x, w, the geometry or work is NULL");
    size_t column_bytes = ctx->ops->column_bytes;
    /* work holds the columns of a chunk, and behind them the outputs of the chunk as rows. */
    tl_real *col = work;
    tl_real *rows = (tl_real *)((char *)work + tl_conv2d_rows_offset(g, column_bytes));

    size_t x_image = tl_conv2d_x_size(g) / (size_t)g->n;
    size_t y_image = tl_conv2d_y_size(g) / (size_t)g->n;
    int chunk = tl_conv2d_chunk(g, column_bytes);
    /* TODO(lab 2): For each chunk of images (`chunk` of them, the last one may have fewer): the
     * columns of the chunk by tl_im2col; rows[K, images*P*Q] = w · col by one tl_gemm, with w read
     * as a matrix [K, C*R*S]; then y of these images from rows, plus b[k] for channel k where b is
     * not NULL. rows has the channel outside and the image inside; y has it the other way round, so
     * each plane of P*Q outputs is moved. Calls and launches may grow with the number of chunks,
     * never with the number of images. Traps: the rows of a smaller last chunk lie closer together;
     * y is overwritten, whatever was in it; one bias per channel, not one for all. */
    (void)b, (void)col, (void)rows, (void)x_image, (void)y_image, (void)chunk;
    return TL_NOT_IMPLEMENTED();
}
