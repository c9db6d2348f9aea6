/* maxpool2d.c: max pooling, forward and backward, parallel over image planes. (tl/layers.h) */
#include "tl/layers.h"

/* Below this many outputs a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 13 };

//@lab 3:
/* Whether v takes the place of best: of equal values the first stays, and so does the first NaN,
 * which wins over every number because !(NaN <= best) holds. */
static inline int beats(tl_real v, tl_real best) { return !(v <= best) && !isnan(best); }
//@end

//@lab 3:
/* One row of outputs for windows of 2x2 pixels side by side, the usual case: the four candidates
 * a b / c d have fixed places, so that no branch is left and the compiler vectorises the loop. */
static void row_2x2(tl_real *restrict y, int32_t *restrict argmax, const tl_real *restrict x,
                    int32_t first, int w, int q) {
    for (int j = 0; j < q; j++) {
        int32_t at = first + 2 * j, best_at = at;
        tl_real a = x[at], b = x[at + 1], c = x[at + w], d = x[at + w + 1], best = a;
        best_at = beats(b, best) ? at + 1 : best_at;
        best = beats(b, best) ? b : best;
        best_at = beats(c, best) ? at + w : best_at;
        best = beats(c, best) ? c : best;
        best_at = beats(d, best) ? at + w + 1 : best_at;
        best = beats(d, best) ? d : best;
        y[j] = best;
        argmax[j] = best_at;
    }
}
//@end

//@lab 3:
/* One output of any window: rows h0..h1-1, columns w0..w1-1 of the plane, no padding. */
static void window(tl_real *y, int32_t *argmax, const tl_real *x, int h0, int h1, int w0, int w1,
                   int w) {
    int32_t at = h0 * w + w0;
    for (int h = h0; h < h1; h++) {
        for (int32_t i = h * w + w0; i < h * w + w1; i++) {
            if (beats(x[i], x[at])) at = i;
        }
    }
    *y = x[at];
    *argmax = at;
}
//@end

//@lab 3:
/* Output row p of one plane; the window is cut to the image, so that padding cannot win. */
static void row(tl_real *y, int32_t *argmax, const tl_real *x, int p, const tl_pool2d_geom *g) {
    int top = p * g->stride_h - g->pad_h;
    int h0 = top > 0 ? top : 0, h1 = top + g->r < g->h ? top + g->r : g->h;
    for (int q = 0; q < g->q; q++) {
        int left = q * g->stride_w - g->pad_w;
        int w0 = left > 0 ? left : 0, w1 = left + g->s < g->w ? left + g->s : g->w;
        window(y + q, argmax + q, x, h0, h1, w0, w1, g->w);
    }
}
//@end

tl_status tl_maxpool2d_fwd(tl_ctx *ctx, tl_real *y, int32_t *argmax, const tl_real *x,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && y && argmax && x && g, TL_EINVAL,
            "tl_maxpool2d_fwd: ctx, y, argmax, x or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: For each output (p, q) of each plane: y is the largest x in the window of r x s
    //@  pixels whose corner is (p*stride_h - pad_h, q*stride_w - pad_w), argmax its offset h*W + w
    //@  within the plane. Of equal values the first in row-major order wins; a NaN wins over
    //@  numbers. Traps: padding is not a zero that could win: think of a window of negative
    //@  numbers; a maximum that starts at 0; windows overlap where the stride is smaller than the
    //@  window. Planes may be shared among threads.
    size_t planes = (size_t)g->n * (size_t)g->c, in = (size_t)g->h * (size_t)g->w;
    int side_by_side = g->r == 2 && g->s == 2 && g->stride_h == 2 && g->stride_w == 2 &&
                       g->pad_h == 0 && g->pad_w == 0;

#pragma omp parallel for num_threads(ctx->threads) if (tl_pool2d_y_size(g) >= PARALLEL_FROM)
    for (size_t plane = 0; plane < planes; plane++) {
        for (int p = 0; p < g->p; p++) {
            size_t out = (plane * (size_t)g->p + (size_t)p) * (size_t)g->q;
            const tl_real *image = x + plane * in;
            if (side_by_side) {
                row_2x2(y + out, argmax + out, image, 2 * p * g->w, g->w, g->q);
            } else {
                row(y + out, argmax + out, image, p, g);
            }
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* Windows of one plane may share a winner, windows of two planes never do: with a plane per thread
 * the additions need no atomics, and the order is that of the outputs at any number of threads. */
//@end
tl_status tl_maxpool2d_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const int32_t *argmax,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && dx && dy && argmax && g, TL_EINVAL,
            "tl_maxpool2d_bwd: ctx, dx, dy, argmax or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: Each dy goes to the one pixel that argmax names, and is added there. Nothing is
    //@  searched again: of two equal maxima only the saved one is paid. Where windows overlap, two
    //@  outputs may have the same winner: so which parts of dx may different threads work on?
    size_t planes = (size_t)g->n * (size_t)g->c, in = (size_t)g->h * (size_t)g->w;
    size_t out = (size_t)g->p * (size_t)g->q;

#pragma omp parallel for num_threads(ctx->threads) if (planes * out >= PARALLEL_FROM)
    for (size_t plane = 0; plane < planes; plane++) {
        tl_real *image = dx + plane * in;
        for (size_t i = plane * out; i < (plane + 1) * out; i++) image[argmax[i]] += dy[i];
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
