/* reduce.c: sums and maxima of rows, columns or everything, on the CPU (tl/reduce.h). */
//@lab 1:
/* Floating-point addition is not associative: another order gives other bits. Every sum here is cut
 * into pieces whose limits follow from the sizes alone; threads only choose who computes a piece.
 * An OpenMP `reduction` would combine per-thread sums, and so change the bits with the thread
 * count. */
//@end
#include "tl/reduce.h"

//@lab 1:
#include <math.h>
#include <stdbool.h>
//@end

enum {
    //@lab 1:
    LANES = 16,      /* independent partial sums: the compiler keeps them in vector registers */
    LEAF = 1024,     /* elements summed without further halving */
    PARTS = 64,      /* most pieces of tl_sum; fixed, so their sums fit on the stack */
    STRIP = 128,     /* columns that tl_sum_rows adds up at a time */
    BLOCK_ROWS = 64, /* rows summed into one partial sum of tl_sum_rows */
    //@end
    PARALLEL_FROM = 1 << 15, /* elements below which waking the threads costs more than it saves */
};

#define NEED_MATRIX(rows, cols)                                                                    \
    TL_NEED((rows) >= 1 && (cols) >= 1, TL_EINVAL, "%s: x is [%d,%d], sizes must be at least 1",   \
            __func__, (rows), (cols))

//@lab 1:
static tl_real sum_leaf(const tl_real *x, size_t n) {
    tl_real lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lane[l] += x[i + (size_t)l];
    for (int l = 0; i < n; i++, l++) lane[l] += x[i]; /* fewer than LANES are left */

    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}
//@end

//@lab 1:
/* Pairwise summation: the error grows like log n. Halving at a multiple of LANES keeps the leaves
 * free of remainders, except the last one. */
static tl_real sum_pairwise(const tl_real *x, size_t n) {
    if (n <= LEAF) return sum_leaf(x, n);
    size_t half = n / 2 / LANES * LANES;
    return sum_pairwise(x, half) + sum_pairwise(x + half, n - half);
}
//@end

tl_status tl_sum(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_sum: n is 0, at least 1 is needed");

    //@lab 1: y[0] = sum of x[0..n-1]. Floating-point addition is not associative: another order
    //@  gives other bits, and one long chain of additions errs in proportion to n. Add pairwise
    //@  (halve the array, sum the halves, add the two), or in pieces of fixed length; tl/reduce.h
    //@  names the book. If threads share the work, where the pieces begin and the order in which
    //@  their sums are added must follow from n alone: an OpenMP `reduction` would give other bits
    //@  with other numbers of threads.
    size_t length = (n - 1) / PARTS + 1;
    if (length < LEAF) length = LEAF;
    size_t parts = (n - 1) / length + 1;
    tl_real partial[PARTS];
#pragma omp parallel for num_threads(ctx->threads) if (n >= PARALLEL_FROM)
    for (size_t part = 0; part < parts; part++) {
        size_t first = part * length;
        partial[part] = sum_pairwise(x + first, n - first < length ? n - first : length);
    }
    y[0] = sum_pairwise(partial, parts); /* in index order, whichever thread finished first */
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
/* y[0..width-1] = column sums of a strip. Walks along rows, as memory lies; summing one column
 * after the other would touch a new cache line for every element. */
static void sum_strip(tl_real *y, const tl_real *x, int rows, size_t cols, int width) {
    tl_real total[STRIP] = {0};
    for (int block = 0; block < rows; block += BLOCK_ROWS) {
        int count = rows - block < BLOCK_ROWS ? rows - block : BLOCK_ROWS;
        tl_real partial[STRIP] = {0};
        for (int i = 0; i < count; i++) {
            const tl_real *row = x + (size_t)(block + i) * cols;
            for (int j = 0; j < width; j++) partial[j] += row[j];
        }
        for (int j = 0; j < width; j++) total[j] += partial[j];
        if (count < BLOCK_ROWS) break; /* the last block: block + BLOCK_ROWS could pass INT_MAX */
    }
    for (int j = 0; j < width; j++) y[j] = total[j];
}
//@end

tl_status tl_sum_rows(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum_rows: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    //@lab 1: y[j] = sum over i of x[i*cols + j], for each of `cols` columns. One column after the
    //@  other is right, and touches a new cache line for every element: walk along rows, as memory
    //@  lies, and keep the sums of a strip of columns. A strip may be one thread's; cutting a
    //@  column in two may not follow from the number of threads.
    size_t width = (size_t)cols;
    size_t strips = (width - 1) / STRIP + 1;
#pragma omp parallel for num_threads(ctx->threads) if ((size_t)rows * width >= PARALLEL_FROM)
    for (size_t strip = 0; strip < strips; strip++) {
        size_t first = strip * STRIP;
        size_t count = width - first < STRIP ? width - first : STRIP;
        sum_strip(y + first, x + first, rows, width, (int)count);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_sum_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    //@lab 1: y[i] = sum over j of x[i*cols + j], for each of `rows` rows: what you have for tl_sum
    //@  serves here.
    size_t width = (size_t)cols;
#pragma omp parallel for num_threads(ctx->threads) if ((size_t)rows * width >= PARALLEL_FROM)
    for (int i = 0; i < rows; i++) y[i] = sum_pairwise(x + (size_t)i * width, width);
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 1:
/* Whether a later element takes the lead. A NaN wins over every number, or a broken net would look
 * healthy; comparisons with NaN are false, hence the extra test. Equal values leave the first one.
 */
static bool beats(tl_real later, tl_real leader) {
    return later > leader || (isnan(later) && !isnan(leader));
}
//@end

//@lab 1:
static int row_argmax(const tl_real *row, int cols) {
    int best = 0;
    for (int j = 1; j < cols; j++)
        if (beats(row[j], row[best])) best = j;
    return best;
}
//@end

tl_status tl_max_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_max_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    //@lab 1: y[i] = the largest number of row i. A NaN wins over every number, or a broken net
    //@  would look healthy: what do comparisons with NaN say? Trap: a maximum that starts at 0.
    size_t width = (size_t)cols;
#pragma omp parallel for num_threads(ctx->threads) if ((size_t)rows * width >= PARALLEL_FROM)
    for (int i = 0; i < rows; i++) {
        const tl_real *row = x + (size_t)i * width;
        y[i] = row[row_argmax(row, cols)];
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_argmax_cols(tl_ctx *ctx, int32_t *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_argmax_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    //@lab 1: y[i] = the index of the largest number of row i, by the same rule; of several equal
    //@  ones the smallest index.
    size_t width = (size_t)cols;
#pragma omp parallel for num_threads(ctx->threads) if ((size_t)rows * width >= PARALLEL_FROM)
    for (int i = 0; i < rows; i++) y[i] = row_argmax(x + (size_t)i * width, cols);
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
