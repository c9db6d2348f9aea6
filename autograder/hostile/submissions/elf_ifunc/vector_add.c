/* A function that the loader calls to find another one. */
#include "tl/vector.h"

#include <stdio.h>

static int one(void) { return 1; }
static void *choose(void) { return (void *)one; }
static int chosen(void) __attribute__((ifunc("choose")));

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    if (chosen() != 1) return TL_EINVAL;
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
