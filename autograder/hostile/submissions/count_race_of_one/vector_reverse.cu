/* No two threads meet where there is one thread. */
#include "tl/cuda.h"
#include "tl/vector.h"

static __global__ void reverse(tl_real *y, const tl_real *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = x[n - 1 - i];
}

tl_status tl_vector_reverse(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    reverse<<<1, 1, 0, tl_stream(ctx)>>>(y, x, n);
    TL_LAUNCHED();
    return TL_OK;
}
