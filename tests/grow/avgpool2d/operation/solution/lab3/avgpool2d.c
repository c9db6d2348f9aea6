/* avgpool2d.c: average pooling, forward and backward, parallel over image planes. (tl/layers.h) */
#include "tl/layers.h"

/* Below this many outputs a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 13 };

//@lab 3:
/* Pixels first .. end-1 of one axis: those of window `at` that lie in the image. */
typedef struct range {
    int first, end;
} range;

static range inside(int at, int length, int stride, int pad, int size) {
    int first = at * stride - pad, end = first + length;
    return (range){first > 0 ? first : 0, end < size ? end : size};
}
//@end

tl_status tl_avgpool2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_pool2d_geom *g) {
    TL_NEED(ctx && y && x && g, TL_EINVAL, "tl_avgpool2d_fwd: ctx, y, x or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: y is the sum of the pixels of its window, divided by r*s, also where part of the
    //@  window is padding: that counts as zeros. Planes may be shared among threads.
    size_t planes = (size_t)g->n * (size_t)g->c, in = (size_t)g->h * (size_t)g->w;

#pragma omp parallel for num_threads(ctx->threads) if (tl_pool2d_y_size(g) >= PARALLEL_FROM)
    for (size_t plane = 0; plane < planes; plane++) {
        for (int out = 0; out < g->p * g->q; out++) {
            range rows = inside(out / g->q, g->r, g->stride_h, g->pad_h, g->h);
            range cols = inside(out % g->q, g->s, g->stride_w, g->pad_w, g->w);
            tl_real sum = 0;
            for (int h = rows.first; h < rows.end; h++)
                for (int w = cols.first; w < cols.end; w++) sum += x[plane * in + h * g->w + w];
            y[plane * (size_t)g->p * (size_t)g->q + (size_t)out] = sum / (tl_real)(g->r * g->s);
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* Windows of one plane may share a pixel, windows of two planes never do: a plane per thread, and
 * the order of the additions is that of the outputs at any number of threads. */
//@end
tl_status tl_avgpool2d_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_pool2d_geom *g) {
    TL_NEED(ctx && dx && dy && g, TL_EINVAL,
            "tl_avgpool2d_bwd: ctx, dx, dy or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: Every pixel of a window receives dy / (r*s), added to what is there. Two windows may
    //@  share a pixel: so which parts of dx may different threads work on?
    size_t planes = (size_t)g->n * (size_t)g->c, in = (size_t)g->h * (size_t)g->w;

#pragma omp parallel for num_threads(ctx->threads) if (tl_pool2d_y_size(g) >= PARALLEL_FROM)
    for (size_t plane = 0; plane < planes; plane++) {
        for (int out = 0; out < g->p * g->q; out++) {
            range rows = inside(out / g->q, g->r, g->stride_h, g->pad_h, g->h);
            range cols = inside(out % g->q, g->s, g->stride_w, g->pad_w, g->w);
            tl_real share = dy[plane * (size_t)g->p * (size_t)g->q + (size_t)out];
            share /= (tl_real)(g->r * g->s);
            for (int h = rows.first; h < rows.end; h++)
                for (int w = cols.first; w < cols.end; w++) dx[plane * in + h * g->w + w] += share;
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
