/* conv2d_bwd.c: gradients of a convolution by input, weight and bias (tl/conv2d.h). */
//@lab 2:
/* Forward is Y = W·X on the columns X of each chunk of images. So dX = Wᵀ·dY, which col2im carries
 * back to pixels, and dW = dY·Xᵀ summed over chunks. Columns are made anew: keeping those of the
 * forward pass would cost R*S times the memory of x. */
//@end
#include "tl/backend.h"
#include "tl/conv2d.h"
#include "tl/matmul.h"

//@lab 2:
enum {
    LANES = 16,              /* independent partial sums: kept in vector registers */
    PARALLEL_FROM = 1 << 15, /* elements below which waking the threads costs more than it saves */
};
//@end

//@lab 2:
/* rows[k,i,:] = dy[i,k,:]: the output gradients in the order in which the matrix product takes
 * them. */
static void images_to_rows(tl_ctx *ctx, tl_real *rows, const tl_real *dy, int images,
                           const tl_conv2d_geom *g) {
    size_t n = (size_t)images, channels = (size_t)g->k, outputs = tl_conv2d_col_cols(g);
#pragma omp parallel for collapse(2)                                                               \
    num_threads(ctx->threads) if (n * channels * outputs >= PARALLEL_FROM)
    for (size_t k = 0; k < channels; k++) {
        for (size_t i = 0; i < n; i++) {
            const tl_real *from = dy + (i * channels + k) * outputs;
            tl_real *to = rows + (k * n + i) * outputs;
            for (size_t j = 0; j < outputs; j++) to[j] = from[j];
        }
    }
}
//@end

tl_status tl_conv2d_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "tl_conv2d_bwd_input: ctx, dx, dy, w, the geometry or work is NULL");

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        //@lab 2: Forward is Y = W·X on the columns X of a chunk. What is the gradient of X, given
        //@  that of Y? Lay dy of these images out as part.rows[K, images*P*Q], as the matrix
        //@  product takes them (channel outside, image inside: the reverse of what forward did at
        //@  its end); one tl_gemm makes the gradients of the columns in part.col, which is scratch
        //@  and overwritten; tl_col2im carries them to the pixels of these images and adds. Write
        //@  down the sizes of all three matrices before you fill in a tl_matmul_geom. One product
        //@  for a chunk, none for a single image.
        images_to_rows(ctx, part.rows, dy + part.y, part.images, g);
        /* dcol[C*R*S, images*P*Q] = wᵀ · rows[K, images*P*Q], with w stored [K, C*R*S] */
        tl_real *dcol = part.col;
        tl_matmul_geom product = {
            .m = g->c * g->r * g->s, .n = part.images * g->p * g->q, .k = g->k, .trans_a = 1};
        TL_TRY(tl_gemm(ctx, dcol, w, part.rows, &product)); /* overwrites: dcol is scratch */
        TL_TRY(tl_col2im(ctx, dx + part.x, dcol, part.images, g));
        //@skeleton
        // return TL_NOT_IMPLEMENTED();
        //@end
    }
    return TL_OK;
}

tl_status tl_conv2d_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "tl_conv2d_bwd_weight: ctx, dw, dy, x, the geometry or work is NULL");

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        //@lab 2: From Y = W·X: what is the gradient of W, given that of Y? It is a sum over all
        //@  outputs of all images, so every chunk adds its share to dw, in order. The columns of x
        //@  are made anew for each chunk: keeping those of forward would cost R*S times the memory
        //@  of x. Trap: dw holds a gradient already; the product must add to it.
        TL_TRY(tl_im2col(ctx, part.col, x + part.x, part.images, g));
        images_to_rows(ctx, part.rows, dy + part.y, part.images, g);
        /* dw[K, C*R*S] += rows[K, images*P*Q] · colᵀ; chunks follow each other, so their order of
         * addition is fixed */
        tl_matmul_geom product = {.m = g->k,
                                  .n = g->c * g->r * g->s,
                                  .k = part.images * g->p * g->q,
                                  .trans_b = 1,
                                  .accumulate = 1};
        TL_TRY(tl_gemm(ctx, dw, part.rows, part.col, &product));
        //@skeleton
        // return TL_NOT_IMPLEMENTED();
        //@end
    }
    return TL_OK;
}

//@lab 2:
/* Sum of one plane in LANES interleaved parts: vectorises, and errs less than one long sum. */
static tl_real sum_plane(const tl_real *x, size_t n) {
    tl_real lane[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] += x[j + l];
    for (size_t l = 0; j < n; j++, l++) lane[l] += x[j];
    for (int l = 0; l < LANES; l++) sum += lane[l];
    return sum;
}
//@end

tl_status tl_conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "tl_conv2d_bwd_bias: ctx, db, dy or the geometry is NULL");

    //@lab 2: db[k] += the gradient of the bias of channel k. It is used at every place (p, q) of
    //@  every image: so what is its gradient, a sum or a mean? Each channel has its own. Long sums
    //@  are best added in parts (lab 1).
    size_t n = (size_t)g->n, channels = (size_t)g->k, outputs = tl_conv2d_col_cols(g);
    /* A channel has one bias, used at every place of every image, so its gradient is the sum over
     * all of them, not the mean. One thread sums a channel, images in order. */
#pragma omp parallel for num_threads(ctx->threads) if (n * channels * outputs >= PARALLEL_FROM)
    for (size_t k = 0; k < channels; k++) {
        tl_real sum = 0;
        for (size_t i = 0; i < n; i++) sum += sum_plane(dy + (i * channels + k) * outputs, outputs);
        db[k] += sum;
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
