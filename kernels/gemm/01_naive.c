/* 01_naive.c: rung 1 of gemm on cpu: three loops, in an order in which memory is read along rows.
 *
 * Idea: the formula, C[i,j] = sum over k of A[i,k] * B[k,j]. With j innermost a row of B is added
 *   to a row of C, both read from left to right, and compilers make vectors of that. With B
 *   transposed it is k that runs along memory: then a dot product is the better loop.
 * What is wrong: all of B is read again for every row of C, from memory where B is larger than the
 *   caches: 2 FLOP for 4 bytes. C is loaded and stored at each multiply-add.
 * Bound: bandwidth of whichever cache holds B.
 * Shapes: all. A row of C is one thread's and its terms come in the order of k: same bits at any
 *   number of threads. */
#include "../rungs.h"
#include "../vector.h"

static void add_rows(tl_real *c, const tl_real *a, size_t a_step, const tl_real *B,
                     const tl_matmul_geom *g) {
    size_t n = (size_t)g->n;
    for (size_t j = 0; !g->accumulate && j < n; j++) c[j] = 0;
    for (size_t k = 0; k < (size_t)g->k; k++) {
        tl_real factor = a[k * a_step];
        for (size_t j = 0; j < n; j++) c[j] = real_fma(factor, B[k * n + j], c[j]);
    }
}

static void dot_rows(tl_real *c, const tl_real *a, size_t a_step, const tl_real *B,
                     const tl_matmul_geom *g) {
    size_t length = (size_t)g->k;
    for (size_t j = 0; j < (size_t)g->n; j++) {
        tl_real sum = 0;
        for (size_t k = 0; k < length; k++) sum = real_fma(a[k * a_step], B[j * length + k], sum);
        c[j] = g->accumulate ? c[j] + sum : sum;
    }
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 1: ctx, C, A, B or g is NULL");
    size_t down = g->trans_a ? 1 : (size_t)g->k, along = g->trans_a ? (size_t)g->m : 1;
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
    for (int i = 0; i < g->m; i++) {
        const tl_real *a = A + (size_t)i * down;
        tl_real *c = C + (size_t)i * (size_t)g->n;
        if (g->trans_b)
            dot_rows(c, a, along, B, g);
        else
            add_rows(c, a, along, B, g);
    }
    return TL_OK;
}

void tl_rung_gemm_naive(tl_backend *ops) { ops->gemm = gemm; }
