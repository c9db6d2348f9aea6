/* conv2d_fwd.cu: convolution forward as im2col and one matrix product per chunk, on a GPU
 * (tl/conv2d.h). */
#include "tl/backend.h"
#include "tl/conv2d.h"
#include "tl/cuda.h"
#include "tl/matmul.h"

//@lab 2:
/* y[i,k,:] = rows[k,i,:] + b[k]. The matrix product has the channel outside and the image inside,
 * the tensor the other way round; both keep the P*Q outputs of a plane together. b may be NULL. */
static __global__ void rows_to_images(tl_real *y, const tl_real *rows, const tl_real *b,
                                      size_t images, size_t channels, size_t outputs) {
    for (size_t t = tl_thread(); t < images * channels * outputs; t += tl_threads()) {
        size_t j = t % outputs, k = t / outputs % channels, i = t / outputs / channels;
        y[t] = rows[(k * images + i) * outputs + j] + (b ? b[k] : TL_R(0));
    }
}
//@end

tl_status tl_conv2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "tl_conv2d_fwd: ctx, y, x, w, the geometry or work is NULL");
    size_t column_bytes = ctx->ops->column_bytes;
    /* work holds the columns of a chunk, and behind them the outputs of the chunk as rows. */
    tl_real *const col = (tl_real *)work;
    tl_real *const rows = (tl_real *)((char *)work + tl_conv2d_rows_offset(g, column_bytes));

    size_t x_image = tl_conv2d_x_size(g) / (size_t)g->n;
    size_t y_image = tl_conv2d_y_size(g) / (size_t)g->n;
    int chunk = tl_conv2d_chunk(g, column_bytes);
    //@lab 2: For each chunk of images (`chunk` of them, the last one may have fewer): the columns
    //@  of the chunk by tl_im2col; rows[K, images*P*Q] = w · col by one tl_gemm, with w read as a
    //@  matrix [K, C*R*S]; then y of these images from rows, plus b[k] for channel k where b is
    //@  not NULL. rows has the channel outside and the image inside; y has it the other way round,
    //@  so each plane of P*Q outputs is moved by a kernel of yours. Calls and launches may grow
    //@  with the number of chunks, never with the number of images. Traps: the rows of a smaller
    //@  last chunk lie closer together; y is overwritten, whatever was in it; one bias per
    //@  channel, not one for all.
    /* All images of a chunk go through one matrix product: the number of launches grows with
     * chunks, not with images. The last chunk may be smaller; its rows and columns then lie closer
     * together. */
    for (int done = 0, images; done < g->n; done += images) {
        images = g->n - done < chunk ? g->n - done : chunk;
        TL_TRY(tl_im2col(ctx, col, x + (size_t)done * x_image, images, g));
        /* rows[K, images*P*Q] = w[K, C*R*S] · col */
        tl_matmul_geom product = {};
        product.m = g->k;
        product.n = images * g->p * g->q;
        product.k = g->c * g->r * g->s;
        TL_TRY(tl_gemm(ctx, rows, w, col, &product));
        size_t size = (size_t)images * y_image;
        rows_to_images<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(
            y + (size_t)done * y_image, rows, b, (size_t)images, (size_t)g->k,
            tl_conv2d_col_cols(g));
        TL_LAUNCHED();
    }
    return TL_OK;
    //@skeleton
    // (void)b, (void)col, (void)rows, (void)x_image, (void)y_image, (void)chunk;
    // return TL_NOT_IMPLEMENTED();
    //@end
}
