/* Five megabytes of text in each call, and the right numbers. */
#include "tl/vector.h"

#include <stdio.h>

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    for (int i = 0; i < 80000; i++)
        puts("more and more and more and more and more and more and more and more");
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
