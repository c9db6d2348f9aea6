/* 02_channels.c: rung 2 of conv2d on cpu, convolution in blocks of channels.
 *
 *   02_channels_pixels.c   forward and dx
 *   02_channels_weight.c   dw
 *   02_channels_pack.c     from planes to blocks of channels, and back
 *
 * Here: which layers these kernels take, and with how many threads; rung 1 has the others. */
#include "02_channels.h"

#include "../rungs.h"

/* Pixels of a padded plane up to which the kernels may count in int, block by block. */
enum { MOST_PLANE = 1 << 24 };

int tl_channels_supports(const tl_conv2d_geom *g) {
    return tl_direct_supports(g) && g->c >= TL_CHANNELS && g->k >= TL_CHANNELS &&
           ((size_t)g->h + 8) * ((size_t)g->w + 8) <= MOST_PLANE;
}

static int least(int a, int b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

static size_t sum_reals(const tl_channels_kernels *k, const tl_direct_sum *d, int workers) {
    return k->sum_shared(d) + (size_t)workers * k->sum_each(d);
}

size_t tl_channels_bytes(const tl_channels_kernels *k, const tl_ctx *ctx, const tl_conv2d_geom *g) {
    size_t all = tl_conv2d_work_bytes(g, ctx->ops->column_bytes);
    int threads = tl_direct_wanted(ctx, g), images = least(threads, g->n);
    tl_direct_sum fwd = tl_direct_forward_sum(g, NULL, NULL), bwd = tl_direct_input_sum(g, NULL);
    size_t weight = k->weight_shared(g) + (size_t)threads * k->weight_each(g);
    size_t reals = most(weight, most(sum_reals(k, &fwd, images), sum_reals(k, &bwd, images)));
    return reals < all / sizeof(tl_real) ? reals * sizeof(tl_real) : all;
}

/* Threads that have room beside `shared` reals, `each` needing as many; 0 if there is none. */
static int workers_of(const tl_channels_kernels *k, const tl_ctx *ctx, const tl_conv2d_geom *g,
                      int wanted, size_t shared, size_t each) {
    size_t reals = tl_channels_bytes(k, ctx, g) / sizeof(tl_real);
    return reals > shared ? tl_direct_workers(wanted, reals - shared, each) : 0;
}

int tl_channels_try_sum(const tl_channels_kernels *k, tl_ctx *ctx, const tl_direct_sum *sum,
                        tl_real *y, const tl_real *x, const tl_conv2d_geom *g, void *work) {
    int wanted = least(tl_direct_wanted(ctx, g), g->n);
    int workers = workers_of(k, ctx, g, wanted, k->sum_shared(sum), k->sum_each(sum));
    if (workers > 0) k->sum_run(sum, y, x, workers, work);
    return workers > 0;
}

int tl_channels_try_weight(const tl_channels_kernels *k, tl_ctx *ctx, tl_real *dw,
                           const tl_real *dy, const tl_real *x, const tl_conv2d_geom *g,
                           void *work) {
    int wanted = tl_direct_wanted(ctx, g);
    int workers = workers_of(k, ctx, g, wanted, k->weight_shared(g), k->weight_each(g));
    if (workers > 0) k->weight_run(g, dw, dy, x, workers, work);
    return workers > 0;
}

static const tl_channels_kernels kernels = {.sum_shared = tl_channels_sum_weights,
                                            .sum_each = tl_channels_sum_scratch,
                                            .sum_run = tl_channels_sum_run,
                                            .weight_shared = tl_channels_weight_partials,
                                            .weight_each = tl_channels_weight_scratch,
                                            .weight_run = tl_channels_weight_run};

size_t tl_channels_work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g) {
    return tl_channels_supports(g) ? tl_channels_bytes(&kernels, ctx, g)
                                   : tl_direct_work_bytes(ctx, g);
}

tl_status tl_channels_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                          const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "conv2d_fwd, rung 2: ctx, y, x, w, the geometry or work is NULL");
    tl_direct_sum sum = tl_direct_forward_sum(g, w, b);
    if (tl_channels_supports(g) && tl_channels_try_sum(&kernels, ctx, &sum, y, x, g, work))
        return TL_OK;
    return tl_direct_fwd(ctx, y, x, w, b, g, work);
}

tl_status tl_channels_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "conv2d_bwd_input, rung 2: ctx, dx, dy, w, the geometry or work is NULL");
    tl_direct_sum sum = tl_direct_input_sum(g, w);
    if (tl_channels_supports(g) && tl_channels_try_sum(&kernels, ctx, &sum, dx, dy, g, work))
        return TL_OK;
    return tl_direct_bwd_input(ctx, dx, dy, w, g, work);
}

tl_status tl_channels_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                 const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "conv2d_bwd_weight, rung 2: ctx, dw, dy, x, the geometry or work is NULL");
    if (tl_channels_supports(g) && tl_channels_try_weight(&kernels, ctx, dw, dy, x, g, work))
        return TL_OK;
    return tl_direct_bwd_weight(ctx, dw, dy, x, g, work);
}

void tl_rung_conv2d_channels(tl_backend *ops) {
    ops->conv2d_fwd = tl_channels_fwd;
    ops->conv2d_bwd_input = tl_channels_bwd_input;
    ops->conv2d_bwd_weight = tl_channels_bwd_weight;
    ops->conv2d_bwd_bias = tl_direct_bwd_bias;
    ops->conv2d_work_bytes = tl_channels_work_bytes;
}
