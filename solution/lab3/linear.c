/* linear.c: the fully connected layer, three matrix products and a sum. (tl/layers.h) */
#include "tl/layers.h"

//@lab 3:
#include <string.h>
//@end

#include "tl/matmul.h"

/* Below this many elements a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 15 };
//@lab 3:
/* Columns whose sums one thread keeps at a time: a few cache lines. */
enum { COLUMNS = 64 };
//@end

//@lab 3:
/* y = x · wᵀ + b. The bias is laid into y first, and the product added to it: so every output is
 * written by one pass of copying and one product, without a second look at it. */
//@end
tl_status tl_linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_linear_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL,
            "tl_linear_fwd: ctx, y, x, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    //@lab 3: y[n,out] = x[n,in] · wᵀ + b: one tl_gemm (tl/matmul.h) does the product; w is stored
    //@  [out,in]. b may be NULL. Two ways lead to the bias: add it to each row of y afterwards, or
    //@  lay it into y first and let the product accumulate. Which of the two touches y less often?
    tl_matmul_geom product = {
        .m = g->n, .n = g->out, .k = g->in, .trans_b = 1, .accumulate = b != NULL};
    size_t out = (size_t)g->out;

    for (int i = 0; b && i < g->n; i++) memcpy(y + (size_t)i * out, b, out * sizeof *b);
    return tl_gemm(ctx, y, x, w, &product);
    //@skeleton
    // (void)b;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* dx[n,in] += dy[n,out] · w[out,in]: how far each input moves the outputs is w itself. */
//@end
tl_status tl_linear_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_linear_geom *g) {
    TL_NEED(ctx && dx && dy && w && g, TL_EINVAL,
            "tl_linear_bwd_input: ctx, dx, dy, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    //@lab 3: dx[n,in] += dy · w. One product; check that the sizes fit before you look for
    //@  transposition flags.
    tl_matmul_geom product = {.m = g->n, .n = g->in, .k = g->out, .accumulate = 1};
    return tl_gemm(ctx, dx, dy, w, &product);
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* dw[out,in] += dyᵀ[out,n] · x[n,in]: the sum over the batch is the inner dimension. */
//@end
tl_status tl_linear_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_linear_geom *g) {
    TL_NEED(ctx && dw && dy && x && g, TL_EINVAL,
            "tl_linear_bwd_weight: ctx, dw, dy, x or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    //@lab 3: dw[out,in] += dyᵀ · x. Over which index does this sum run?
    tl_matmul_geom product = {.m = g->out, .n = g->in, .k = g->n, .trans_a = 1, .accumulate = 1};
    return tl_gemm(ctx, dw, dy, x, &product);
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* Sums of `count` columns of dy in row order, so that the bits do not depend on who adds which
 * columns; neighbouring columns lie side by side in memory and are added as vectors. */
static void add_columns(tl_real *db, const tl_real *dy, int rows, size_t stride, int count) {
    tl_real sum[COLUMNS] = {0};
    for (int i = 0; i < rows; i++) {
        const tl_real *row = dy + (size_t)i * stride;
        for (int j = 0; j < count; j++) sum[j] += row[j];
    }
    for (int j = 0; j < count; j++) db[j] += sum[j];
}
//@end

tl_status tl_linear_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_linear_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "tl_linear_bwd_bias: ctx, db, dy or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    //@lab 3: db[j] += the sum of column j of dy[n,out]. Walk along rows, as memory lies; in an
    //@  order that does not depend on the number of threads.
    size_t size = (size_t)g->n * (size_t)g->out;

#pragma omp parallel for num_threads(ctx->threads) if (size >= PARALLEL_FROM)
    for (int j = 0; j < g->out; j += COLUMNS) {
        int count = g->out - j < COLUMNS ? g->out - j : COLUMNS;
        add_columns(db + j, dy + j, g->n, (size_t)g->out, count);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
