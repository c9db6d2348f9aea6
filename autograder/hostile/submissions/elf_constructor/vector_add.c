/* A function that runs before main. */
#include "tl/vector.h"

#include <stdio.h>

static __attribute__((constructor)) void early(void) { puts("ran before main"); }

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
