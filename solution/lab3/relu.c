/* relu.c: the rectifier and its derivative, element by element. (tl/layers.h) */
#include "tl/layers.h"

/* Below this many elements a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 15 };

//@lab 3:
/* Asks for x < 0, which a NaN is not: it passes through and shows that a net has diverged, where
 * x > 0 ? x : 0 would hide it. y may be x, so neither pointer is restrict. */
//@end
tl_status tl_relu_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_relu_fwd: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_relu_fwd: n is 0, at least 1 is needed");

    //@lab 3: y[i] = max(x[i], 0); y may be x. A NaN must stay NaN: it shows that a net has
    //@  diverged. What does `x > 0 ? x : 0` make of it?
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

/* Reads the output y instead of x, which need not be kept: y > 0 holds exactly where x > 0 does. */
tl_status tl_relu_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *y, size_t n) {
    TL_NEED(ctx && dx && dy && y, TL_EINVAL, "tl_relu_bwd: ctx, dx, dy or y is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_relu_bwd: n is 0, at least 1 is needed");

    //@lab 3: dx[i] gets dy[i] added where y[i] > 0, and nothing elsewhere. y is what forward
    //@  wrote. Trap: += and not =.
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) dx[i] += y[i] > 0 ? dy[i] : 0;
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
