/* 02_tensor.cu: rungs 2 and 3 of linear: by tensor cores, in TF32 and in bfloat16.
 *
 * Idea: y = x · wᵀ, dx = dy · w and dw = dyᵀ · x are three of the four orders in which rungs 7
 *   and 8 of gemm read memory. All that a layer adds is the end of a sum: the bias, and what
 *   bfloat16 rounds (kernels/gemm_tensor.h). Operands are rounded on their way, and no copy of
 *   them exists.
 * Before: rung 1 multiplies floats. Without a rung of its precision a layer is rounded between
 *   kernels for float: two or three copies, and a product no quicker.
 * Bound: tiles of 128 x 128, of which a layer of a net has few: 64 images and 128 outputs are half
 *   of one, and one block of a GPU has all the work. Long sums are not cut.
 * Shapes: all up to 2^30; zeros past the edges. Of the bias' gradient: as without this rung. */
#include "kernels/gemm_tensor.h"
#include "kernels/rungs.h"

#ifndef TL_REAL_DOUBLE
#include "tl/layers.h"

static bool countable(const tl_linear_geom *g) {
    return g->n <= GEMM_TENSOR_MOST && g->in <= GEMM_TENSOR_MOST && g->out <= GEMM_TENSOR_MOST;
}

/* In the precision of the table. `whole`: the result is rounded, too, and not only what is added to
 * it. */
static tl_status multiply(tl_ctx *ctx, float *C, const float *A, const float *B,
                          const tl_matmul_geom &g, const float *bias, bool whole) {
    bool narrow = ctx->ops->precision == TL_BF16; /* TL_TF32 rounds operands alone */
    gemm_finish finish = {bias, narrow, narrow && whole};
    return (narrow ? tl_gemm_bf16 : tl_gemm_tf32)(ctx, C, A, B, &g, &finish);
}

static tl_status fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w, const tl_real *b,
                     const tl_linear_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL,
            "linear_fwd by tensor cores: ctx, y, x, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    if (!countable(g)) return ctx->ops->rounding->linear_fwd(ctx, y, x, w, b, g);
    tl_matmul_geom product = {};
    product.m = g->n, product.n = g->out, product.k = g->in, product.trans_b = 1;
    return multiply(ctx, y, x, w, product, b, false);
}

static tl_status bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                           const tl_linear_geom *g) {
    TL_NEED(ctx && dx && dy && w && g, TL_EINVAL,
            "linear_bwd_input by tensor cores: ctx, dx, dy, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    if (!countable(g)) return ctx->ops->rounding->linear_bwd_input(ctx, dx, dy, w, g);
    tl_matmul_geom product = {};
    product.m = g->n, product.n = g->in, product.k = g->out, product.accumulate = 1;
    return multiply(ctx, dx, dy, w, product, NULL, true);
}

static tl_status bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                            const tl_linear_geom *g) {
    TL_NEED(ctx && dw && dy && x && g, TL_EINVAL,
            "linear_bwd_weight by tensor cores: ctx, dw, dy, x or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    if (!countable(g)) return ctx->ops->rounding->linear_bwd_weight(ctx, dw, dy, x, g);
    tl_matmul_geom product = {};
    product.m = g->out, product.n = g->in, product.k = g->n;
    product.trans_a = 1, product.accumulate = 1;
    return multiply(ctx, dw, dy, x, product, NULL, false);
}

/* Both rungs: the precision is that of the table. */
static void apply(tl_backend *ops) {
    ops->linear_fwd = fwd;
    ops->linear_bwd_input = bwd_input;
    ops->linear_bwd_weight = bwd_weight;
}
extern "C" void tl_rung_linear_tensor_tf32(tl_backend *ops) { apply(ops); }
extern "C" void tl_rung_linear_tensor_bf16(tl_backend *ops) { apply(ops); }
#endif
