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

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        //@lab 2: A chunk of part.images images: their columns by tl_im2col into part.col;
        //@  part.rows[K, images*P*Q] = w · col by one tl_gemm, with w read as a matrix [K, C*R*S];
        //@  then y of these images from the rows, plus b[k] for channel k where b is not NULL. The
        //@  rows have the channel outside and the image inside; y has it the other way round, so
        //@  each plane of P*Q outputs is moved by a kernel of yours. Calls and launches may grow
        //@  with the number of chunks, never with the number of images. Traps: the sizes are those
        //@  of this chunk, and the last one may be smaller; y is overwritten, whatever was in it;
        //@  one bias per channel, not one for all.
        /* All images of a chunk go through one matrix product: the number of launches grows with
         * chunks, not with images. */
        TL_TRY(tl_im2col(ctx, part.col, x + part.x, part.images, g));
        /* rows[K, images*P*Q] = w[K, C*R*S] · col */
        tl_matmul_geom product = {};
        product.m = g->k;
        product.n = part.images * g->p * g->q;
        product.k = g->c * g->r * g->s;
        TL_TRY(tl_gemm(ctx, part.rows, w, part.col, &product));
        size_t images = (size_t)part.images, channels = (size_t)g->k;
        size_t outputs = tl_conv2d_col_cols(g);
        rows_to_images<<<tl_blocks(images * channels * outputs, TL_BLOCK), TL_BLOCK, 0,
                         tl_stream(ctx)>>>(y + part.y, part.rows, b, images, channels, outputs);
        TL_LAUNCHED();
        //@skeleton
        // (void)b;
        // return TL_NOT_IMPLEMENTED();
        //@end
    }
    return TL_OK;
}
