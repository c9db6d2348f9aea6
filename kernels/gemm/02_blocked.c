/* 02_blocked.c: rung 2 of gemm on cpu: pieces of B that stay in a cache.
 *
 * Idea: C is cut into tiles of ROWS x COLS and k into slices of DEPTH. A slice of B, COLS wide, is
 *   copied to a place of its own (128 KiB in float: the second-level cache holds it) and serves all
 *   rows of the tile.
 * Before: each row of C read all of B. Now a number of B comes from memory once for ROWS rows, and
 *   as the copy lies along rows, B may be transposed or not: one inner loop instead of two.
 * Bound: the first-level cache: a multiply-add loads B and C and stores C, so the arithmetic units
 *   wait. Only registers help: rung 3.
 * Shapes: all. A tile of C is one thread's, slices come in order: same bits at any number of
 *   threads.
 * */
#include "../rungs.h"
#include "../vector.h"

enum { ROWS = 64, COLS = 128, DEPTH = 256 };

static int least(int a, int b) { return a < b ? a : b; }

/* to[k][j] = B[k0 + k, j0 + j] */
static void copy_slice(tl_real (*to)[COLS], const tl_real *B, const tl_matmul_geom *g, int k0,
                       int depth, int j0, int cols) {
    size_t down = g->trans_b ? 1 : (size_t)g->n, along = g->trans_b ? (size_t)g->k : 1;
    const tl_real *from = B + (size_t)k0 * down + (size_t)j0 * along;
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < cols; j++) to[k][j] = from[(size_t)k * down + (size_t)j * along];
}

static void add_products(tl_real *c, const tl_real *a, size_t along, tl_real (*b)[COLS], int depth,
                         int cols) {
    for (int k = 0; k < depth; k++) {
        tl_real factor = a[(size_t)k * along];
        for (int j = 0; j < cols; j++) c[j] = real_fma(factor, b[k][j], c[j]);
    }
}

static void make_tile(tl_real *C, const tl_real *A, const tl_real *B, const tl_matmul_geom *g,
                      int i0, int j0) {
    tl_real b[DEPTH][COLS];
    size_t down = g->trans_a ? 1 : (size_t)g->k, along = g->trans_a ? (size_t)g->m : 1;
    int rows = least(ROWS, g->m - i0), cols = least(COLS, g->n - j0);
    for (int k0 = 0, depth; k0 < g->k; k0 += depth) {
        depth = least(DEPTH, g->k - k0);
        copy_slice(b, B, g, k0, depth, j0, cols);
        for (int i = 0; i < rows; i++) {
            tl_real *c = C + (size_t)(i0 + i) * (size_t)g->n + j0;
            for (int j = 0; k0 == 0 && !g->accumulate && j < cols; j++) c[j] = 0;
            add_products(c, A + (size_t)(i0 + i) * down + (size_t)k0 * along, along, b, depth,
                         cols);
        }
    }
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 2: ctx, C, A, B or g is NULL");
    long long across = (g->n - 1) / COLS + 1, tiles = ((g->m - 1) / ROWS + 1) * across;
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads) if (tiles > 1)
    for (long long t = 0; t < tiles; t++)
        make_tile(C, A, B, g, (int)(t / across) * ROWS, (int)(t % across) * COLS);
    return TL_OK;
}

void tl_rung_gemm_blocked(tl_backend *ops) { ops->gemm = gemm; }
