/* col2im.c: the adjoint of im2col, on the CPU (tl/conv2d.h). */
#include "tl/conv2d.h"

/* Elements of col below which waking the threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 15 };

tl_status tl_col2im(tl_ctx *ctx, tl_real *dx, const tl_real *col, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && dx && col && g, TL_EINVAL, "tl_col2im: ctx, dx, col or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_col2im: images is %d, must be at least 1", images);

    /* TODO(lab 2): The adjoint of im2col: im2col copies a pixel to many places of col; here every
     * pixel of dx gets the sum of those places added to what it holds. Places that came from the
     * padding are dropped. The formula of tl/conv2d.h, read backwards: which outputs p saw row h
     * through filter row r? Solve h = p*stride_h - pad_h + r*dil_h for p. It must be a whole
     * number, and lie in 0 .. P-1. Loop over pixels and gather: if threads walked over col and
     * added to dx instead, two of them would meet in one pixel. Traps: % of a negative number; an
     * index that is changed within the loop that counts it; dx is added to, never overwritten. */
    return TL_NOT_IMPLEMENTED();
}
