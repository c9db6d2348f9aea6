/* vector_add.cu: the sum of two vectors on a GPU. (tl/vector.h) */
#include "tl/cuda.h"
#include "tl/vector.h"

/* TODO(lab 0): A kernel `add` (static __global__ void): each thread adds one element, the one of
 * its own number, blockIdx.x * blockDim.x + threadIdx.x. Trap: n is mostly no multiple of a block,
 * so the last block has threads whose number is n or more: they must do nothing. */

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    TL_NEED(ctx && y && a && b, TL_EINVAL, "tl_vector_add: ctx, y, a or b is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_vector_add: n is 0, at least 1 is needed");

    /* TODO(lab 0): The launch: blocks of TL_BLOCK threads, as many as cover n elements, on
     * tl_stream(ctx). TL_LAUNCHED() behind it fetches an error of the launch. */
    return TL_NOT_IMPLEMENTED();
}
