/* 01_vectors.c: rung 1 of linear on cpu: the plain path's three products without a BLAS.
 *
 * Idea: rung 3 of gemm adds each sum in the order of k, in slices that the sizes alone decide, by
 *   fma. A BLAS chooses its kernel, and so the order of its sums, by the processor that it finds.
 * What is wrong: OpenBLAS reaches more of the peak at most sizes.
 * Bound: multiply-adds.
 * Same bits: at any width of vectors and any number of threads.
 * Shapes: all. (bwd_bias is a sum in the order of rows, and stays the plain path's) */
#include <string.h>

#include "kernels/gemm_vectors.h"
#include "kernels/rungs.h"

/* y = x · wᵀ + b: the bias is laid into y first, and the product added to it. */
static tl_status linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                            const tl_real *b, const tl_linear_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL,
            "linear_fwd, rung 1: ctx, y, x, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    tl_matmul_geom product = {
        .m = g->n, .n = g->out, .k = g->in, .trans_b = 1, .accumulate = b != NULL};
    size_t out = (size_t)g->out;
    for (int i = 0; b && i < g->n; i++) memcpy(y + (size_t)i * out, b, out * sizeof *b);
    return tl_gemm_vectors(ctx, y, x, w, &product);
}

static tl_status linear_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                  const tl_linear_geom *g) {
    TL_NEED(ctx && dx && dy && w && g, TL_EINVAL,
            "linear_bwd_input, rung 1: ctx, dx, dy, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    tl_matmul_geom product = {.m = g->n, .n = g->in, .k = g->out, .accumulate = 1};
    return tl_gemm_vectors(ctx, dx, dy, w, &product);
}

static tl_status linear_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                   const tl_linear_geom *g) {
    TL_NEED(ctx && dw && dy && x && g, TL_EINVAL,
            "linear_bwd_weight, rung 1: ctx, dw, dy, x or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    tl_matmul_geom product = {.m = g->out, .n = g->in, .k = g->n, .trans_a = 1, .accumulate = 1};
    return tl_gemm_vectors(ctx, dw, dy, x, &product);
}

void tl_rung_linear_vectors(tl_backend *ops) {
    ops->linear_fwd = linear_fwd;
    ops->linear_bwd_input = linear_bwd_input;
    ops->linear_bwd_weight = linear_bwd_weight;
}
