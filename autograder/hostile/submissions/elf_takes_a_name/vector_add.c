/* Takes the place of a function by which the worker answers. */
#include "tl/vector.h"

#include <stdio.h>

long write(int file, const void *bytes, unsigned long count);
long write(int file, const void *bytes, unsigned long count) {
    (void)file, (void)bytes;
    return (long)count;
}

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
