/* tl/conv2d.h: two-dimensional convolution through an im2col matrix. (lab 2)
 *
 * Method: Chellapilla, Puri, Simard, "High Performance Convolutional Neural Networks for Document
 * Processing" (2006), section 4. Geometry and its letters: tl/geometry.h.
 *
 * im2col copies each receptive field into one column of col[C*R*S, n*P*Q]; row (c*R + r)*S + s and
 * column (i*P + p)*Q + q hold x[i,c, p*stride_h - pad_h + r*dil_h, q*stride_w - pad_w + s*dil_w],
 * or 0 where that lies outside the image. Then y = w[K, C*R*S] · col: one matrix product for n
 * images.
 *
 * Workspace. Columns of a whole batch can be gigabytes, so they are formed for a chunk of images at
 * a time: as many as fit the device's ctx->ops->column_bytes, at least one, at most g->n. `work` is
 * scratch of tl_conv2d_work_bytes(g, column_bytes) bytes in device memory, aligned to 256 bytes,
 * content undefined before and after: nothing is kept in it between calls. */
#ifndef TL_CONV2D_H
#define TL_CONV2D_H

#include "tl/context.h"
#include "tl/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Given code: images per chunk, and the bytes of its two pieces of scratch: first the columns
 * [C*R*S, chunk*P*Q], then at byte tl_conv2d_rows_offset the outputs or output gradients of the
 * chunk as rows [K, chunk*P*Q], the order in which the matrix product makes and takes them. */
int tl_conv2d_chunk(const tl_conv2d_geom *g, size_t column_bytes);
size_t tl_conv2d_rows_offset(const tl_conv2d_geom *g, size_t column_bytes);
size_t tl_conv2d_work_bytes(const tl_conv2d_geom *g, size_t column_bytes);

/* col[C*R*S, images*P*Q] from x[images,C,H,W]; overwrites all of col. g->n is not used. */
tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g);

/* The adjoint of im2col: dx[images,C,H,W] += every element of col at the pixel it was copied from;
 * elements that came from the padding are dropped. Each pixel has one writer, which gathers: no
 * atomics, and one order of addition at any number of threads. */
tl_status tl_col2im(tl_ctx *ctx, tl_real *dx, const tl_real *col, int images,
                    const tl_conv2d_geom *g);

/* y[N,K,P,Q] = conv(x[N,C,H,W], w[K,C,R,S]) + b[K]; overwrites y. b may be NULL: no bias. */
tl_status tl_conv2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work);

/* dx[N,C,H,W] += sum over k,r,s of w * dy, through wᵀ · dy and col2im. */
tl_status tl_conv2d_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_conv2d_geom *g, void *work);

/* dw[K,C,R,S] += sum over n,p,q of dy * x, through dy · colᵀ, chunk by chunk in index order. */
tl_status tl_conv2d_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_conv2d_geom *g, void *work);

/* db[K] += sum over n,p,q of dy[n,k,p,q]: one bias, and one gradient, per output channel. */
tl_status tl_conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g);

#ifdef __cplusplus
}
#endif
#endif
