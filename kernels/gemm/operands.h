/* operands.h: what the rungs of gemm on CUDA devices share: op(A), op(B), and tiles of C.
 *
 * Blocks are counted in one dimension, tile by tile: any C that fits into a GPU's memory has fewer
 * than 2^31 tiles, and no limit of a grid's y is met. */
#ifndef GEMM_OPERANDS_H
#define GEMM_OPERANDS_H

#include "kernels/device.h"
#include "kernels/rungs.h"
#include "tl/cuda.h"

/* op(A) or op(B): element (i,j) lies at data[i * row_step + j * col_step]; one step is 1. If both
 * are, it is a vector, and col_step == 1 says that it is stored as it is. */
typedef struct operand {
    const tl_real *data;
    int rows, cols;
    size_t row_step, col_step;
} operand;

/* x as it is stored: [rows,cols], or [cols,rows] if it is transposed. */
static inline operand operand_of(const tl_real *x, int rows, int cols, int transposed) {
    size_t height = (size_t)rows, width = (size_t)cols;
    if (transposed) return operand{x, rows, cols, 1, height};
    return operand{x, rows, cols, width, 1};
}

/* Whether every line of x, as it is stored, may be loaded `count` numbers at a time. */
static inline bool in_vectors(const operand &x, int count) {
    int length = x.col_step == 1 ? x.cols : x.rows;
    return length % count == 0 && rung_aligned(x.data, (size_t)count * sizeof(tl_real));
}

/* What the kernels count in int, with room for a tile that reaches past the end. All others have
 * the plain path. */
static inline bool countable(const tl_matmul_geom *g) {
    const int most = 1 << 30;
    return g->m <= most && g->n <= most && g->k <= most;
}

/* C[m,n] (+)= A[m,k] · B[k,n] */
typedef struct product {
    operand A, B;
    tl_real *C;
    int m, n, k, accumulate;
} product;

static inline product product_of(tl_real *C, const tl_real *A, const tl_real *B,
                                 const tl_matmul_geom *g) {
    return product{operand_of(A, g->m, g->k, g->trans_a),
                   operand_of(B, g->k, g->n, g->trans_b),
                   C,
                   g->m,
                   g->n,
                   g->k,
                   g->accumulate};
}

/* Tiles of `size` that cover `length`. */
static inline __host__ __device__ unsigned tiles_of(int length, int size) {
    return (unsigned)((length - 1) / size + 1);
}
static inline unsigned blocks_of(const product &p, int rows, int cols) {
    return tiles_of(p.m, rows) * tiles_of(p.n, cols);
}

/* Row and column where the block's tile begins: tiles go along the rows of C. */
static inline __device__ int tile_row(const product &p, int rows, int cols) {
    return (int)(blockIdx.x / tiles_of(p.n, cols)) * rows;
}
static inline __device__ int tile_col(const product &p, int cols) {
    return (int)(blockIdx.x % tiles_of(p.n, cols)) * cols;
}

/* The same for square tiles that go down `band` tiles of C, then across: the columns of B that they
 * share stay in the second-level cache. */
static inline __device__ void banded_tile(const product &p, int side, int band, int *i0, int *j0) {
    int high = (int)tiles_of(p.m, side), wide = (int)tiles_of(p.n, side);
    int which = (int)blockIdx.x / (band * wide), in_band = (int)blockIdx.x % (band * wide);
    int down = high - which * band < band ? high - which * band : band;
    *i0 = (which * band + in_band % down) * side, *j0 = in_band / down * side;
}

static inline __device__ tl_real element(const operand &x, int i, int j) {
    return x.data[(size_t)i * x.row_step + (size_t)j * x.col_step];
}
/* The same, and zero outside of the matrix: it adds nothing. */
static inline __device__ tl_real element_or_zero(const operand &x, int i, int j) {
    return i < x.rows && j < x.cols ? element(x, i, j) : TL_R(0);
}

static inline __device__ void put(const product &p, int i, int j, tl_real sum) {
    tl_real *c = p.C + (size_t)i * (size_t)p.n + j;
    *c = p.accumulate ? *c + sum : sum;
}

/* V numbers of a row from column j on, where `whole` says that rows may be stored V at a time. */
template <int V>
static inline __device__ void put_vector(const product &p, int i, int j, const tl_real *sum,
                                         bool whole) {
    if (!whole) {
#pragma unroll
        for (int e = 0; e < V; e++)
            if (j + e < p.n) put(p, i, j + e, sum[e]);
    } else if (j < p.n) {
        pack<V> *c = (pack<V> *)(p.C + (size_t)i * (size_t)p.n + j), v = {};
        if (p.accumulate) v = *c;
#pragma unroll
        for (int e = 0; e < V; e++) v.v[e] += sum[e];
        *c = v;
    }
}
static inline bool stored_in_vectors(const product &p, int count) {
    return p.n % count == 0 && rung_aligned(p.C, (size_t)count * sizeof(tl_real));
}

#endif
