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
 * content undefined before and after: nothing is kept in it between calls.
 *
 *   for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
 *        tl_conv2d_next(&part, g)) {
 *       … part.images images from x + part.x, through part.col and part.rows, to y + part.y …
 *   } */
#ifndef TL_CONV2D_H
#define TL_CONV2D_H

#include "tl/context.h"
#include "tl/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Given code: how many images a full chunk has, and the bytes of the workspace; both 0 for a
 * geometry that is NULL or has not passed tl_conv2d_check. */
int tl_conv2d_chunk(const tl_conv2d_geom *g, size_t column_bytes);
size_t tl_conv2d_work_bytes(const tl_conv2d_geom *g, size_t column_bytes);

/* One chunk of images, and where its part of every array lies. The last chunk may have fewer images
 * than the others: its columns and rows then lie closer together. */
typedef struct tl_conv2d_part {
    int images;    /* of this chunk; 0 behind the last one */
    int first;     /* the number of its first image */
    size_t x, y;   /* where that image begins in x (or dx) and y (or dy): elements */
    tl_real *col;  /* scratch for columns [C*R*S, images*P*Q] */
    tl_real *rows; /* scratch for outputs or their gradients as rows [K, images*P*Q], the order in
                    * which the matrix product makes and takes them */
    int most;      /* images of a full chunk */
} tl_conv2d_part;

/* Given code: the first chunk of a batch, and from a chunk to the next one. */
tl_conv2d_part tl_conv2d_first(const tl_conv2d_geom *g, size_t column_bytes, void *work);
void tl_conv2d_next(tl_conv2d_part *part, const tl_conv2d_geom *g);

/* col[C*R*S, images*P*Q] from x[images,C,H,W]; overwrites all of col. g->n plays no part. */
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

/* db[K] += sum over n,p,q of dy[n,k,p,q]: one bias, and one gradient, per output channel. Sums in
 * parts, such as images, and never all places one after the other (see tl_sum). */
tl_status tl_conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g);

#ifdef __cplusplus
}
#endif
#endif
