/* conv2d_fwd.c: convolution forward as im2col and one matrix product per chunk (tl/conv2d.h). */
#include "tl/backend.h"
#include "tl/conv2d.h"
#include "tl/matmul.h"

tl_status tl_conv2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "tl_conv2d_fwd: ctx, y, x, w, the geometry or work is NULL");

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        /* TODO(lab 2): A chunk of part.images images: their columns by tl_im2col into part.col;
         * part.rows[K, images*P*Q] = w · col by one tl_gemm, with w read as a matrix [K, C*R*S];
         * then y of these images from the rows, plus b[k] for channel k where b is not NULL. The
         * rows have the channel outside and the image inside; y has it the other way round, so each
         * plane of P*Q outputs is moved. Calls and launches may grow with the number of chunks,
         * never with the number of images. Traps: the sizes are those of this chunk, and the last
         * one may be smaller; y is overwritten, whatever was in it; one bias per channel, not one
         * for all. */
        (void)b;
        return TL_NOT_IMPLEMENTED();
    }
    return TL_OK;
}
