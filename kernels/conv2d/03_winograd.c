/* 03_winograd.c: rung 3 of conv2d on cpu, Winograd's convolution for filters of 3x3.
 *
 *   03_winograd_pixels.c   forward and dx
 *   03_winograd_weight.c   dw
 *
 * Here: which layers these kernels take; rung 2 has the others. */
#include "03_winograd.h"

#include "../rungs.h"

static int supports(const tl_conv2d_geom *g) {
    return tl_channels_supports(g) && g->r == 3 && g->s == 3;
}

static const tl_channels_kernels kernels = {.sum_shared = tl_winograd_sum_weights,
                                            .sum_each = tl_winograd_sum_scratch,
                                            .sum_run = tl_winograd_sum_run,
                                            .weight_shared = tl_winograd_weight_partials,
                                            .weight_each = tl_winograd_weight_scratch,
                                            .weight_run = tl_winograd_weight_run};

static size_t work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g) {
    return supports(g) ? tl_channels_bytes(&kernels, ctx, g) : tl_channels_work_bytes(ctx, g);
}

static tl_status fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w, const tl_real *b,
                     const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "conv2d_fwd, rung 3: ctx, y, x, w, the geometry or work is NULL");
    tl_direct_sum sum = tl_direct_forward_sum(g, w, b);
    if (supports(g) && tl_channels_try_sum(&kernels, ctx, &sum, y, x, g, work)) return TL_OK;
    return tl_channels_fwd(ctx, y, x, w, b, g, work);
}

static tl_status bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                           const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "conv2d_bwd_input, rung 3: ctx, dx, dy, w, the geometry or work is NULL");
    tl_direct_sum sum = tl_direct_input_sum(g, w);
    if (supports(g) && tl_channels_try_sum(&kernels, ctx, &sum, dx, dy, g, work)) return TL_OK;
    return tl_channels_bwd_input(ctx, dx, dy, w, g, work);
}

static tl_status bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                            const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "conv2d_bwd_weight, rung 3: ctx, dw, dy, x, the geometry or work is NULL");
    if (supports(g) && tl_channels_try_weight(&kernels, ctx, dw, dy, x, g, work)) return TL_OK;
    return tl_channels_bwd_weight(ctx, dw, dy, x, g, work);
}

void tl_rung_conv2d_winograd(tl_backend *ops) {
    ops->conv2d_fwd = fwd;
    ops->conv2d_bwd_input = bwd_input;
    ops->conv2d_bwd_weight = bwd_weight;
    ops->conv2d_bwd_bias = tl_direct_bwd_bias;
    ops->conv2d_work_bytes = work_bytes;
}
