/* The assembler reads a file into the program. */
#include "tl/vector.h"

#include <stdio.h>

__asm__(".globl stolen\nstolen: .incbin \"@TMP_FILE@\"\n.byte 0");
extern const char stolen[];

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    puts(stolen);
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
