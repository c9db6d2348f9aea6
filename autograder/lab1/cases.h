/* cases.h: what claims of lab 1 do with one call, for a student's own cases, too. Products are in
 * autograder/claim/product.h. */
#ifndef LAB1_CASES_H
#define LAB1_CASES_H

#include "autograder/claim/claim.h"

void expect_offset(claim *c, const call_target *t, int ndim, const int dim[], const int index[]);
void expect_same_shape(claim *c, const call_target *t, int ndim_a, const int a[], int ndim_b,
                       const int b[]);
/* All six operations; with same = 1, 2, 3 those that have inputs, where the result is the first
 * input, the second one, or all are one array. */
void expect_elementwise(claim *c, const call_target *t, size_t n, int same);
/* The sum of everything, of each column, and of each row. */
void expect_all_sums(claim *c, const call_target *t, int rows, int cols);
void expect_maxima(claim *c, const call_target *t, const tl_real *x, int rows, int cols);
void expect_transposed(claim *c, const call_target *t, int rows, int cols);

#endif
