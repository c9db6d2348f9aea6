/* product.h: what the student's matrix product and that of a BLAS must both do. */
#ifndef TESTS_PRODUCT_H
#define TESTS_PRODUCT_H

#include "autograder/call/call_ops.h"
#include "claim.h"
#include "device_claims.h"

typedef void (*product_call)(call_where, call_report *, tl_real *, const tl_real *, const tl_real *,
                             const tl_matmul_geom *);

/* C = op(A) op(B), or C += …, of one size, against the definition. */
void expect_product(claim *c, const call_target *t, const char *name, product_call call,
                    const tl_matmul_geom *g);

/* The same on all targets and for all sizes. */
void expect_products(claim *c, const char *name, product_call call, int trans_a, int trans_b,
                     int accumulate);

/* Operands that hold infinities beside numbers: where one stands in a sum, the sum is infinite, and
 * no zero that fills up a tile or a slice may meet it. */
void expect_infinite_product(claim *c, const char *name, product_call call);

/* The same for one size off every tile, also with launches that fail, and where
 * it may only queue work. */
void expect_small_product(claim *c, const call_target *t, const char *name, product_call call);

/* Products large enough for threads to share: wide, and with long sums (threads_call). */
enum { PRODUCTS_OF_THREADS = 2 };
threads_result product_of_threads(claim *c, const call_target *t, const char *name,
                                  product_call call, int which);

#endif
