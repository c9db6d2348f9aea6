/* relu.cu: the rectifier and its derivative, element by element, on a GPU. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"

//@lab 3:
/* Asks for x < 0, which a NaN is not: it passes through and shows that a net has diverged, where
 * x > 0 ? x : 0 would hide it. y may be x. */
static __global__ void relu(tl_real *y, const tl_real *x, size_t n) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = x[i] < 0 ? TL_R(0) : x[i];
}
//@end

tl_status tl_relu_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_relu_fwd: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_relu_fwd: n is 0, at least 1 is needed");

    //@lab 3: A kernel and its launch: y[i] = max(x[i], 0); y may be x, and a NaN must stay NaN.
    //@  What does `x > 0 ? x : 0` make of it?
    relu<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, n);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* Reads the output y instead of x, which need not be kept: y > 0 holds exactly where x > 0 does. */
static __global__ void relu_backward(tl_real *dx, const tl_real *dy, const tl_real *y, size_t n) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) dx[i] += y[i] > 0 ? dy[i] : TL_R(0);
}
//@end

tl_status tl_relu_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *y, size_t n) {
    TL_NEED(ctx && dx && dy && y, TL_EINVAL, "tl_relu_bwd: ctx, dx, dy or y is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_relu_bwd: n is 0, at least 1 is needed");

    //@lab 3: A kernel and its launch: dx[i] gets dy[i] added where the output y[i] > 0, and
    //@  nothing elsewhere.
    relu_backward<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dx, dy, y, n);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
