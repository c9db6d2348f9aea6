/* 01_direct.c: rung 1 of conv2d on cpu, convolution without an im2col matrix. */
#include "01_direct.h"

#include "../rungs.h"

/* Multiply-adds below which waking other threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 18 };

/* Pixels of a padded plane up to which the kernels may count in int. */
enum { MOST_PLANE = 1 << 28 };

/* What the kernels can do at all; the rest takes the plain path, which can do everything (under
 * BITS=portable 01_direct_columns.c, for the plain path multiplies by a BLAS). A single tap is a
 * matrix product already, so there is no copy of columns to save. */
int tl_direct_supports(const tl_conv2d_geom *g) {
    return g->stride_h == 1 && g->stride_w == 1 && g->dil_h == 1 && g->dil_w == 1 &&
           g->r <= TL_DIRECT_MAX_TAPS && g->s <= TL_DIRECT_MAX_TAPS && g->r * g->s > 1 &&
           g->pad_h < g->r && g->pad_w < g->s &&
           ((size_t)g->h + 8) * ((size_t)g->w + 8) <= MOST_PLANE;
}

int tl_direct_wanted(const tl_ctx *ctx, const tl_conv2d_geom *g) {
    return tl_conv2d_y_size(g) * tl_conv2d_col_rows(g) < PARALLEL_FROM ? 1 : ctx->threads;
}

tl_direct_sum tl_direct_forward_sum(const tl_conv2d_geom *g, const tl_real *w, const tl_real *b) {
    ptrdiff_t taps = (ptrdiff_t)g->r * g->s;
    return (tl_direct_sum){.n = g->n,
                           .in = g->c,
                           .out = g->k,
                           .h = g->h,
                           .w = g->w,
                           .pad_h = g->pad_h,
                           .pad_w = g->pad_w,
                           .r = g->r,
                           .s = g->s,
                           .p = g->p,
                           .q = g->q,
                           .weights = w,
                           .b = b,
                           .w_out = g->c * taps,
                           .w_in = taps,
                           .w_tap = 1};
}

/* dx[n,c,h,w] += sum over k,r,s of w[k,c,r,s] * dy[n,k, h + pad_h - r, w + pad_w - s]: with r' =
 * R-1-r a convolution of dy, padded by R-1 - pad_h, with the filter turned by 180 degrees. */
tl_direct_sum tl_direct_input_sum(const tl_conv2d_geom *g, const tl_real *w) {
    ptrdiff_t taps = (ptrdiff_t)g->r * g->s;
    return (tl_direct_sum){.n = g->n,
                           .in = g->k,
                           .out = g->c,
                           .h = g->p,
                           .w = g->q,
                           .pad_h = g->r - 1 - g->pad_h,
                           .pad_w = g->s - 1 - g->pad_w,
                           .r = g->r,
                           .s = g->s,
                           .p = g->h,
                           .q = g->w,
                           .weights = w ? w + taps - 1 : NULL,
                           .w_out = taps,
                           .w_in = g->c * taps,
                           .w_tap = -1,
                           .accumulate = 1};
}

static int least(int a, int b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

/* What the three passes need with all threads, as far as there is so much; the plain path, which
 * takes what is not supported, needs all that there is. */
size_t tl_direct_work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g) {
    size_t all = tl_conv2d_work_bytes(g, ctx->ops->column_bytes);
    if (!tl_direct_supports(g)) return all;
    size_t threads = (size_t)tl_direct_wanted(ctx, g), images = (size_t)least((int)threads, g->n);
    tl_direct_sum fwd = tl_direct_forward_sum(g, NULL, NULL), bwd = tl_direct_input_sum(g, NULL);
    size_t sums = most(tl_direct_sum_scratch(&fwd), tl_direct_sum_scratch(&bwd));
    size_t weight = tl_direct_weight_partials(g) + threads * tl_direct_weight_scratch(g);
    size_t bytes = most(images * sums, weight) * sizeof(tl_real);
    return bytes < all ? bytes : all;
}

static size_t work_reals(const tl_ctx *ctx, const tl_conv2d_geom *g) {
    return tl_direct_work_bytes(ctx, g) / sizeof(tl_real);
}

/* Runs `sum` with as many threads as have room in `work`; 0 if there is no room for one. */
static int run_sum(tl_ctx *ctx, const tl_direct_sum *sum, tl_real *y, const tl_real *x,
                   const tl_conv2d_geom *g, void *work) {
    int workers = tl_direct_workers(least(tl_direct_wanted(ctx, g), g->n), work_reals(ctx, g),
                                    tl_direct_sum_scratch(sum));
    if (workers > 0) tl_direct_sum_run(sum, y, x, workers, work);
    return workers;
}

tl_status tl_direct_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "conv2d_fwd, rung 1: ctx, y, x, w, the geometry or work is NULL");
    tl_direct_sum sum = tl_direct_forward_sum(g, w, b);
    if (tl_direct_supports(g) && run_sum(ctx, &sum, y, x, g, work) > 0) return TL_OK;
    if (ctx->ops->portable) return tl_columns_fwd(ctx, y, x, w, b, g, work);
    return tl_conv2d_fwd(ctx, y, x, w, b, g, work);
}

tl_status tl_direct_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "conv2d_bwd_input, rung 1: ctx, dx, dy, w, the geometry or work is NULL");
    tl_direct_sum sum = tl_direct_input_sum(g, w);
    if (tl_direct_supports(g) && run_sum(ctx, &sum, dx, dy, g, work) > 0) return TL_OK;
    if (ctx->ops->portable) return tl_columns_bwd_input(ctx, dx, dy, w, g, work);
    return tl_conv2d_bwd_input(ctx, dx, dy, w, g, work);
}

tl_status tl_direct_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "conv2d_bwd_weight, rung 1: ctx, dw, dy, x, the geometry or work is NULL");
    if (tl_direct_supports(g)) {
        size_t reals = work_reals(ctx, g), partials = tl_direct_weight_partials(g);
        size_t left = reals > partials ? reals - partials : 0;
        int workers =
            tl_direct_workers(tl_direct_wanted(ctx, g), left, tl_direct_weight_scratch(g));
        if (workers > 0) {
            tl_direct_weight_run(g, dw, dy, x, workers, work);
            return TL_OK;
        }
    }
    if (ctx->ops->portable) return tl_columns_bwd_weight(ctx, dw, dy, x, g, work);
    return tl_conv2d_bwd_weight(ctx, dw, dy, x, g, work);
}

/* The sum of one plane: four independent vectors, for an addition takes several cycles. */
static tl_real sum_plane(const tl_real *from, size_t size) {
    const size_t lanes = (size_t)TL_DIRECT_LANES;
    tl_direct_vec sum[4] = {{0}, {0}, {0}, {0}};
    size_t i = 0;
    for (; i + 4 * lanes <= size; i += 4 * lanes)
        for (size_t v = 0; v < 4; v++) sum[v] += tl_direct_load(from + i + v * lanes);
    tl_direct_vec all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    tl_real total = 0;
    for (size_t lane = 0; lane < lanes; lane++) total += all[lane];
    for (; i < size; i++) total += from[i];
    return total;
}

/* Channels are shared out; each is summed by one thread in the order of the images. The total is
 * kept in double: n may be thousands, and it costs one addition a plane. */
tl_status tl_direct_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "conv2d_bwd_bias, rung 1: ctx, db, dy or the geometry is NULL");
    size_t plane = (size_t)g->p * (size_t)g->q;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(ctx->threads) if (tl_conv2d_y_size(g) >= PARALLEL_FROM / 8)
    for (int k = 0; k < g->k; k++) {
        double total = 0;
        for (int n = 0; n < g->n; n++)
            total += (double)sum_plane(dy + ((size_t)n * (size_t)g->k + (size_t)k) * plane, plane);
        db[k] += (tl_real)total;
    }
    return TL_OK;
}

void tl_rung_conv2d_direct(tl_backend *ops) {
    ops->conv2d_fwd = tl_direct_fwd;
    ops->conv2d_bwd_input = tl_direct_bwd_input;
    ops->conv2d_bwd_weight = tl_direct_bwd_weight;
    ops->conv2d_bwd_bias = tl_direct_bwd_bias;
    ops->conv2d_work_bytes = tl_direct_work_bytes;
}
