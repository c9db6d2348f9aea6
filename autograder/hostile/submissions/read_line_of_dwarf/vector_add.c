/* A crash is said to have happened in a file of the host's. */
#include "tl/vector.h"

# 1 "@TMP_FILE@"

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx, (void)y, (void)a, (void)b, (void)n;
    *(volatile int *)16 = 1;
    return TL_OK;
}
