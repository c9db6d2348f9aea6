/* maxpool2d.cu: max pooling, forward and backward, on a GPU. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"

tl_status tl_maxpool2d_fwd(tl_ctx *ctx, tl_real *y, int32_t *argmax, const tl_real *x,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && y && argmax && x && g, TL_EINVAL,
            "tl_maxpool2d_fwd: ctx, y, argmax, x or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    /* TODO(lab 3): A kernel with one thread per output, and its launch: y is the largest x in the
     * window of r x s pixels whose corner is (p*stride_h - pad_h, q*stride_w - pad_w), argmax its
     * offset h*W + w within the plane. Of equal values the first in row-major order wins; a NaN
     * wins over numbers. Trap: padding must never win, not even over negative numbers. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_maxpool2d_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const int32_t *argmax,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && dx && dy && argmax && g, TL_EINVAL,
            "tl_maxpool2d_bwd: ctx, dx, dy, argmax or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    /* TODO(lab 3): dx[argmax] += dy, by a kernel. With a thread per output, windows that overlap
     * may share a winner, and their additions would need atomics, whose order changes from run to
     * run. With a thread per pixel, each asks the windows over it whether it was their winner.
     * Which windows p cover row h: p*stride_h - pad_h <= h < p*stride_h - pad_h + r? There may be
     * none. Trap: whole-number division of a negative number rounds towards zero. */
    return TL_NOT_IMPLEMENTED();
}
