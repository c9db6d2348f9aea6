/* im2col.c: receptive fields copied into the columns of a matrix, on the CPU (tl/conv2d.h). */

#include "tl/conv2d.h"

/* Elements of col below which waking the threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 15 };

tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && col && x && g, TL_EINVAL, "tl_im2col: ctx, col, x or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_im2col: images is %d, must be at least 1", images);

    /* TODO(lab 2): Fill col[C*R*S, images*P*Q]. Row (c*R + r)*S + s, column (i*P + p)*Q + q is
     * pixel (p*stride_h - pad_h + r*dil_h, q*stride_w - pad_w + s*dil_w) of channel c of image i,
     * or 0 where that lies outside of the image: tl/conv2d.h has the formula. Loops over row,
     * image, p and q that compute it element by element are right. Think of: a tap may see nothing
     * but padding, so every element must be written; stride, pad and dilation differ in h and w;
     * images*P*Q is the length of a row of col, also when it is not g->n images; indices in size_t.
     * Then see which loop is best left to threads, and that within one row of the image padding
     * needs no test per pixel. */
    return TL_NOT_IMPLEMENTED();
}
