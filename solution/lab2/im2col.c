/* im2col.c: receptive fields copied into the columns of a matrix, on the CPU (tl/conv2d.h). */
//@lab 2:
#include <string.h>
//@end

#include "tl/conv2d.h"

/* Elements of col below which waking the threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 15 };

//@lab 2:
/* The output columns first <= q < end that read inside the image row, when column q reads pixel
 * q*stride + start. They form one run, so padding needs no test per pixel. It may be empty: padding
 * and dilation can put all that a tap sees outside the image. */
typedef struct run {
    int first, end;
} run;
//@end

//@lab 2:
static run run_inside(int start, int stride, int length, int outputs) {
    /* The smallest q with q*stride + start >= 0, and one more than the largest q with
     * q*stride + start <= length - 1. Written so that no sum can pass INT_MAX at a huge stride. */
    int first = start < 0 ? (-start - 1) / stride + 1 : 0;
    int end = start < length ? (length - 1 - start) / stride + 1 : 0;
    if (end > outputs) end = outputs;
    if (first > end) first = end;
    return (run){first, end};
}
//@end

//@lab 2:
/* One output row: to[q] = image_row[q*stride + start] inside the image, 0 outside. */
static void copy_row(tl_real *to, const tl_real *image_row, int start, int stride, run inside,
                     int q) {
    memset(to, 0, (size_t)inside.first * sizeof *to);
    if (stride == 1 && inside.end > inside.first) {
        memcpy(to + inside.first, image_row + (start + inside.first),
               (size_t)(inside.end - inside.first) * sizeof *to);
    } else {
        for (int j = inside.first; j < inside.end; j++) to[j] = image_row[j * stride + start];
    }
    memset(to + inside.end, 0, (size_t)(q - inside.end) * sizeof *to);
}
//@end

//@lab 2:
/* One image's part of one row of col: what tap (r, s) sees of `plane` at each of P*Q places. */
static void copy_tap(tl_real *to, const tl_real *plane, int r, int s, const tl_conv2d_geom *g) {
    int start = s * g->dil_w - g->pad_w;
    run inside = run_inside(start, g->stride_w, g->w, g->q);
    for (int p = 0; p < g->p; p++, to += g->q) {
        int h = p * g->stride_h - g->pad_h + r * g->dil_h;
        if (h < 0 || h >= g->h)
            memset(to, 0, (size_t)g->q * sizeof *to);
        else
            copy_row(to, plane + (size_t)h * (size_t)g->w, start, g->stride_w, inside, g->q);
    }
}
//@end

tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && col && x && g, TL_EINVAL, "tl_im2col: ctx, col, x or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_im2col: images is %d, must be at least 1", images);

    //@lab 2: Fill col[C*R*S, images*P*Q]. Row (c*R + r)*S + s, column (i*P + p)*Q + q is pixel
    //@  (p*stride_h - pad_h + r*dil_h, q*stride_w - pad_w + s*dil_w) of channel c of image i, or 0
    //@  where that lies outside of the image: tl/conv2d.h has the formula. Loops over row, image,
    //@  p and q that compute it element by element are right. Think of: a tap may see nothing but
    //@  padding, so every element must be written; stride, pad and dilation differ in h and w;
    //@  images*P*Q is the length of a row of col, also when it is not g->n images; indices in
    //@  size_t. Then see which loop is best left to threads, and that within one row of the image
    //@  padding needs no test per pixel.
    size_t plane = (size_t)g->h * (size_t)g->w, taps = (size_t)g->r * (size_t)g->s;
    size_t rows = tl_conv2d_col_rows(g), outputs = tl_conv2d_col_cols(g), n = (size_t)images;
    /* Each pair (row, image) is a piece of col of its own. */
#pragma omp parallel for collapse(2)                                                               \
    num_threads(ctx->threads) if (rows * n * outputs >= PARALLEL_FROM)
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < n; i++) {
            size_t channel = row / taps, tap = row % taps;
            copy_tap(col + (row * n + i) * outputs, x + (i * (size_t)g->c + channel) * plane,
                     (int)tap / g->s, (int)tap % g->s, g);
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
