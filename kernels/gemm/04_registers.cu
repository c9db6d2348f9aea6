/* 04_registers.cu: rung 4 of gemm: a thread makes a square of C and keeps its sums in registers.
 *
 * Idea: 256 threads make a tile of 128 x 128, each of them 8 x 8 sums (Volkov, Demmel,
 *   "Benchmarking GPUs to Tune Dense Linear Algebra", 2008). For a step in k a thread reads 8
 *   numbers of A and 8 of B from shared memory and makes 64 multiply-adds of them.
 * Before: two reads of shared memory for each multiply-add; now a quarter of one.
 * Bound: 32 FLOP a byte of global memory, so that is no longer it. 64 sums and 16 factors take
 *   about 100 registers, so two blocks share an SM. Reads of shared memory are still 16
 *   instructions for 64 multiply-adds, and the loads of a slice are waited for: rungs 5 and 6.
 * Banks: a thread's rows are ty, ty + 16, ..., its columns tx, tx + 16, ...: a warp reads 16
 *   neighbours of b, and two numbers of a that 9 banks lie between. Where A is stored as it is, a
 *   warp's 4 rows of 8 numbers overlap by 3 banks when they are stored: one wait each time.
 * Shapes: all; zeros beyond the edges. In double 64 x 64 and 4 x 4, or the sums would not fit. */
#include "kernels/gemm/operands.h"

enum {
    SIDE = sizeof(tl_real) == sizeof(float) ? 8 : 4, /* of a thread's square of sums */
    ACROSS = 16,                                     /* threads of a block, each way */
    TILE = ACROSS * SIDE,
    THREADS = ACROSS * ACROSS,
    DEPTH = 8, /* of a slice */
};

/* to[i][j] = x[i0 + i, j0 + j] for height x width numbers, along the rows of x as it is stored. */
template <int height, int width>
static __device__ void copy_slice(tl_real (&to)[height][width + 1], const operand &x, int i0,
                                  int j0) {
    bool turned = x.col_step != 1;
#pragma unroll
    for (int e = (int)threadIdx.x; e < height * width; e += THREADS) {
        int i = turned ? e % height : e / width, j = turned ? e / height : e % width;
        to[i][j] = element_or_zero(x, i0 + i, j0 + j);
    }
}

static __global__ void __launch_bounds__(THREADS, 2) multiply_registers(product p) {
    __shared__ tl_real a[TILE][DEPTH + 1], b[DEPTH][TILE + 1];
    int i0 = tile_row(p, TILE, TILE), j0 = tile_col(p, TILE);
    int ty = (int)threadIdx.x / ACROSS, tx = (int)threadIdx.x % ACROSS;
    tl_real sum[SIDE][SIDE] = {};
    for (int k0 = 0; k0 < p.k; k0 += DEPTH) {
        copy_slice<TILE, DEPTH>(a, p.A, i0, k0);
        copy_slice<DEPTH, TILE>(b, p.B, k0, j0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            tl_real row[SIDE], col[SIDE];
#pragma unroll
            for (int i = 0; i < SIDE; i++) row[i] = a[ty + i * ACROSS][k];
#pragma unroll
            for (int j = 0; j < SIDE; j++) col[j] = b[k][tx + j * ACROSS];
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int j = 0; j < SIDE; j++) sum[i][j] += row[i] * col[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        int row = i0 + ty + i * ACROSS;
        if (row >= p.m) break;
#pragma unroll
        for (int j = 0; j < SIDE; j++)
            if (j0 + tx + j * ACROSS < p.n) put(p, row, j0 + tx + j * ACROSS, sum[i][j]);
    }
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 4: ctx, C, A, B or g is NULL");
    if (!countable(g)) return tl_gemm(ctx, C, A, B, g);
    product p = product_of(C, A, B, g);
    multiply_registers<<<blocks_of(p, TILE, TILE), THREADS, 0, tl_stream(ctx)>>>(p);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_registers(tl_backend *ops) { ops->gemm = gemm; }
