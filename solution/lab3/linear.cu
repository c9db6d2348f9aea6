/* linear.cu: the fully connected layer on a GPU, three matrix products and a sum. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"
#include "tl/matmul.h"

//@lab 3:
/* y[i,:] = b for every row i */
static __global__ void repeat_bias(tl_real *y, const tl_real *b, size_t size, size_t out) {
    for (size_t t = tl_thread(); t < size; t += tl_threads()) y[t] = b[t % out];
}
//@end

//@lab 3:
/* y = x · wᵀ + b. The bias is laid into y first, and the product added to it. */
//@end
tl_status tl_linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_linear_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL,
            "tl_linear_fwd: ctx, y, x, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    //@lab 3: y[n,out] = x[n,in] · wᵀ + b: one tl_gemm (tl/matmul.h) and, where b is not NULL, a
    //@  kernel for the bias: add it to each row afterwards, or lay it into y first and let the
    //@  product accumulate. w is stored [out,in].
    if (b) {
        size_t size = (size_t)g->n * (size_t)g->out;
        repeat_bias<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, b, size,
                                                                                (size_t)g->out);
        TL_LAUNCHED();
    }
    tl_matmul_geom product = {};
    product.m = g->n;
    product.n = g->out;
    product.k = g->in;
    product.trans_b = 1;
    product.accumulate = b != NULL;
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

    //@lab 3: dx[n,in] += dy · w: one product.
    tl_matmul_geom product = {};
    product.m = g->n;
    product.n = g->in;
    product.k = g->out;
    product.accumulate = 1;
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

    //@lab 3: dw[out,in] += dyᵀ · x: one product.
    tl_matmul_geom product = {};
    product.m = g->out;
    product.n = g->in;
    product.k = g->n;
    product.trans_a = 1;
    product.accumulate = 1;
    return tl_gemm(ctx, dw, dy, x, &product);
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* One thread per column adds its rows in order; neighbouring threads read along a row. */
static __global__ void add_rows(tl_real *db, const tl_real *dy, size_t rows, size_t out) {
    for (size_t j = tl_thread(); j < out; j += tl_threads()) {
        tl_real sum = 0;
        for (size_t i = 0; i < rows; i++) sum += dy[i * out + j];
        db[j] += sum;
    }
}
//@end

tl_status tl_linear_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_linear_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "tl_linear_bwd_bias: ctx, db, dy or the geometry is NULL");
    TL_TRY(tl_linear_check(g));

    //@lab 3: db[j] += the sum of column j of dy[n,out]: a kernel and its launch. Neighbouring
    //@  threads should read neighbours in memory; no atomics. `out` is often as small as 10: what
    //@  else could keep a GPU busy?
    size_t out = (size_t)g->out;
    /* Few columns, long sums: small blocks spread them over more of the GPU. */
    enum { THREADS = 32 };
    add_rows<<<tl_blocks(out, THREADS), THREADS, 0, tl_stream(ctx)>>>(db, dy, (size_t)g->n, out);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
