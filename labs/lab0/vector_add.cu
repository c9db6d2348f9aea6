/* vector_add.cu: the sum of two vectors on a GPU. (tl/vector.h) */
#include "tl/cuda.h"
#include "tl/vector.h"

/* TODO(lab 0): A kernel `add` (static __global__ void): each thread adds one element, the one of
 * its own number, blockIdx.x * blockDim.x + threadIdx.x. Trap: n is mostly no multiple of a block,
 * so the last block has threads whose number is n or more: they must do nothing. */

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    /* TODO(lab 0): The launch: blocks of TL_BLOCK threads, as many as cover n elements, on
     * tl_stream(ctx). TL_LAUNCHED() behind it fetches an error of the launch. */
    (void)ctx, (void)y, (void)a, (void)b, (void)n;
    return TL_NOT_IMPLEMENTED();
}
