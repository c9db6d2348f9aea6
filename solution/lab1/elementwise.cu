/* elementwise.cu: operations that treat every element alone, on a GPU (tl/elementwise.h). */
//@lab 1:
/* One thread per element, and element i depends on element i alone: y may be the same array as an
 * input. All of these are bound by memory, so what counts is that neighbouring threads touch
 * neighbouring elements; what a thread computes in between is free. */
//@end
#include "tl/elementwise.h"

#include "tl/cuda.h"

#define NEED_ELEMENTS(n) TL_NEED((n) >= 1, TL_EINVAL, "%s: n is 0, at least 1 is needed", __func__)

//@lab 1:
static __global__ void fill(tl_real *y, size_t n, tl_real value) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = value;
}
//@end

tl_status tl_fill(tl_ctx *ctx, tl_real *y, size_t n, tl_real value) {
    TL_NEED(ctx && y, TL_EINVAL, "tl_fill: ctx or y is NULL");
    NEED_ELEMENTS(n);
    //@lab 1: A kernel above this function, and its launch here: y[i] = value for i = 0 .. n-1.
    //@  tl_blocks(n, TL_BLOCK) blocks of TL_BLOCK threads on tl_stream(ctx), then TL_LAUNCHED().
    //@  Trap: tl_blocks stops at 65,535 blocks, so there may be fewer threads than elements, and
    //@  mostly there are more: tl/cuda.h shows the loop that serves any n with any grid.
    fill<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, n, value);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // (void)value;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
static __global__ void add(tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = a[i] + b[i];
}
//@end

tl_status tl_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_add: ctx, y, a or b is NULL");
    NEED_ELEMENTS(n);
    //@lab 1: A kernel and its launch: y[i] = a[i] + b[i]. Which elements should neighbouring
    //@  threads take?
    add<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, a, b, n);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
static __global__ void mul(tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = a[i] * b[i];
}
//@end

tl_status tl_mul(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_mul: ctx, y, a or b is NULL");
    NEED_ELEMENTS(n);
    //@lab 1: A kernel and its launch: y[i] = a[i] * b[i].
    mul<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, a, b, n);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
static __global__ void scale(tl_real *y, const tl_real *x, size_t n, tl_real factor) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = factor * x[i];
}
//@end

tl_status tl_scale(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real factor) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_scale: ctx, y or x is NULL");
    NEED_ELEMENTS(n);
    //@lab 1: A kernel and its launch: y[i] = factor * x[i].
    scale<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, n, factor);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // (void)factor;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
/* This one and mul_add add to what is there: gradients from several uses of a value add up. */
static __global__ void axpy(tl_real *y, const tl_real *x, size_t n, tl_real alpha) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] += alpha * x[i];
}
//@end

tl_status tl_axpy(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real alpha) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_axpy: ctx, y or x is NULL");
    NEED_ELEMENTS(n);
    //@lab 1: A kernel and its launch: y += alpha * x.
    axpy<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, n, alpha);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // (void)alpha;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
static __global__ void mul_add(tl_real *dx, const tl_real *a, const tl_real *dy, size_t n) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) dx[i] += a[i] * dy[i];
}
//@end

tl_status tl_mul_add(tl_ctx *ctx, tl_real *dx, const tl_real *a, const tl_real *dy, size_t n) {
    TL_NEED(ctx && dx && a && dy, TL_EINVAL, "tl_mul_add: ctx, dx, a or dy is NULL");
    NEED_ELEMENTS(n);
    //@lab 1: A kernel and its launch: dx += a * dy.
    mul_add<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dx, a, dy, n);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
