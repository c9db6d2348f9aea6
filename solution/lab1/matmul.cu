/* matmul.cu: our own matrix product for a GPU, in tiles of shared memory (tl/matmul.h). */
//@lab 1:
/* A block computes a TILE x TILE piece of C. Slice by slice along K its threads copy the pieces of
 * op(A) and op(B) to shared memory together, then multiply from there: each number fetched from
 * memory is used TILE times. Each thread keeps a square of SIDE x SIDE sums in registers, so each
 * number fetched from shared memory is used SIDE times (Volkov, Demmel, "Benchmarking GPUs to Tune
 * Dense Linear Algebra", 2008). */
//@end
#include "tl/matmul.h"

#include "tl/cuda.h"

enum {
    //@lab 1:
    TILE = 64,             /* rows and columns of C that a block computes */
    DEPTH = 16,            /* length of a slice of K */
    SIDE = 4,              /* rows and columns of C that a thread computes */
    THREADS = TILE / SIDE, /* of a block, in x and in y */
    //@skeleton
    // /* Rows and columns of C that a block computes. The number is yours to change. A block has at
    //  * most 1,024 threads: with a thread for each element 32 x 32 is the largest. */
    // TILE = 16,
    //@end
};

/* A matrix as it lies in memory, read as if it were not transposed. */
typedef struct operand {
    const tl_real *data;
    size_t rows, cols;
    size_t row_step, col_step; /* distance between neighbours down a column and along a row */
} operand;

static operand make_operand(const tl_real *data, int rows, int cols, int transposed) {
    size_t height = (size_t)rows, width = (size_t)cols;
    if (transposed) return operand{data, height, width, 1, height};
    return operand{data, height, width, width, 1};
}

//@lab 1:
/* to[i][j] = x[i0+i, j0+j], or 0 outside the matrix, for height x width elements. The threads of
 * the block share the work so that neighbours read neighbours in memory, whichever way x is stored.
 */
template <int height, int width>
static __device__ void load(tl_real (&to)[height][width + 1], operand x, size_t i0, size_t j0) {
    int thread = (int)(threadIdx.y * THREADS + threadIdx.x);
    for (int e = thread; e < height * width; e += THREADS * THREADS) {
        bool along_row = x.col_step == 1;
        int i = along_row ? e / width : e % height, j = along_row ? e % width : e / height;
        bool inside = i0 + i < x.rows && j0 + j < x.cols;
        to[i][j] = inside ? x.data[(i0 + i) * x.row_step + (j0 + j) * x.col_step] : TL_R(0);
    }
}
//@end

//@lab 1:
/* The thread's squares of sums, over one slice: rows ty, ty + THREADS, ... and columns tx, tx +
 * THREADS, ... of the tile, so that the threads of a warp read neighbours. K runs upwards, as in
 * the definition: zeros from beyond the end add nothing. */
static __device__ void multiply(tl_real (&sum)[SIDE][SIDE], const tl_real (&a)[TILE][DEPTH + 1],
                                const tl_real (&b)[DEPTH][TILE + 1]) {
    for (int k = 0; k < DEPTH; k++) {
        tl_real row[SIDE], col[SIDE];
        for (int i = 0; i < SIDE; i++) row[i] = a[threadIdx.y + i * THREADS][k];
        for (int j = 0; j < SIDE; j++) col[j] = b[k][threadIdx.x + j * THREADS];
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) sum[i][j] += row[i] * col[j];
    }
}
//@end

//@lab 1:
static __device__ void store(tl_real *C, const tl_real (&sum)[SIDE][SIDE], size_t i0, size_t j0,
                             size_t rows, size_t cols, int accumulate) {
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            size_t row = i0 + threadIdx.y + i * THREADS, col = j0 + threadIdx.x + j * THREADS;
            if (row >= rows || col >= cols) continue;
            tl_real *c = C + row * cols + col;
            *c = accumulate ? *c + sum[i][j] : sum[i][j];
        }
    }
}
//@end

//@lab 1:
static __global__ void matmul(tl_real *C, operand A, operand B, int accumulate) {
    __shared__ tl_real a[TILE][DEPTH + 1]; /* the odd length of rows spreads columns over banks */
    __shared__ tl_real b[DEPTH][TILE + 1];
    size_t j0 = (size_t)blockIdx.x * TILE;
    for (size_t i0 = (size_t)blockIdx.y * TILE; i0 < A.rows; i0 += (size_t)gridDim.y * TILE) {
        tl_real sum[SIDE][SIDE] = {};
        for (size_t k0 = 0; k0 < A.cols; k0 += DEPTH) {
            load<TILE, DEPTH>(a, A, i0, k0);
            load<DEPTH, TILE>(b, B, k0, j0);
            __syncthreads(); /* nobody multiplies before all is loaded */
            multiply(sum, a, b);
            __syncthreads(); /* nobody loads the next slice while others still multiply */
        }
        store(C, sum, i0, j0, A.rows, B.cols, accumulate);
    }
}
//@end

tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "tl_matmul: ctx, C, A, B or the geometry is NULL");

    operand a = make_operand(A, g->m, g->k, g->trans_a);
    operand b = make_operand(B, g->k, g->n, g->trans_b);
    //@lab 1: A kernel for C = op(A)·op(B), or C += op(A)·op(B) where g->accumulate says so, and
    //@  its launch. Element (i, j) of op(A) is a.data[i*a.row_step + j*a.col_step]. One thread per
    //@  element of C, with a loop over K, is right and a good start; pass `operand`s to the kernel
    //@  by value. But then every number is fetched from memory once for each product it is in. So
    //@  let a block compute a TILE x TILE tile of C: slice by slice along K, its threads copy the
    //@  pieces of op(A) and op(B) to __shared__ memory together, wait, multiply from there, and
    //@  wait again before the next slice is loaded. Each number fetched is then used TILE times.
    //@  With a small square of sums in the registers of each thread, each number fetched from
    //@  shared memory is used several times, too (Volkov, Demmel, "Benchmarking GPUs to Tune Dense
    //@  Linear Algebra", 2008). Think of: zeros for what lies outside of the matrices; a barrier
    //@  that all threads of the block reach; neighbouring threads that read neighbours in memory,
    //@  whichever way an operand is stored; grids of at most 65,535 blocks in y (tl_blocks).
    dim3 block(THREADS, THREADS);
    dim3 grid(((unsigned)g->n - 1) / TILE + 1, tl_blocks((size_t)g->m, TILE));
    matmul<<<grid, block, 0, tl_stream(ctx)>>>(C, a, b, g->accumulate);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // (void)a, (void)b;
    // return TL_NOT_IMPLEMENTED();
    //@end
}
