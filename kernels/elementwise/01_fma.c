/* 01_fma.c: rung 1 of elementwise on cpu: y += alpha x rounded once, whoever compiles it.
 *
 * Idea: the fma is written out. The plain path says `y[i] += alpha * x[i]`, which compilers round
 *   once or twice as they like; its other operations round once in any case, and keep their loops.
 * Bound: memory.
 * Same bits: at any width of vectors and any number of threads: each element is alone. */
#include "kernels/lanes16.h"
#include "kernels/rungs.h"

enum { PARALLEL_FROM = 1 << 15 };

static tl_status axpy(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real alpha) {
    TL_NEED(ctx && y && x, TL_EINVAL, "axpy, elementwise rung 1: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "axpy, elementwise rung 1: n is 0, at least 1 is needed");
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) y[i] = lane_fma(alpha, x[i], y[i]);
    return TL_OK;
}

static tl_status mul_add(tl_ctx *ctx, tl_real *dx, const tl_real *a, const tl_real *dy, size_t n) {
    TL_NEED(ctx && dx && a && dy, TL_EINVAL,
            "mul_add, elementwise rung 1: ctx, dx, a or dy is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "mul_add, elementwise rung 1: n is 0, at least 1 is needed");
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) dx[i] = lane_fma(a[i], dy[i], dx[i]);
    return TL_OK;
}

void tl_rung_elementwise_fma(tl_backend *ops) {
    ops->axpy = axpy;
    ops->mul_add = mul_add;
}
