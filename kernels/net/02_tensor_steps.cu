/* 02_tensor_steps.cu: what each step of the plan launches (02_tensor.h). */
#include "kernels/net/02_tensor.h"

#ifndef TL_REAL_DOUBLE

static const void *kept_at(void *kept, size_t offset) { return (const char *)kept + offset; }

static tl_status begin(tl_ctx *ctx, const tl_net_layer *l, void *const at[], bool backward) {
    const tl_net_product *p = &l->of.product;
    tl_precision precision = ctx->ops->precision;
    TL_TRY(tl_rung_net_tensor_pack(ctx, at[0], (const float *)at[1], &p->image, precision));
    return tl_rung_net_tensor_weights(ctx, at[2], l, backward, precision);
}

extern "C" tl_status tl_rung_net_tensor_begin(tl_ctx *ctx, const tl_net_layer *l,
                                              void *const at[]) {
    return begin(ctx, l, at, false);
}
extern "C" tl_status tl_rung_net_tensor_train(tl_ctx *ctx, const tl_net_layer *l,
                                              void *const at[]) {
    return begin(ctx, l, at, true);
}

/* What follows a product, forward or on the way back to it. */
static tensor_end end_of(const tl_ctx *ctx, const tl_net_product *p) {
    tensor_end end = {};
    end.relu = p->relu, end.pool = p->pool, end.high = p->conv.p, end.wide = p->conv.q;
    end.pixels = 1, end.of_pixel = padded_to(ctx->ops->precision, p->conv.k);
    end.drop.channels = p->conv.k;
    end.drop.plane = p->pool ? p->conv.p / 2 * (p->conv.q / 2) : p->conv.p * p->conv.q;
    if (!p->drops) return end;
    end.drop.step = ctx->step, end.drop.layer = p->dropout.layer;
    end.drop.threshold = tl_dropout_threshold(p->dropout.p);
    end.drop.scale = (float)(1 / (1 - p->dropout.p));
    return end;
}

extern "C" tl_status tl_rung_net_tensor_forward(tl_ctx *ctx, const tl_net_layer *l,
                                                void *const at[]) {
    const tl_net_product *p = &l->of.product;
    tensor_end end = end_of(ctx, p);
    end.out = p->conv.k, end.channels = end.of_pixel, end.bias = l->b;
    if (p->last)
        end.plain = (float *)at[0];
    else
        end.to = at[0];
    end.winner = (uint8_t *)at[1], end.sums = (float *)at[4];
    return tl_rung_net_tensor_sums(ctx, &p->conv, false, at[2], kept_at(at[3], p->forward), &end,
                                   ctx->ops->precision);
}

extern "C" tl_status tl_rung_net_tensor_turn(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    const tl_conv2d_geom *g = &l->of.product.conv;
    tl_conv2d_geom rows = {};
    rows.n = g->n, rows.c = g->k, rows.h = rows.w = rows.k = rows.r = rows.s = rows.p = rows.q = 1;
    rows.stride_h = rows.stride_w = rows.dil_h = rows.dil_w = 1;
    return tl_rung_net_tensor_pack(ctx, at[0], (const float *)at[1], &rows, ctx->ops->precision);
}

extern "C" tl_status tl_rung_net_tensor_weight(tl_ctx *ctx, const tl_net_layer *l,
                                               void *const at[]) {
    const tl_net_product *p = &l->of.product;
    tl_precision precision = ctx->ops->precision;
    weight_job job = {};
    job.dy = at[0], job.x = at[1], job.sums = (float *)at[2];
    job.c = padded_to(precision, p->conv.c), job.k = padded_to(precision, p->conv.k);
    job.g = p->conv, job.outputs = p->conv.n * p->conv.p * p->conv.q;
    job.shares = tl_tensor_weight_shares(&p->conv, job.c, precision, TENSOR_SHARES_ROOM);
    job.taps = p->taps, job.of_tap = padded_to(precision, p->channels), job.channels = p->channels;
    TL_TRY(tl_tensor_weight_sums(ctx, &job, precision));
    return tl_tensor_weight_add(ctx, l->dw, &job, precision);
}

extern "C" tl_status tl_rung_net_tensor_input(tl_ctx *ctx, const tl_net_layer *l,
                                              void *const at[]) {
    const tl_net_product *p = &l->of.product, *below = &l[-1].of.product;
    tensor_end end = end_of(ctx, below);
    end.out = p->conv.c, end.channels = padded_to(ctx->ops->precision, p->conv.c);
    end.pixels = p->linear ? p->taps : 1;
    end.to = at[0], end.sums = (float *)at[4];
    if (below->pool)
        end.winner = (uint8_t *)at[2];
    else
        end.held = at[2];
    if (l[-1].db) end.columns = (float *)((char *)at[3] + below->columns);
    return tl_rung_net_tensor_sums(ctx, &p->conv, true, at[1], kept_at(at[3], p->backward), &end,
                                   ctx->ops->precision);
}

extern "C" tl_status tl_rung_net_tensor_bias(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return tl_rung_net_tensor_biases(ctx, at[0], (const float *)at[1], l, ctx->ops->precision);
}
#endif
