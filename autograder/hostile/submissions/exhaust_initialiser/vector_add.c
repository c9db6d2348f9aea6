/* An object of a gigabyte. */
#include "tl/vector.h"

char large[1 << 30] = {1};

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    y[0] = large[n & 1];
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
