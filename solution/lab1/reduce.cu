/* reduce.cu: sums and maxima of rows, columns or everything, on a GPU (tl/reduce.h). */
//@lab 1:
/* Floating-point addition is not associative: another order gives other bits. Here each thread adds
 * up its own elements in index order, and the threads of a block are then combined as a tree; who
 * adds what follows from the sizes alone. Atomics would add in the order in which threads happen to
 * arrive, which differs from run to run. */
//@end
#include "tl/reduce.h"

#include "tl/cuda.h"

//@lab 1:
enum {
    SUM_THREADS = 1024, /* the one block of tl_sum: as many as a block can have */
    ROW_THREADS = 256,  /* one block per row of tl_sum_cols, tl_max_cols, tl_argmax_cols */
    WIDTH = 32,         /* columns of a block of tl_sum_rows: neighbours in memory ... */
    LANES = 16,         /* ... and the rows that it adds at the same time */
};
//@end

#define NEED_MATRIX(rows, cols)                                                                    \
    TL_NEED((rows) >= 1 && (cols) >= 1, TL_EINVAL, "%s: x is [%d,%d], sizes must be at least 1",   \
            __func__, (rows), (cols))

//@lab 1:
/* Adds one number of each thread; all threads get the sum. Half of the threads add the other half's
 * numbers to theirs, then a quarter, and so on: log2(threads) steps, with a barrier after each
 * because the next one reads what other threads have written. */
template <unsigned threads> static __device__ tl_real block_sum(tl_real value) {
    __shared__ tl_real part[threads];
    part[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}
//@end

//@lab 1:
/* n numbers by one block, so that no second kernel and no scratch is needed to combine blocks. */
static __global__ void sum(tl_real *y, const tl_real *x, size_t n) {
    tl_real mine = 0;
    for (size_t i = threadIdx.x; i < n; i += SUM_THREADS) mine += x[i];
    tl_real total = block_sum<SUM_THREADS>(mine);
    if (threadIdx.x == 0) y[0] = total;
}
//@end

tl_status tl_sum(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_sum: n is 0, at least 1 is needed");
    //@lab 1: y[0] = sum of x[0..n-1]: a kernel above, its launch here. Start with one block of as
    //@  many threads as you like: each adds up elements of its own in a fixed order, writes its
    //@  sum to __shared__ memory, and then half of the threads add the other half's sums to
    //@  theirs, a quarter, and so on. Think of: a barrier after each of these steps, reached by
    //@  all threads; atomics, which would add in the order in which threads happen to arrive, and
    //@  so give other bits from run to run.
    sum<<<1, SUM_THREADS, 0, tl_stream(ctx)>>>(y, x, n);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
/* WIDTH columns per block. Threads of equal threadIdx.y read along a row, as memory lies; each adds
 * every LANES-th row of its column, and the first lane then combines the lanes in order. */
static __global__ void sum_rows(tl_real *y, const tl_real *x, size_t rows, size_t cols) {
    __shared__ tl_real part[LANES][WIDTH];
    size_t j = (size_t)blockIdx.x * WIDTH + threadIdx.x;
    tl_real mine = 0;
    if (j < cols)
        for (size_t i = threadIdx.y; i < rows; i += LANES) mine += x[i * cols + j];
    part[threadIdx.y][threadIdx.x] = mine;
    __syncthreads(); /* reached by all threads, also by those beyond the last column */

    if (threadIdx.y == 0 && j < cols) {
        tl_real total = 0;
        for (int lane = 0; lane < LANES; lane++) total += part[lane][threadIdx.x];
        y[j] = total;
    }
}
//@end

tl_status tl_sum_rows(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum_rows: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);
    //@lab 1: y[j] = sum over i of x[i*cols + j]. Neighbouring threads should read neighbours in
    //@  memory, so give them neighbouring columns; several rows at the same time keep the GPU
    //@  busy, and are then combined in a fixed order. Threads beyond the last column must still
    //@  come to the barrier.
    dim3 block(WIDTH, LANES);
    unsigned blocks = ((unsigned)cols - 1) / WIDTH + 1;
    sum_rows<<<blocks, block, 0, tl_stream(ctx)>>>(y, x, (size_t)rows, (size_t)cols);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
static __global__ void sum_cols(tl_real *y, const tl_real *x, size_t cols) {
    const tl_real *row = x + blockIdx.x * cols;
    tl_real mine = 0;
    for (size_t j = threadIdx.x; j < cols; j += ROW_THREADS) mine += row[j];
    tl_real total = block_sum<ROW_THREADS>(mine);
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
//@end

tl_status tl_sum_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);
    //@lab 1: y[i] = sum over j of x[i*cols + j]: a block per row, and in it what tl_sum does.
    //@  Launch `rows` blocks: in x a grid may have 2^31 - 1 of them. tl_blocks would give fewer,
    //@  when graded 3 at most; one thread of each block writes, so 3 threads would write all of
    //@  y, which the grader calls not parallel. With few blocks give each several rows at once,
    //@  where rows are short a thread to each row.
    sum_cols<<<(unsigned)rows, ROW_THREADS, 0, tl_stream(ctx)>>>(y, x, (size_t)cols);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
/* Whether element i of the row takes the lead from element j. A NaN wins over every number, or a
 * broken net would look healthy; among equals the first wins. This orders all elements, so that
 * threads may compare them in any order. */
static __device__ bool leads(const tl_real *row, int i, int j) {
    tl_real a = row[i], b = row[j];
    if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || i < j);
    return a > b || (a == b && i < j);
}
//@end

//@lab 1:
/* The leader of a row, for all threads of the block. A thread without elements of its own votes for
 * element 0, which is never wrong. */
static __device__ int row_argmax(const tl_real *row, int cols) {
    __shared__ int leader[ROW_THREADS];
    int best = 0;
    for (size_t j = threadIdx.x; j < (size_t)cols; j += ROW_THREADS)
        if (leads(row, (int)j, best)) best = (int)j;
    leader[threadIdx.x] = best;
    __syncthreads();
    for (unsigned half = ROW_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half && leads(row, leader[threadIdx.x + half], leader[threadIdx.x]))
            leader[threadIdx.x] = leader[threadIdx.x + half];
        __syncthreads();
    }
    return leader[0];
}
//@end

//@lab 1:
static __global__ void max_cols(tl_real *y, const tl_real *x, int cols) {
    const tl_real *row = x + (size_t)blockIdx.x * (size_t)cols;
    int best = row_argmax(row, cols);
    if (threadIdx.x == 0) y[blockIdx.x] = row[best];
}
//@end

tl_status tl_max_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_max_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);
    //@lab 1: y[i] = the largest number of row i; a NaN wins over every number. As for sums, but
    //@  threads combine indices instead of numbers, so that tl_argmax_cols can use the same: the
    //@  rule by which one index beats another must give the same winner in any order of
    //@  comparison. What does a thread contribute that has no element of its own? The grid is
    //@  that of tl_sum_cols.
    max_cols<<<(unsigned)rows, ROW_THREADS, 0, tl_stream(ctx)>>>(y, x, cols);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
static __global__ void argmax_cols(int32_t *y, const tl_real *x, int cols) {
    int best = row_argmax(x + (size_t)blockIdx.x * (size_t)cols, cols);
    if (threadIdx.x == 0) y[blockIdx.x] = best;
}
//@end

tl_status tl_argmax_cols(tl_ctx *ctx, int32_t *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_argmax_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);
    //@lab 1: y[i] = the index of the winner of row i by the same rule; of several equal numbers
    //@  the one with the smallest index wins.
    argmax_cols<<<(unsigned)rows, ROW_THREADS, 0, tl_stream(ctx)>>>(y, x, cols);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
