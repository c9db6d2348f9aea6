/* conv2d_bwd.c: gradients of a convolution by input, weight and bias (tl/conv2d.h). */
#include "tl/backend.h"
#include "tl/conv2d.h"
#include "tl/matmul.h"

tl_status tl_conv2d_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "tl_conv2d_bwd_input: ctx, dx, dy, w, the geometry or work is NULL");

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        /* TODO(lab 2): Forward is Y = W·X on the columns X of a chunk. What is the gradient of X,
         * given that of Y? Lay dy of these images out as part.rows[K, images*P*Q], as the matrix
         * product takes them (channel outside, image inside: the reverse of what forward did at its
         * end); one tl_gemm makes the gradients of the columns in part.col, which is scratch and
         * overwritten; tl_col2im carries them to the pixels of these images and adds. Write down
         * the sizes of all three matrices before you fill in a tl_matmul_geom. One product for a
         * chunk, none for a single image. */
        return TL_NOT_IMPLEMENTED();
    }
    return TL_OK;
}

tl_status tl_conv2d_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "tl_conv2d_bwd_weight: ctx, dw, dy, x, the geometry or work is NULL");

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        /* TODO(lab 2): From Y = W·X: what is the gradient of W, given that of Y? It is a sum over
         * all outputs of all images, so every chunk adds its share to dw, in order. The columns of
         * x are made anew for each chunk: keeping those of forward would cost R*S times the memory
         * of x. Trap: dw holds a gradient already; the product must add to it. */
        return TL_NOT_IMPLEMENTED();
    }
    return TL_OK;
}

tl_status tl_conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "tl_conv2d_bwd_bias: ctx, db, dy or the geometry is NULL");

    /* TODO(lab 2): db[k] += the gradient of the bias of channel k. It is used at every place (p, q)
     * of every image: so what is its gradient, a sum or a mean? Each channel has its own. Long sums
     * are best added in parts (lab 1). */
    return TL_NOT_IMPLEMENTED();
}
