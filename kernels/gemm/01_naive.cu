/* 01_naive.cu: rung 1 of gemm: a thread for each element of C, as one first writes it down.
 *
 * Idea: threadIdx.x counts rows, threadIdx.y columns, as i and j do in the formula.
 * What is wrong: nothing in the result. But the 32 threads of a warp sit below each other in C, so
 *   at each step they read 32 rows of A: 32 sectors of 32 bytes for 128 bytes of use. Each store of
 *   C touches 32 sectors as well. B is the same number for all of them: one sector.
 * Bound: sectors of the first-level cache. A multiply-add loads two numbers: 0.25 FLOP a byte.
 * Shapes: all. With A transposed, its rows lie side by side, and the loads are good by luck. */
#include "kernels/gemm/operands.h"

enum { ROWS = 32, COLS = 8 };

static __global__ void multiply_naive(product p) {
    int i = tile_row(p, ROWS, COLS) + (int)threadIdx.x, j = tile_col(p, COLS) + (int)threadIdx.y;
    if (i >= p.m || j >= p.n) return;
    tl_real sum = 0;
    for (int k = 0; k < p.k; k++) sum += element(p.A, i, k) * element(p.B, k, j);
    put(p, i, j, sum);
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 1: ctx, C, A, B or g is NULL");
    if (!countable(g)) return tl_gemm(ctx, C, A, B, g);
    product p = product_of(C, A, B, g);
    multiply_naive<<<blocks_of(p, ROWS, COLS), dim3(ROWS, COLS), 0, tl_stream(ctx)>>>(p);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_naive(tl_backend *ops) { ops->gemm = gemm; }
