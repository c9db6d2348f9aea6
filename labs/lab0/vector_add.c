/* vector_add.c: the sum of two vectors. (tl/vector.h) */
#include "tl/vector.h"

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_vector_add: ctx, y, a or b is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_vector_add: n is 0, at least 1 is needed");

    /* TODO(lab 0): y[i] = a[i] + b[i] for every i from 0 to n - 1: a loop of one line. ctx (device,
     * threads, memory) is not needed for it. */
    return TL_NOT_IMPLEMENTED();
}
