/* The compiler shows the line of the file that it stumbles over. */
#include "tl/vector.h"

#include "@TMP_FILE@"

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
