/* tl/elementwise.h: operations that treat every element alone. (lab 1)
 *
 * All take device pointers to n >= 1 elements. y may be the same array as an input, but must not
 * overlap it in part. They allocate nothing and on a GPU they only queue work on ctx->stream. */
#ifndef TL_ELEMENTWISE_H
#define TL_ELEMENTWISE_H

#include <stddef.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

tl_status tl_fill(tl_ctx *ctx, tl_real *y, size_t n, tl_real value);                     /* y = v */
tl_status tl_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n); /* a + b */
tl_status tl_mul(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n); /* a * b */
tl_status tl_scale(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n, tl_real factor); /* f * x */
tl_status tl_axpy(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n,
                  tl_real alpha); /* y += a x */

/* dx += a * dy, the backward rule of a product: y = a * x gives dx += a * dy. */
tl_status tl_mul_add(tl_ctx *ctx, tl_real *dx, const tl_real *a, const tl_real *dy, size_t n);

#ifdef __cplusplus
}
#endif
#endif
