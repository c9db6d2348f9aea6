/* elementwise.cu: operations that treat every element alone, on a GPU (tl/elementwise.h). */
#include "tl/elementwise.h"

#include "tl/cuda.h"

#define NEED_ELEMENTS(n) TL_NEED((n) >= 1, TL_EINVAL, "%s: n is 0, at least 1 is needed", __func__)

tl_status tl_fill(tl_ctx *ctx, tl_real *y, size_t n, tl_real value) {
    TL_NEED(ctx && y, TL_EINVAL, "tl_fill: ctx or y is NULL");
    NEED_ELEMENTS(n);
    /* TODO(lab 1): A kernel above this function, and its launch here: y[i] = value for i = 0 ..
     * n-1. tl_blocks(n, TL_BLOCK) blocks of TL_BLOCK threads on tl_stream(ctx), then TL_LAUNCHED().
     * Trap: tl_blocks stops at 65,535 blocks, so there may be fewer threads than elements, and
     * mostly there are more: tl/cuda.h shows the loop that serves any n with any grid. */
    (void)value;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_add: ctx, y, a or b is NULL");
    NEED_ELEMENTS(n);
    /* TODO(lab 1): A kernel and its launch: y[i] = a[i] + b[i]. Which elements should neighbouring
     * threads take? */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_mul(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_mul: ctx, y, a or b is NULL");
    NEED_ELEMENTS(n);
    /* TODO(lab 1): A kernel and its launch: y[i] = a[i] * b[i]. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_scale(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real factor) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_scale: ctx, y or x is NULL");
    NEED_ELEMENTS(n);
    /* TODO(lab 1): A kernel and its launch: y[i] = factor * x[i]. */
    (void)factor;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_axpy(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real alpha) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_axpy: ctx, y or x is NULL");
    NEED_ELEMENTS(n);
    /* TODO(lab 1): A kernel and its launch: y += alpha * x. */
    (void)alpha;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_mul_add(tl_ctx *ctx, tl_real *dx, const tl_real *a, const tl_real *dy, size_t n) {
    TL_NEED(ctx && dx && a && dy, TL_EINVAL, "tl_mul_add: ctx, dx, a or dy is NULL");
    NEED_ELEMENTS(n);
    /* TODO(lab 1): A kernel and its launch: dx += a * dy. */
    return TL_NOT_IMPLEMENTED();
}
