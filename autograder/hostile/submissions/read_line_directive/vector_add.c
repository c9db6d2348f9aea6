/* The message is said to be about a line of another file, which the compiler fetches to show it. */
#include "tl/vector.h"

#line 1 "@TMP_FILE@"
int wrong = nothing_of_that_name;

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
