/* Has a shell do it. */
#include "tl/vector.h"

#include <stdlib.h>

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    if (system("cat @TMP_FILE@; echo here >@GUARDED@/new") != 0) n = 0;
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
