/* elementwise.c: operations that treat every element alone, on the CPU (tl/elementwise.h). */
//@lab 1:
/* Element i is computed by one iteration whatever thread runs it, so the bits cannot depend on the
 * number of threads. `simd` promises the compiler that iterations are independent; this stays true
 * when y is the same array as an input, because iteration i touches element i only.
 *
 * All of these are bound by memory: an element is fetched and written back in the time of dozens of
 * multiplications. Threads help until the memory is saturated; cleverer arithmetic would not. */
//@end
#include "tl/elementwise.h"

/* Below this many elements waking the threads costs more than they save. */
enum { PARALLEL_FROM = 1 << 15 };

#define NEED_ELEMENTS(n) TL_NEED((n) >= 1, TL_EINVAL, "%s: n is 0, at least 1 is needed", __func__)

tl_status tl_fill(tl_ctx *ctx, tl_real *y, size_t n, tl_real value) {
    TL_NEED(ctx && y, TL_EINVAL, "tl_fill: ctx or y is NULL");
    NEED_ELEMENTS(n);

    //@lab 1: y[i] = value for i = 0 .. n-1. A loop is enough for the points. Then let threads
    //@  share it: `#pragma omp parallel for` with num_threads(ctx->threads) and an if(...), so
    //@  that short arrays stay on one thread. Why may the iterations run in any order?
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) y[i] = value;
    return TL_OK;
    //@skeleton
    // (void)value;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_add: ctx, y, a or b is NULL");
    NEED_ELEMENTS(n);

    //@lab 1: y[i] = a[i] + b[i]. y may be a or b: does your loop mind?
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_mul(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_mul: ctx, y, a or b is NULL");
    NEED_ELEMENTS(n);

    //@lab 1: y[i] = a[i] * b[i].
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) y[i] = a[i] * b[i];
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_scale(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real factor) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_scale: ctx, y or x is NULL");
    NEED_ELEMENTS(n);

    //@lab 1: y[i] = factor * x[i].
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) y[i] = factor * x[i];
    return TL_OK;
    //@skeleton
    // (void)factor;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

/* This one and tl_mul_add add to what is there: gradients from several uses of a value add up. */
tl_status tl_axpy(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real alpha) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_axpy: ctx, y or x is NULL");
    NEED_ELEMENTS(n);

    //@lab 1: y += alpha * x. What is in y stays in the sum.
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) y[i] += alpha * x[i];
    return TL_OK;
    //@skeleton
    // (void)alpha;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_mul_add(tl_ctx *ctx, tl_real *dx, const tl_real *a, const tl_real *dy, size_t n) {
    TL_NEED(ctx && dx && a && dy, TL_EINVAL, "tl_mul_add: ctx, dx, a or dy is NULL");
    NEED_ELEMENTS(n);

    //@lab 1: dx += a * dy: adds to the gradient that is there.
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) dx[i] += a[i] * dy[i];
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
