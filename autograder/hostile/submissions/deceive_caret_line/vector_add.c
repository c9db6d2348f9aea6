/* A line of the source that a terminal turns around, in the message of a compiler. */
#include "tl/vector.h"

int wrong = nothing_of_that_name; /* ‮ 001/001 :0bal 2J */

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
