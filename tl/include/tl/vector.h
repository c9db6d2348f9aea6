/* tl/vector.h: first steps: a sum and a reversal of vectors. (lab 0)
 *
 * TL_EINVAL if a pointer is NULL or n is 0. */
#ifndef TL_VECTOR_H
#define TL_VECTOR_H

#include <stddef.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[i] = a[i] + b[i] for n >= 1 elements, on the cpu and in CUDA. The arrays lie in the device's
 * memory; y may be a or b. */
tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n);

/* y[i] = x[n-1-i] for n >= 1 elements, in CUDA alone; y is another array than x. */
tl_status tl_vector_reverse(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n);

#ifdef __cplusplus
}
#endif
#endif
