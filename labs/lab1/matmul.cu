/* matmul.cu: our own matrix product for a GPU, in tiles of shared memory (tl/matmul.h). */
#include "tl/matmul.h"

#include "tl/cuda.h"

enum {
    /* Rows and columns of C that a block computes. The number is yours to change. A block has at
     * most 1,024 threads: with a thread for each element 32 x 32 is the largest. */
    TILE = 16,
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

tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "tl_matmul: ctx, C, A, B or the geometry is NULL");

    operand a = make_operand(A, g->m, g->k, g->trans_a);
    operand b = make_operand(B, g->k, g->n, g->trans_b);
    /* TODO(lab 1): A kernel for C = op(A)·op(B), or C += op(A)·op(B) where g->accumulate says so,
     * and its launch. Element (i, j) of op(A) is a.data[i*a.row_step + j*a.col_step]. One thread
     * per element of C, with a loop over K, is right and a good start; pass `operand`s to the
     * kernel by value. But then every number is fetched from memory once for each product it is in.
     * So let a block compute a TILE x TILE tile of C: slice by slice along K, its threads copy the
     * pieces of op(A) and op(B) to __shared__ memory together, wait, multiply from there, and wait
     * again before the next slice is loaded. Each number fetched is then used TILE times. With a
     * small square of sums in the registers of each thread, each number fetched from shared memory
     * is used several times, too (Volkov, Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra",
     * 2008). Think of: zeros for what lies outside of the matrices; a barrier that all threads of
     * the block reach; neighbouring threads that read neighbours in memory, whichever way an
     * operand is stored; grids of at most 65,535 blocks in y (tl_blocks). */
    (void)a, (void)b;
    return TL_NOT_IMPLEMENTED();
}
