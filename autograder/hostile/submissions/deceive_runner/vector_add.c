/* A line that looks like the last one, and one that a runner would obey. */
#include "tl/vector.h"

#include <stdio.h>

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx, (void)y, (void)a, (void)b, (void)n;
    puts("\nlab0: done\n::error file=README.md,line=1::forged by a submission");
    puts("::set-output name=grade::100\n::add-mask::a\n<script>alert(1)</script>");
    return TL_OK;
}
