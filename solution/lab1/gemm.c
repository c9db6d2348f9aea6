/* gemm.c: the matrix product through BLAS, in parallel over tiles of C (tl/matmul.h). */
//@lab 1:
/* Relies on OpenBLAS being set to one thread, which tl_device_open does: each tile is one serial
 * call, and the parallelism is ours. This is quicker on our shapes than threaded BLAS, and K is
 * never split between threads, so the bits do not depend on their number. */
//@end
#include "tl/matmul.h"

#include <cblas.h>

#ifdef TL_REAL_DOUBLE
#define blas_gemm cblas_dgemm
#else
#define blas_gemm cblas_sgemm
#endif

//@lab 1:
enum {
    TILES = 8,     /* enough for a handful of threads */
    SIDE = 24,     /* see choose_tile */
    REGISTERS = 8, /* columns that BLAS keeps in registers at a time: sides are multiples of it */
    TILE_WORK = 1 << 18, /* multiplications below which a tile is not worth a thread */
};
//@end

//@lab 1:
static int pieces(int length, int piece) { return (length - 1) / piece + 1; }
//@end

//@lab 1:
/* Halves the longer side of the tile until there are enough tiles. Every tile packs its part of A
 * and of B anew: tiles near a square pack least, and more tiles pay only where they stay large, so
 * the side that may still be cut grows with their number. Two tiles come cheap, eight need a large
 * C. All this follows from the sizes alone, never from the threads. */
static void choose_tile(int *rows, int *cols, const tl_matmul_geom *g) {
    *rows = g->m;
    *cols = g->n;
    for (;;) {
        int *longer = *cols >= *rows ? cols : rows;
        long long tiles = (long long)pieces(g->m, *rows) * pieces(g->n, *cols);
        double work = (double)*rows * *cols * g->k;
        if (tiles >= TILES || *longer <= SIDE * tiles || work < 2.0 * TILE_WORK) return;
        *longer = pieces((*longer - 1) / 2 + 1, REGISTERS) * REGISTERS;
    }
}
//@end

tl_status tl_gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                  const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "tl_gemm: ctx, C, A, B or the geometry is NULL");

    //@lab 1: The same contract as tl_matmul, by BLAS. One call of blas_gemm(CblasRowMajor, ...)
    //@  for all of C is enough for the points: transposition flags, sizes m, n, k, and a leading
    //@  dimension for each matrix, which is the distance between rows as they are stored (so
    //@  think: what does it follow from if A is stored transposed?). Factor 1 for the product;
    //@  which factor for the old C? OpenBLAS runs with one thread here. For the others, cut C into
    //@  tiles, one call each; K is never cut, and where to cut must follow from the sizes alone,
    //@  or the bits would depend on the number of threads.
    int tile_rows, tile_cols;
    choose_tile(&tile_rows, &tile_cols, g);
    int across = pieces(g->n, tile_cols), tiles = pieces(g->m, tile_rows) * across;
    /* lda, ldb: distance between rows as stored; the steps: from row to row of op(A), and from
     * column to column of op(B). */
    int lda = g->trans_a ? g->m : g->k, ldb = g->trans_b ? g->k : g->n;
    size_t a_step = g->trans_a ? 1 : (size_t)lda, b_step = g->trans_b ? (size_t)ldb : 1;
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads) if (tiles > 1)
    for (int tile = 0; tile < tiles; tile++) {
        int i = tile / across * tile_rows, j = tile % across * tile_cols;
        int rows = g->m - i < tile_rows ? g->m - i : tile_rows;
        int cols = g->n - j < tile_cols ? g->n - j : tile_cols;
        blas_gemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans,
                  g->trans_b ? CblasTrans : CblasNoTrans, rows, cols, g->k, TL_R(1),
                  A + (size_t)i * a_step, lda, B + (size_t)j * b_step, ldb,
                  TL_R(g->accumulate ? 1 : 0), C + (size_t)i * (size_t)g->n + (size_t)j, g->n);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
