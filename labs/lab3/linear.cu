/* linear.cu: the fully connected layer on a GPU, three matrix products and a sum. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"
#include "tl/matmul.h"

tl_status tl_linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_linear_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL,
            "tl_linear_fwd: ctx, y, x, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    /* TODO(lab 3): y[n,out] = x[n,in] · wᵀ + b: one tl_gemm (tl/matmul.h) and, where b is not NULL,
     * a kernel for the bias: add it to each row afterwards, or lay it into y first and let the
     * product accumulate. w is stored [out,in]. */
    (void)b;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_linear_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_linear_geom *g) {
    TL_NEED(ctx && dx && dy && w && g, TL_EINVAL,
            "tl_linear_bwd_input: ctx, dx, dy, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    /* TODO(lab 3): dx[n,in] += dy · w: one product. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_linear_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_linear_geom *g) {
    TL_NEED(ctx && dw && dy && x && g, TL_EINVAL,
            "tl_linear_bwd_weight: ctx, dw, dy, x or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    /* TODO(lab 3): dw[out,in] += dyᵀ · x: one product. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_linear_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_linear_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "tl_linear_bwd_bias: ctx, db, dy or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    /* TODO(lab 3): db[j] += the sum of column j of dy[n,out]: a kernel and its launch. Neighbouring
     * threads should read neighbours in memory; no atomics. `out` is often as small as 10: what
     * else could keep a GPU busy? */
    return TL_NOT_IMPLEMENTED();
}
