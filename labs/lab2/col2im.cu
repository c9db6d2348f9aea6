/* col2im.cu: the adjoint of im2col, on a GPU (tl/conv2d.h). */
#include "tl/conv2d.h"

#include "tl/cuda.h"

tl_status tl_col2im(tl_ctx *ctx, tl_real *dx, const tl_real *col, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && dx && col && g, TL_EINVAL, "tl_col2im: ctx, dx, col or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_col2im: images is %d, must be at least 1", images);

    /* TODO(lab 2): The adjoint of im2col: a kernel above, its launch here. One thread per pixel of
     * dx: it finds the places of col that were copied from its pixel, adds them up in a fixed
     * order, and adds the sum to what dx holds. Which outputs saw pixel h through tap r? Solve h =
     * p*stride_h - pad_h + r*dil_h for a whole p in 0 .. P-1; the same along w. With a thread per
     * element of col, threads would meet in one pixel, and atomics add in the order in which they
     * happen to arrive. Traps: % of a negative number; where stride is larger than the filter, some
     * pixels were never copied. */
    return TL_NOT_IMPLEMENTED();
}
