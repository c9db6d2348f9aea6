/* maxpool2d.c: max pooling, forward and backward, parallel over image planes. (tl/layers.h) */
#include "tl/layers.h"

/* Below this many outputs a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 13 };

tl_status tl_maxpool2d_fwd(tl_ctx *ctx, tl_real *y, int32_t *argmax, const tl_real *x,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && y && argmax && x && g, TL_EINVAL,
            "tl_maxpool2d_fwd: ctx, y, argmax, x or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    /* TODO(lab 3): For each output (p, q) of each plane: y is the largest x in the window of r x s
     * pixels whose corner is (p*stride_h - pad_h, q*stride_w - pad_w), argmax its offset h*W + w
     * within the plane. Of equal values the first in row-major order wins; a NaN wins over numbers.
     * Traps: padding is not a zero that could win: think of a window of negative numbers; a maximum
     * that starts at 0; windows overlap where the stride is smaller than the window. Planes may be
     * shared among threads. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_maxpool2d_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const int32_t *argmax,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && dx && dy && argmax && g, TL_EINVAL,
            "tl_maxpool2d_bwd: ctx, dx, dy, argmax or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    /* TODO(lab 3): Each dy goes to the one pixel that argmax names, and is added there. Nothing is
     * searched again: of two equal maxima only the saved one is paid. Where windows overlap, two
     * outputs may have the same winner: so which parts of dx may different threads work on? */
    return TL_NOT_IMPLEMENTED();
}
