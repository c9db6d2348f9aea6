/* 03_tile.cu: rung 3 of gemm: the block copies what it shares into shared memory.
 *
 * Idea: a block makes a tile of 32 x 32 elements of C. Slice by slice along k its threads copy 32 x
 *   32 numbers of A and of B into shared memory, one each, wait, and multiply from there.
 * Before: every thread fetched all of its row and its column itself: a number was loaded by each of
 *   the 32 threads of a tile that use it. Now one thread loads it: a 32nd of the sectors.
 * Bound: shared memory. From global memory 8 FLOP a byte, but each multiply-add still reads two
 *   numbers of shared memory, and an SM can read 32 numbers a cycle for 128 multiply-adds.
 * Banks: rows are 33 numbers long. A transposed operand is copied along its rows in memory and
 *   stored down a column; at a pitch of 32 those 32 numbers would lie in one bank.
 * Shapes: all; beyond the edges the tiles hold zeros, which add nothing. */
#include "kernels/gemm/operands.h"

enum { TILE = 32 };
typedef tl_real square[TILE][TILE + 1];

/* to[i][j] = x[i0 + i, j0 + j]; threads side by side read neighbours, whichever way x is stored. */
static __device__ void copy_tile(square &to, const operand &x, int i0, int j0) {
    bool turned = x.col_step != 1;
    int i = (int)(turned ? threadIdx.x : threadIdx.y),
        j = (int)(turned ? threadIdx.y : threadIdx.x);
    to[i][j] = element_or_zero(x, i0 + i, j0 + j);
}

static __global__ void multiply_tile(product p) {
    __shared__ square a, b;
    int i0 = tile_row(p, TILE, TILE), j0 = tile_col(p, TILE);
    tl_real sum = 0;
    for (int k0 = 0; k0 < p.k; k0 += TILE) {
        copy_tile(a, p.A, i0, k0);
        copy_tile(b, p.B, k0, j0);
        __syncthreads(); /* nobody multiplies before all is there */
        for (int k = 0; k < TILE; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads(); /* nobody loads the next slice while others still multiply */
    }
    int i = i0 + (int)threadIdx.y, j = j0 + (int)threadIdx.x;
    if (i < p.m && j < p.n) put(p, i, j, sum);
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 3: ctx, C, A, B or g is NULL");
    if (!countable(g)) return tl_gemm(ctx, C, A, B, g);
    product p = product_of(C, A, B, g);
    multiply_tile<<<blocks_of(p, TILE, TILE), dim3(TILE, TILE), 0, tl_stream(ctx)>>>(p);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_tile(tl_backend *ops) { ops->gemm = gemm; }
