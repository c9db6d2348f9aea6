/* reduce.c: sums and maxima of rows, columns or everything, on the CPU (tl/reduce.h). */
#include "tl/reduce.h"

enum {
    PARALLEL_FROM = 1 << 15, /* elements below which waking the threads costs more than it saves */
};

#define NEED_MATRIX(rows, cols)                                                                    \
    TL_NEED((rows) >= 1 && (cols) >= 1, TL_EINVAL, "%s: x is [%d,%d], sizes must be at least 1",   \
            __func__, (rows), (cols))

tl_status tl_sum(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_sum: n is 0, at least 1 is needed");

    /* TODO(lab 1): y[0] = sum of x[0..n-1]. Floating-point addition is not associative: another
     * order gives other bits, and one long chain of additions errs in proportion to n. Add pairwise
     * (halve the array, sum the halves, add the two), or in pieces of fixed length; tl/reduce.h
     * names the book. If threads share the work, where the pieces begin and the order in which
     * their sums are added must follow from n alone: an OpenMP `reduction` would give other bits
     * with other numbers of threads. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_sum_rows(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum_rows: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    /* TODO(lab 1): y[j] = sum over i of x[i*cols + j], for each of `cols` columns. One column after
     * the other is right, and touches a new cache line for every element: walk along rows, as
     * memory lies, and keep the sums of a strip of columns. A strip may be one thread's; cutting a
     * column in two may not follow from the number of threads. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_sum_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_sum_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    /* TODO(lab 1): y[i] = sum over j of x[i*cols + j], for each of `rows` rows: what you have for
     * tl_sum serves here. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_max_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_max_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    /* TODO(lab 1): y[i] = the largest number of row i. A NaN wins over every number, or a broken
     * net would look healthy: what do comparisons with NaN say? Trap: a maximum that starts at 0.
     */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_argmax_cols(tl_ctx *ctx, int32_t *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_argmax_cols: ctx, y or x is NULL");
    NEED_MATRIX(rows, cols);

    /* TODO(lab 1): y[i] = the index of the largest number of row i, by the same rule; of several
     * equal ones the smallest index. */
    return TL_NOT_IMPLEMENTED();
}
