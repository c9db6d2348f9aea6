/* tl/reduce.h: sums and maxima over rows, columns or everything. (lab 1)
 *
 * x is a row-major matrix [rows, cols]. Sums are formed in a fixed order that depends on the sizes
 * only (fixed chunks combined in index order, no atomics, no OpenMP reduction), so the bits do not
 * depend on the number of threads. Outputs are overwritten and do not overlap inputs. */
#ifndef TL_REDUCE_H
#define TL_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[0] = sum of x[0..n-1], n >= 1. Sums pairwise or in chunks: the error grows like log n or
 * n/chunk, not like n (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2). So does
 * tl_sum_cols with each row. */
tl_status tl_sum(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n);

tl_status tl_sum_rows(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols); /* y[cols] */
tl_status tl_sum_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols); /* y[rows] */
tl_status tl_max_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols); /* y[rows] */

/* y[row] = the smallest column index at which the row's maximum stands. In both, a NaN wins over
 * every number, and of several the first: a net that has diverged must show. */
tl_status tl_argmax_cols(tl_ctx *ctx, int32_t *y, const tl_real *x, int rows, int cols);

#ifdef __cplusplus
}
#endif
#endif
