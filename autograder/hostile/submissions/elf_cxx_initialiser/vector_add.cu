/* C++ runs code before main for whoever asks for a value. */
#include "tl/cuda.h"
#include "tl/vector.h"

#include <stdio.h>

static int early(void) { return puts("ran before main"); }
static int value = early();

static __global__ void add(tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = a[i] + b[i];
}

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    if (value < 0) return TL_EINVAL;
    add<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, a, b, n);
    TL_LAUNCHED();
    return TL_OK;
}
