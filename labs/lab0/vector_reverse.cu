/* vector_reverse.cu: a vector backwards, block by block through shared memory. (tl/vector.h) */
#include "tl/cuda.h"
#include "tl/vector.h"

/* A block fetches its piece of x into shared memory and writes it backwards to the other end of y.
 * So both fetching and writing run along memory, and the turning costs nothing. */
static __global__ void reverse(tl_real *y, const tl_real *x, size_t n) {
    __shared__ tl_real piece[TL_BLOCK];
    size_t start = (size_t)blockIdx.x * TL_BLOCK;
    size_t count = n - start < (size_t)TL_BLOCK ? n - start : (size_t)TL_BLOCK;
    size_t t = threadIdx.x;
    if (t < count) piece[t] = x[start + t];
    /* TODO(lab 0): This kernel is given, and it is wrong: something is missing. `make grade LAB=0`
     * says what the checkers saw, and in which line. Think about which thread wrote what this one
     * is going to read. */
    if (t < count) y[n - start - count + t] = piece[count - 1 - t];
}

tl_status tl_vector_reverse(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_vector_reverse: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_vector_reverse: n is 0, at least 1 is needed");

    size_t blocks = (n - 1) / TL_BLOCK + 1;
    reverse<<<(unsigned)blocks, TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, n);
    TL_LAUNCHED();
    return TL_OK;
}
