/* col2im.c: the adjoint of im2col, on the CPU (tl/conv2d.h). */
//@lab 2:
/* im2col copies a pixel to many places; its adjoint adds those places up. Walking over col and
 * adding to dx would make threads meet in one pixel. Walking over rows of dx instead, and
 * collecting for each the places that were copied from it, gives every pixel one writer and one
 * order of addition. */
//@end
#include "tl/conv2d.h"

/* Elements of col below which waking the threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 15 };

//@lab 2:
/* The output row that reads image row h through filter row r, or -1 if none does: solves
 * h = p*stride_h - pad_h + r*dil_h for a whole p in 0 .. P-1. */
static int output_row(int h, int r, const tl_conv2d_geom *g) {
    int distance = h + g->pad_h - r * g->dil_h;
    if (distance < 0 || distance % g->stride_h != 0) return -1;
    int p = distance / g->stride_h;
    return p < g->p ? p : -1;
}
//@end

//@lab 2:
/* dx_row[w] += from[q] for every output column q that reads pixel w = q*stride_w - pad_w + s*dil_w
 * of this row. The q that read inside the image form one run, first .. end-1, maybe an empty one:
 * what lies outside it came from the padding and is dropped. */
static void add_output_row(tl_real *restrict dx_row, const tl_real *restrict from, int s,
                           const tl_conv2d_geom *g) {
    int start = s * g->dil_w - g->pad_w, stride = g->stride_w;
    int first = start < 0 ? (-start - 1) / stride + 1 : 0;
    int end = start < g->w ? (g->w - 1 - start) / stride + 1 : 0;
    if (end > g->q) end = g->q;
    if (stride == 1) /* the same sum; a unit step known when compiling lets it vectorise */
        for (int q = first; q < end; q++) dx_row[q + start] += from[q];
    else
        for (int q = first; q < end; q++) dx_row[q * stride + start] += from[q];
}
//@end

//@lab 2:
/* All that row h of one image plane collects. `col` is row (c, 0, 0) of the matrix, at this image;
 * row_step is the distance to the next row of the matrix. */
static void gather_row(tl_real *dx_row, const tl_real *col, size_t row_step, int h,
                       const tl_conv2d_geom *g) {
    for (int r = 0; r < g->r; r++) {
        int p = output_row(h, r, g);
        if (p < 0) continue;
        for (int s = 0; s < g->s; s++) {
            size_t tap = (size_t)r * (size_t)g->s + (size_t)s;
            add_output_row(dx_row, col + tap * row_step + (size_t)p * (size_t)g->q, s, g);
        }
    }
}
//@end

tl_status tl_col2im(tl_ctx *ctx, tl_real *dx, const tl_real *col, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && dx && col && g, TL_EINVAL, "tl_col2im: ctx, dx, col or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_col2im: images is %d, must be at least 1", images);

    //@lab 2: The adjoint of im2col: im2col copies a pixel to many places of col; here every pixel
    //@  of dx gets the sum of those places added to what it holds. Places that came from the
    //@  padding are dropped. The formula of tl/conv2d.h, read backwards: which outputs p saw row h
    //@  through filter row r? Solve h = p*stride_h - pad_h + r*dil_h for p. It must be a whole
    //@  number, and lie in 0 .. P-1. Loop over pixels and gather: if threads walked over col and
    //@  added to dx instead, two of them would meet in one pixel. Traps: % of a negative number;
    //@  an index that is changed within the loop that counts it; dx is added to, never
    //@  overwritten.
    size_t channels = (size_t)g->c, height = (size_t)g->h, taps = (size_t)g->r * (size_t)g->s;
    size_t outputs = tl_conv2d_col_cols(g), row_step = (size_t)images * outputs;
    size_t planes = (size_t)images * channels;
#pragma omp parallel for collapse(2)                                                               \
    num_threads(ctx->threads) if (tl_conv2d_col_rows(g) * row_step >= PARALLEL_FROM)
    for (size_t plane = 0; plane < planes; plane++) {
        for (size_t h = 0; h < height; h++) {
            size_t i = plane / channels, c = plane % channels;
            gather_row(dx + (plane * height + h) * (size_t)g->w,
                       col + c * taps * row_step + i * outputs, row_step, (int)h, g);
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
