/* tl/geometry.h: the sizes of an operation, checked once and then passed as one pointer.
 *
 * Names follow Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning" (2014), table 1:
 * N images of C channels, H x W pixels; K filters of R x S taps; outputs of P x Q pixels.
 * All tensors are contiguous, in the order of their index list: x[n,c,h,w] lies at
 * ((n*C + c)*H + h)*W + w. Sizes are int; offsets and products are size_t. */
#ifndef TL_GEOMETRY_H
#define TL_GEOMETRY_H

#include <stddef.h>

#include "tl/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C[m,n] (+)= op(A)[m,k] · op(B)[k,n], all row-major. A is stored [m,k], or [k,m] if trans_a;
 * B is stored [k,n], or [n,k] if trans_b. accumulate: 0 overwrites C, 1 adds to it. */
typedef struct tl_matmul_geom {
    int m, n, k;
    int trans_a, trans_b;
    int accumulate;
} tl_matmul_geom;

/* Convolution (cross-correlation, as everywhere in deep learning). The caller fills all but p, q.
 *   y[n,k,p,q] = b[k] + sum_{c,r,s} w[k,c,r,s] * x[n,c, p*stride_h - pad_h + r*dil_h,
 *                                                    q*stride_w - pad_w + s*dil_w]
 * where x is 0 outside the image. pad is zero pixels per side; stride and dilation are >= 1. */
typedef struct tl_conv2d_geom {
    int n, c, h, w;
    int k, r, s;
    int stride_h, stride_w;
    int pad_h, pad_w;
    int dil_h, dil_w;
    int p, q; /* set by tl_conv2d_check: p = (h + 2*pad_h - dil_h*(r-1) - 1) / stride_h + 1 */
} tl_conv2d_geom;

/* Max pooling over R x S windows, each channel alone. The caller fills all but p, q. A window may
 * hang over the edge by the padding, which never wins; pad < window (pad_h < r, pad_w < s), so no
 * window is empty. */
typedef struct tl_pool2d_geom {
    int n, c, h, w;
    int r, s;
    int stride_h, stride_w;
    int pad_h, pad_w;
    int p, q; /* set by tl_pool2d_check: p = (h + 2*pad_h - r) / stride_h + 1 */
} tl_pool2d_geom;

/* y[n,out] = x[n,in] · wᵀ + b, with w stored [out,in] as PyTorch does. */
typedef struct tl_linear_geom {
    int n, in, out;
} tl_linear_geom;

/* Each check returns TL_EINVAL with a line that names the offending number when a size is below 1,
 * a padding is negative, an output would be empty, or a product of sizes does not fit; otherwise it
 * fills the derived fields. Operations take only geometry that has passed its check. */
tl_status tl_matmul_check(const tl_matmul_geom *g);
tl_status tl_conv2d_check(tl_conv2d_geom *g);
tl_status tl_pool2d_check(tl_pool2d_geom *g);
tl_status tl_linear_check(const tl_linear_geom *g);
/* For who only reads a geometry: whether it is as its check left it, p and q included. */
tl_status tl_conv2d_checked(const tl_conv2d_geom *g);
tl_status tl_pool2d_checked(const tl_pool2d_geom *g);

/* Rows and columns of the im2col matrix of one image: [C*R*S, P*Q]. */
static inline size_t tl_conv2d_col_rows(const tl_conv2d_geom *g) {
    return (size_t)g->c * (size_t)g->r * (size_t)g->s;
}
static inline size_t tl_conv2d_col_cols(const tl_conv2d_geom *g) {
    return (size_t)g->p * (size_t)g->q;
}

/* Element counts of the four tensors of a convolution. */
static inline size_t tl_conv2d_x_size(const tl_conv2d_geom *g) {
    return (size_t)g->n * (size_t)g->c * (size_t)g->h * (size_t)g->w;
}
static inline size_t tl_conv2d_y_size(const tl_conv2d_geom *g) {
    return (size_t)g->n * (size_t)g->k * (size_t)g->p * (size_t)g->q;
}
static inline size_t tl_conv2d_w_size(const tl_conv2d_geom *g) {
    return (size_t)g->k * tl_conv2d_col_rows(g);
}
static inline size_t tl_pool2d_x_size(const tl_pool2d_geom *g) {
    return (size_t)g->n * (size_t)g->c * (size_t)g->h * (size_t)g->w;
}
static inline size_t tl_pool2d_y_size(const tl_pool2d_geom *g) {
    return (size_t)g->n * (size_t)g->c * (size_t)g->p * (size_t)g->q;
}

#ifdef __cplusplus
}
#endif
#endif
