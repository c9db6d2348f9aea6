/* 04_tensor.cu: rungs 4 and 5 of conv2d: which layers are taken, and how scratch is divided.
 * (04_tensor.h says what they do.) */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

/* False: the geometry is left to what rounds between kernels for float. */
static bool plan_of(tensor_plan *p, const tl_ctx *ctx, const tl_conv2d_geom *g, tensor_pass pass) {
    *p = tensor_plan{*g, ctx->ops->precision, 0, 1, 0, 0};
    if (g->c < LEAST_CHANNELS || g->k < LEAST_CHANNELS || !tensor_countable(g)) return false;
    size_t room = tl_conv2d_work_bytes(g, ctx->ops->column_bytes);
    size_t each = p->precision == TL_BF16 ? sizeof(bf16) : sizeof(float);
    size_t c = (size_t)padded_to(p->precision, g->c) * each;
    size_t k = (size_t)padded_to(p->precision, g->k) * each, taps = (size_t)g->r * (size_t)g->s;
    size_t of_x = (size_t)g->h * (size_t)g->w * c, of_y = (size_t)g->p * (size_t)g->q * k, image;
    if (pass == TENSOR_WEIGHT) {
        int channels = padded_to(p->precision, g->c);
        p->shares = tl_tensor_weight_shares(g, channels, p->precision, room / 2);
        p->first = (size_t)p->shares * tl_tensor_weight_bytes(g, channels), image = of_x + of_y;
    } else {
        p->first = pass == TENSOR_FWD ? (size_t)g->k * taps * c : (size_t)g->c * taps * k;
        image = pass == TENSOR_FWD ? of_x : of_y;
    }
    if (p->first > room || image > room - p->first) return false;
    size_t images = (room - p->first) / image;
    p->images = images < (size_t)g->n ? (int)images : g->n;
    p->bytes = p->first + (size_t)p->images * image;
    return true;
}

/* What is left to others must have their scratch, too. */
static size_t work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g) {
    const tl_backend *exact = ctx->ops->exact;
    size_t most = 0;
    bool all = true;
    for (int pass = TENSOR_FWD; pass <= TENSOR_WEIGHT; pass++) {
        tensor_plan p;
        all = plan_of(&p, ctx, g, (tensor_pass)pass) && all;
        if (p.bytes > most) most = p.bytes;
    }
    if (all) return most;
    size_t theirs = exact->conv2d_work_bytes ? exact->conv2d_work_bytes(ctx, g)
                                             : tl_conv2d_work_bytes(g, ctx->ops->column_bytes);
    return theirs > most ? theirs : most;
}

static tl_status fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w, const tl_real *b,
                     const tl_conv2d_geom *g, void *work) {
    tensor_plan p;
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "conv2d_fwd by tensor cores: ctx, y, x, w, the geometry or work is NULL");
    TL_TRY(tl_conv2d_checked(g));
    if (!plan_of(&p, ctx, g, TENSOR_FWD))
        return ctx->ops->rounding->conv2d_fwd(ctx, y, x, w, b, g, work);
    return tl_rung_conv2d_tensor_fwd(ctx, y, x, w, b, &p, work);
}

static tl_status bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                           const tl_conv2d_geom *g, void *work) {
    tensor_plan p;
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "conv2d_bwd_input by tensor cores: ctx, dx, dy, w, the geometry or work is NULL");
    TL_TRY(tl_conv2d_checked(g));
    if (!plan_of(&p, ctx, g, TENSOR_INPUT))
        return ctx->ops->rounding->conv2d_bwd_input(ctx, dx, dy, w, g, work);
    return tl_rung_conv2d_tensor_bwd_input(ctx, dx, dy, w, &p, work);
}

static tl_status bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                            const tl_conv2d_geom *g, void *work) {
    tensor_plan p;
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "conv2d_bwd_weight by tensor cores: ctx, dw, dy, x, the geometry or work is NULL");
    TL_TRY(tl_conv2d_checked(g));
    if (!plan_of(&p, ctx, g, TENSOR_WEIGHT))
        return ctx->ops->rounding->conv2d_bwd_weight(ctx, dw, dy, x, g, work);
    return tl_rung_conv2d_tensor_bwd_weight(ctx, dw, dy, x, &p, work);
}

/* Both rungs: the precision is that of the table. */
static void apply(tl_backend *ops) {
    ops->conv2d_fwd = fwd;
    ops->conv2d_bwd_input = bwd_input;
    ops->conv2d_bwd_weight = bwd_weight;
    ops->conv2d_work_bytes = work_bytes;
}
extern "C" void tl_rung_conv2d_tensor_tf32(tl_backend *ops) { apply(ops); }
extern "C" void tl_rung_conv2d_tensor_bf16(tl_backend *ops) { apply(ops); }
#endif
