/* 05_vectors.cu: rung 5 of gemm: 16 bytes with each load and store, of memory and of shared memory.
 *
 * Idea: four floats (two doubles) with one instruction. So that a thread's rows are neighbours in
 *   shared memory as its columns are, the slice of A lies transposed there: a[k][i].
 * Before: 16 reads of shared memory for 64 multiply-adds; now 4. Loads of a slice: 8 a thread; now
 *   2.
 * Bound: 32 FLOP a byte as in rung 4, about 110 registers, two blocks on an SM. What is left is
 *   waiting: all threads load, then all multiply. Rung 6 does both at once.
 * Banks: a row of a slice is 132 floats long. An operand whose memory runs along k is stored column
 *   by column: a warp brings 16 rows of 8 numbers, and number (k,i) goes to bank 4k + i, in which
 *   the two halves of the warp are 16 apart: no conflict.
 * Shapes: all. Rows that are no multiple of a vector, or not aligned for it, are loaded one
 *   number at a time; zeros beyond the edges. In double 64 x 64 and 4 x 4. */
#include "kernels/gemm/operands.h"

enum {
    V = 16 / sizeof(tl_real), /* numbers of a vector */
    SIDE =
        sizeof(tl_real) == sizeof(float) ? 8 : 4, /* of a thread's square: two vectors each way */
    ACROSS = 16,                                  /* threads of a block, each way */
    TILE = ACROSS * SIDE,
    THREADS = ACROSS * ACROSS,
    DEPTH = 8, /* of a slice */
    PITCH = TILE + V,
    LOADS = TILE * DEPTH / V / THREADS,
};
typedef tl_real slice[DEPTH][PITCH];

/* V numbers of x as it is stored, from (line, at) on: zero outside of it. */
static __device__ pack<V> load(const operand &x, bool turned, bool whole, int line, int at) {
    int lines = turned ? x.cols : x.rows, length = turned ? x.rows : x.cols;
    pack<V> v = {};
    if (line >= lines || at >= length) return v;
    const tl_real *from = x.data + (size_t)line * (size_t)length + at;
    if (whole) return *(const pack<V> *)from;
#pragma unroll
    for (int e = 0; e < V; e++)
        if (at + e < length) v.v[e] = from[e];
    return v;
}

/* to[k][i] = x[k0 + k, i0 + i] where memory runs along i (`along_tile`), or the same of a matrix
 * whose lines run along k. */
static __device__ void copy_slice(slice &to, const operand &x, bool turned, bool whole,
                                  bool along_tile, int k0, int i0) {
#pragma unroll
    for (int n = 0; n < LOADS; n++) {
        int e = (int)threadIdx.x + n * THREADS;
        int line = along_tile ? e / (TILE / V) : e / (DEPTH / V);
        int at = along_tile ? e % (TILE / V) * V : e % (DEPTH / V) * V;
        pack<V> v =
            load(x, turned, whole, (along_tile ? k0 : i0) + line, (along_tile ? i0 : k0) + at);
        if (along_tile) *(pack<V> *)&to[line][at] = v;
#pragma unroll
        for (int i = 0; i < V; i++)
            if (!along_tile) to[at + i][line] = v.v[i];
    }
}

/* Two vectors of a row, half a tile apart: threads side by side read neighbours. */
static __device__ void take(tl_real (&v)[SIDE], const tl_real *row, int at) {
#pragma unroll
    for (int i = 0; i < SIDE; i += V) {
        pack<V> p = *(const pack<V> *)(row + i / V * (TILE / 2) + at * V);
#pragma unroll
        for (int e = 0; e < V; e++) v[i + e] = p.v[e];
    }
}
static __device__ int place(int at, int i) { return i / V * (TILE / 2) + at * V + i % V; }

static __global__ void __launch_bounds__(THREADS, 2)
    multiply_vectors(product p, bool whole_a, bool whole_b, bool whole_c) {
    alignas(16) __shared__ slice a, b;
    int i0 = tile_row(p, TILE, TILE), j0 = tile_col(p, TILE);
    int ty = (int)threadIdx.x / ACROSS, tx = (int)threadIdx.x % ACROSS;
    bool turned_a = p.A.col_step != 1, turned_b = p.B.col_step != 1;
    tl_real sum[SIDE][SIDE] = {};
    for (int k0 = 0; k0 < p.k; k0 += DEPTH) {
        copy_slice(a, p.A, turned_a, whole_a, turned_a, k0, i0);
        copy_slice(b, p.B, turned_b, whole_b, !turned_b, k0, j0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            tl_real row[SIDE], col[SIDE];
            take(row, a[k], ty);
            take(col, b[k], tx);
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int j = 0; j < SIDE; j++) sum[i][j] += row[i] * col[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j += V) {
            int row = i0 + place(ty, i), col = j0 + place(tx, j);
            if (row < p.m) put_vector<V>(p, row, col, &sum[i][j], whole_c);
        }
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 5: ctx, C, A, B or g is NULL");
    if (!countable(g)) return tl_gemm(ctx, C, A, B, g);
    product p = product_of(C, A, B, g);
    multiply_vectors<<<blocks_of(p, TILE, TILE), THREADS, 0, tl_stream(ctx)>>>(
        p, in_vectors(p.A, V), in_vectors(p.B, V), stored_in_vectors(p, V));
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_vectors(tl_backend *ops) { ops->gemm = gemm; }
