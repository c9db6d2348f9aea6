/* conv2d_fwd.c: convolution forward as im2col and one matrix product per chunk (tl/conv2d.h). */
#include "tl/backend.h"
#include "tl/conv2d.h"
#include "tl/matmul.h"

//@lab 2:
/* Elements of y below which waking the threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 15 };
//@end

//@lab 2:
/* y[i,k,:] = rows[k,i,:] + b[k]. The matrix product has the channel outside and the image inside,
 * the tensor the other way round; both keep the P*Q outputs of a plane together. b may be NULL. */
static void rows_to_images(tl_ctx *ctx, tl_real *y, const tl_real *rows, const tl_real *b,
                           int images, const tl_conv2d_geom *g) {
    size_t n = (size_t)images, channels = (size_t)g->k, outputs = tl_conv2d_col_cols(g);
#pragma omp parallel for collapse(2)                                                               \
    num_threads(ctx->threads) if (n * channels * outputs >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < channels; k++) {
            const tl_real *from = rows + (k * n + i) * outputs;
            tl_real *to = y + (i * channels + k) * outputs;
            tl_real bias = b ? b[k] : 0;
            for (size_t j = 0; j < outputs; j++) to[j] = from[j] + bias;
        }
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
        //@  each plane of P*Q outputs is moved. Calls and launches may grow with the number of
        //@  chunks, never with the number of images. Traps: the sizes are those of this chunk, and
        //@  the last one may be smaller; y is overwritten, whatever was in it; one bias per
        //@  channel, not one for all.
        /* All images of a chunk go through one matrix product: the number of calls grows with
         * chunks, not with images. */
        TL_TRY(tl_im2col(ctx, part.col, x + part.x, part.images, g));
        /* rows[K, images*P*Q] = w[K, C*R*S] · col */
        tl_matmul_geom product = {
            .m = g->k, .n = part.images * g->p * g->q, .k = g->c * g->r * g->s};
        TL_TRY(tl_gemm(ctx, part.rows, w, part.col, &product));
        rows_to_images(ctx, y + part.y, part.rows, b, part.images, g);
        //@skeleton
        // (void)b;
        // return TL_NOT_IMPLEMENTED();
        //@end
    }
    return TL_OK;
}
