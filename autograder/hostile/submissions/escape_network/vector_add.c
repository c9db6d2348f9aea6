/* Calls somebody on the network. */
#include "tl/vector.h"


struct address {
    unsigned short family;
    unsigned char port[2], host[4], zero[8];
};
extern int socket(int, int, int), connect(int, const void *, unsigned);

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    (void)ctx;
    struct address to = {2, {@PORT@ >> 8, @PORT@ & 255}, {127, 0, 0, 1}, {0}};
    connect(socket(2, 1, 0), &to, sizeof to);
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return TL_OK;
}
