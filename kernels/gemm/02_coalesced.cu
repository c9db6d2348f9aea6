/* 02_coalesced.cu: rung 2 of gemm: the threads of a warp read neighbours in memory.
 *
 * Idea: threadIdx.x counts columns. That is all that changes.
 * Before: a warp read 32 rows of A at each step, 32 sectors. Now it reads one number of A, which
 *   all its threads share (one sector), and 32 neighbours of B (four sectors); a store of C is
 *   four.
 * Bound: still two loads a multiply-add, 0.25 FLOP a byte; the loads are merely good ones. Each
 *   number of A and of B is asked for by m or n threads, and only caches keep that from memory.
 * Shapes: all. With B transposed, neighbours in a row of op(B) lie k apart: 32 sectors again.
 *   Rung 3 heals that. */
#include "kernels/gemm/operands.h"

enum { ROWS = 8, COLS = 32 };

static __global__ void multiply_coalesced(product p) {
    int i = tile_row(p, ROWS, COLS) + (int)threadIdx.y, j = tile_col(p, COLS) + (int)threadIdx.x;
    if (i >= p.m || j >= p.n) return;
    tl_real sum = 0;
    for (int k = 0; k < p.k; k++) sum += element(p.A, i, k) * element(p.B, k, j);
    put(p, i, j, sum);
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 2: ctx, C, A, B or g is NULL");
    if (!countable(g)) return tl_gemm(ctx, C, A, B, g);
    product p = product_of(C, A, B, g);
    multiply_coalesced<<<blocks_of(p, ROWS, COLS), dim3(COLS, ROWS), 0, tl_stream(ctx)>>>(p);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_coalesced(tl_backend *ops) { ops->gemm = gemm; }
