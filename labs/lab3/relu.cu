/* relu.cu: the rectifier and its derivative, element by element, on a GPU. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"

tl_status tl_relu_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_relu_fwd: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_relu_fwd: n is 0, at least 1 is needed");

    /* TODO(lab 3): A kernel and its launch: y[i] = max(x[i], 0); y may be x, and a NaN must stay
     * NaN. What does `x > 0 ? x : 0` make of it? */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_relu_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *y, size_t n) {
    TL_NEED(ctx && dx && dy && y, TL_EINVAL, "tl_relu_bwd: ctx, dx, dy or y is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_relu_bwd: n is 0, at least 1 is needed");

    /* TODO(lab 3): A kernel and its launch: dx[i] gets dy[i] added where the output y[i] > 0, and
     * nothing elsewhere. */
    return TL_NOT_IMPLEMENTED();
}
