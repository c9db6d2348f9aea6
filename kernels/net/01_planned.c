/* 01_planned.c: rung 1 of nets: a fixed list of calls over a fixed piece of memory (tl/net.h).
 *
 * The calls are those that the tape would make, so the bits are the tape's. What is saved is
 * memory: a result lives until the last call that reads it, a gradient from the first that writes
 * it to the last that reads it; ReLU works in place, and behind the pool, whose largest element it
 * leaves the largest; evaluation keeps nothing. So is the time to write and walk a tape, and where
 * a convolution's sums can be ended by a ReLU (tl/fused.h), the passes of ReLU. */
#include "kernels/net/01_planned.h"

enum { NONE = TL_NET_NONE };

/* ---- calls: run(ctx, layer, operands in the order of the operation's contract) -------------- */

static tl_status zero_dx(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->zero(ctx, at[0], l->x_size * sizeof(tl_real));
}

static tl_status conv2d_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_fwd(ctx, at[0], at[1], l->w, l->b, &l->of.conv2d, at[2]);
}
static tl_status conv2d_bwd_bias(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_bwd_bias(ctx, l->db, at[0], &l->of.conv2d);
}
static tl_status conv2d_bwd_weight(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_bwd_weight(ctx, l->dw, at[0], at[1], &l->of.conv2d, at[2]);
}
static tl_status conv2d_bwd_input(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_bwd_input(ctx, at[0], at[1], l->w, &l->of.conv2d, at[2]);
}

static tl_status conv2d_relu_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_relu_fwd(ctx, at[0], at[1], l->w, l->b, &l->of.conv2d, at[2]);
}
static tl_status conv2d_relu_bwd_input(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_relu_bwd_input(ctx, at[0], at[1], l->w, at[3], &l->of.conv2d, at[2]);
}

static tl_status relu_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->relu_fwd(ctx, at[0], at[1], l->x_size);
}
static tl_status relu_bwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->relu_bwd(ctx, at[0], at[1], at[2], l->x_size);
}

static tl_status maxpool2d_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->maxpool2d_fwd(ctx, at[0], at[1], at[2], &l->of.maxpool2d);
}
static tl_status maxpool2d_bwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->maxpool2d_bwd(ctx, at[0], at[1], at[2], &l->of.maxpool2d);
}

static tl_status dropout_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->dropout_fwd(ctx, at[0], at[1], ctx->step, &l->of.dropout);
}
static tl_status dropout_bwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->dropout_bwd(ctx, at[0], at[1], ctx->step, &l->of.dropout);
}

static tl_status linear_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->linear_fwd(ctx, at[0], at[1], l->w, l->b, &l->of.linear);
}
static tl_status linear_bwd_bias(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->linear_bwd_bias(ctx, l->db, at[0], &l->of.linear);
}
static tl_status linear_bwd_weight(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->linear_bwd_weight(ctx, l->dw, at[0], at[1], &l->of.linear);
}
static tl_status linear_bwd_input(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->linear_bwd_input(ctx, at[0], at[1], l->w, &l->of.linear);
}

static tl_status pool_relu_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    const tl_pool2d_geom *g = &l->of.maxpool2d;
    return ctx->ops->pool_relu_fwd(ctx, at[0], at[1], at[2], (size_t)g->n * (size_t)g->c, g->h,
                                   g->w);
}
static tl_status pool_relu_bwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    const tl_pool2d_geom *g = &l->of.maxpool2d;
    return ctx->ops->pool_relu_bwd(ctx, at[0], at[1], at[2], (size_t)g->n * (size_t)g->c, g->h,
                                   g->w);
}
static tl_status relu_mask(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->relu_mask(ctx, at[0], at[1], l->y_size);
}

static tl_status conv2d_block_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_block_fwd(ctx, at[0], at[1], at[2], l->w, l->b, &l->of.conv2d_block);
}
static tl_status conv2d_block_bwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->conv2d_block_bwd(ctx, at[0], l->dw, l->db, at[1], at[2], at[3], l->w,
                                      &l->of.conv2d_block, l->fresh, at[4]);
}

static tl_status linear_block_fwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->linear_block_fwd(ctx, at[0], at[1], l->w, l->b, &l->of.linear_block.linear,
                                      l->of.linear_block.relu, at[2]);
}
static tl_status linear_block_bwd(tl_ctx *ctx, const tl_net_layer *l, void *const at[]) {
    return ctx->ops->linear_block_bwd(ctx, at[0], l->dw, l->db, at[1],
                                      l->of.linear_block.relu ? at[2] : NULL, at[3], l->w,
                                      &l->of.linear_block.linear, l->fresh);
}

/* ---- layers: what is fused, what changes places --------------------------------------------- */

static bool is(const tl_net_plan *plan, int layer, tl_net_kind kind) {
    return layer < plan->layers && plan->layer[layer].kind == kind;
}

static bool halves(const tl_pool2d_geom *g) {
    return g->r == 2 && g->s == 2 && g->stride_h == 2 && g->stride_w == 2 && !g->pad_h && !g->pad_w;
}

/* Whether the ReLU behind the convolution at i is to end its sums: before a pool it is cheaper
 * behind that, and the gradient that comes back must be the plan's own, for it is masked in place.
 */
static bool ends_sums(const tl_backend *ops, const tl_net_plan *plan, int i) {
    return ops->conv2d_relu_fwd && ops->relu_mask && i + 2 < plan->layers &&
           !is(plan, i + 2, TL_NET_MAXPOOL2D) && !is(plan, i + 2, TL_NET_DROPOUT);
}

/* How many layers from i on are one fused operation of this device, which *to becomes; else 0. */
static int fuse(const tl_backend *ops, const tl_net_plan *plan, int i, tl_net_layer *to) {
    const tl_net_layer *l = &plan->layer[i];
    bool relu = is(plan, i + 1, TL_NET_RELU);
    *to = *l;
    if (l->kind == TL_NET_CONV2D && relu && l->b && ops->conv2d_block_fwd) {
        tl_conv2d_block g = {.conv = l->of.conv2d};
        g.pool = is(plan, i + 2, TL_NET_MAXPOOL2D) && halves(&plan->layer[i + 2].of.maxpool2d);
        if (ops->conv2d_block_fits(&g)) {
            to->kind = TL_NET_CONV2D_BLOCK;
            to->of.conv2d_block = g;
            to->y_size = tl_conv2d_block_y_size(&g);
            return g.pool ? 3 : 2;
        }
    }
    if (l->kind == TL_NET_CONV2D && relu && ends_sums(ops, plan, i)) {
        to->kind = TL_NET_CONV2D_RELU;
        return 2;
    }
    /* (its gradient overwrites, and a caller's may hold another already) */
    bool overwrites = i > 0 || !plan->wants_dx;
    if (l->kind == TL_NET_RELU && is(plan, i + 1, TL_NET_MAXPOOL2D) && ops->pool_relu_fwd &&
        overwrites && halves(&plan->layer[i + 1].of.maxpool2d)) {
        *to = plan->layer[i + 1];
        to->kind = TL_NET_POOL_RELU;
        return 2;
    }
    if (l->kind == TL_NET_LINEAR && l->b && ops->linear_block_fwd) {
        tl_linear_geom g = l->of.linear;
        to->kind = TL_NET_LINEAR_BLOCK;
        to->of.linear_block.linear = g;
        to->of.linear_block.relu = relu;
        return 1 + relu;
    }
    return 0;
}

/* Fuses what there is an operation for, puts ReLU behind the pool, and leaves out dropout where
 * nothing is dropped. ReLU and pool change places without changing a bit: the largest of a window
 * stays the largest, and where it is not positive no gradient comes back either way. */
static void rearrange(const tl_backend *ops, tl_net_plan *plan) {
    int kept = 0;
    for (int i = 0, taken; i < plan->layers; i += taken) {
        tl_net_layer fused;
        taken = fuse(ops, plan, i, &fused);
        if (taken > 0) {
            plan->layer[kept++] = fused;
            continue;
        }
        taken = 1;
        if (is(plan, i, TL_NET_RELU) && is(plan, i + 1, TL_NET_MAXPOOL2D)) {
            tl_net_layer relu = plan->layer[i], pool = plan->layer[i + 1];
            relu.x_size = relu.y_size = pool.y_size;
            plan->layer[kept++] = pool;
            plan->layer[kept++] = relu;
            taken = 2;
        } else if (plan->training || !is(plan, i, TL_NET_DROPOUT)) {
            plan->layer[kept++] = plan->layer[i];
        }
    }
    plan->layers = kept;
}

/* ---- steps and buffers ---------------------------------------------------------------------- */

typedef struct builder {
    const tl_ctx *ctx;
    tl_net_plan *plan;
    short x, dy;             /* what goes into the layer at hand; the gradient that comes back */
    short in[TL_NET_LAYERS]; /* of each layer: its input, its output, */
    short out[TL_NET_LAYERS];
    short winner[TL_NET_LAYERS]; /* and which elements won in its pool */
    bool masked;                 /* dy is the gradient from before the ReLU at hand already */
} builder;

static short buffer(builder *b, size_t bytes) { return tl_rung_net_buffer(b->plan, bytes); }

static short reals(builder *b, size_t count) { return buffer(b, count * sizeof(tl_real)); }

#define CALL(b, layer, run, ...)                                                                   \
    tl_rung_net_call((b)->plan, layer, run, (short[TL_NET_OPERANDS]){__VA_ARGS__})

static short columns(builder *b, const tl_conv2d_geom *g) {
    const tl_backend *ops = b->ctx->ops;
    return buffer(b, ops->conv2d_work_bytes ? ops->conv2d_work_bytes(b->ctx, g)
                                            : tl_conv2d_work_bytes(g, ops->column_bytes));
}

static void forward(builder *b, int i) {
    tl_net_plan *plan = b->plan;
    const tl_net_layer *l = &plan->layer[i];
    bool last = i == plan->layers - 1;
    bool in_place = l->kind == TL_NET_RELU && !last && b->x >= TL_NET_GIVEN;
    short x = b->x, y = last ? (short)TL_NET_Y : in_place ? x : reals(b, l->y_size), winner = NONE;
    switch (l->kind) {
    case TL_NET_CONV2D:
        CALL(b, i, conv2d_fwd, y, x, columns(b, &l->of.conv2d), NONE, NONE);
        break;
    case TL_NET_CONV2D_RELU:
        CALL(b, i, conv2d_relu_fwd, y, x, columns(b, &l->of.conv2d), NONE, NONE);
        break;
    case TL_NET_RELU:
        CALL(b, i, relu_fwd, y, x, NONE, NONE, NONE);
        break;
    case TL_NET_MAXPOOL2D:
        winner = buffer(b, l->y_size * sizeof(int32_t));
        CALL(b, i, maxpool2d_fwd, y, winner, x, NONE, NONE);
        break;
    case TL_NET_DROPOUT:
        CALL(b, i, dropout_fwd, y, x, NONE, NONE, NONE);
        break;
    case TL_NET_LINEAR:
        CALL(b, i, linear_fwd, y, x, NONE, NONE, NONE);
        break;
    case TL_NET_POOL_RELU:
        winner = plan->backward ? buffer(b, l->y_size) : (short)NONE;
        CALL(b, i, pool_relu_fwd, y, winner, x, NONE, NONE);
        break;
    case TL_NET_CONV2D_BLOCK:
        winner = plan->backward ? buffer(b, l->y_size) : (short)NONE;
        CALL(b, i, conv2d_block_fwd, y, winner, x, NONE, NONE);
        break;
    case TL_NET_LINEAR_BLOCK:
        CALL(b, i, linear_block_fwd, y, x,
             buffer(b, tl_linear_block_work_bytes(&l->of.linear_block.linear)), NONE, NONE);
        break;
    case TL_NET_PRODUCT: /* of another rung's plans */
        break;
    }
    b->in[i] = x, b->out[i] = b->x = y, b->winner[i] = winner;
}

/* Where the gradient of the layer's input goes: nothing is in a buffer of ours yet, so what adds to
 * it needs a zero first. */
static short input_gradient(builder *b, int i, bool adds) {
    tl_net_layer *l = &b->plan->layer[i];
    l->fresh = i > 0;
    if (i == 0) return b->plan->wants_dx ? (short)TL_NET_DX : (short)NONE;
    short dx = reals(b, l->x_size);
    if (adds) CALL(b, i, zero_dx, dx, NONE, NONE, NONE, NONE);
    return dx;
}

/* dx of a convolution. If a ReLU at the end of the layer before made x, dx goes back through it at
 * once. */
static short convolution_input(builder *b, int i, short x, short dy) {
    const tl_net_layer *l = &b->plan->layer[i];
    bool ends = i > 0 && b->ctx->ops->conv2d_relu_bwd_input;
    short dx = input_gradient(b, i, !ends);
    if (dx == NONE) return dx;
    b->masked = ends && l[-1].kind == TL_NET_CONV2D_RELU;
    if (ends)
        CALL(b, i, conv2d_relu_bwd_input, dx, dy, columns(b, &l->of.conv2d),
             b->masked ? x : (short)NONE, NONE);
    else
        CALL(b, i, conv2d_bwd_input, dx, dy, columns(b, &l->of.conv2d), NONE, NONE);
    return dx;
}

/* The gradients of the parameters first: then what they were made of need not outlive dx. */
static void backward(builder *b, int i) {
    const tl_net_layer *l = &b->plan->layer[i];
    const short x = b->in[i], y = b->out[i], winner = b->winner[i], dy = b->dy;
    short dx = NONE;
    bool masked = b->masked;
    b->masked = false;
    switch (l->kind) {
    case TL_NET_CONV2D_RELU:
        if (!masked) CALL(b, i, relu_mask, dy, y, NONE, NONE, NONE);
        /* fall through */
    case TL_NET_CONV2D:
        if (l->b) CALL(b, i, conv2d_bwd_bias, dy, NONE, NONE, NONE, NONE);
        CALL(b, i, conv2d_bwd_weight, dy, x, columns(b, &l->of.conv2d), NONE, NONE);
        dx = convolution_input(b, i, x, dy);
        break;
    case TL_NET_LINEAR:
        if (l->b) CALL(b, i, linear_bwd_bias, dy, NONE, NONE, NONE, NONE);
        CALL(b, i, linear_bwd_weight, dy, x, NONE, NONE, NONE);
        dx = input_gradient(b, i, true);
        if (dx != NONE) CALL(b, i, linear_bwd_input, dx, dy, NONE, NONE, NONE);
        break;
    case TL_NET_RELU:
        if (i > 0 && dy >= TL_NET_GIVEN && b->ctx->ops->relu_mask) { /* in place */
            CALL(b, i, relu_mask, dy, y, NONE, NONE, NONE);
            return;
        }
        dx = input_gradient(b, i, true);
        if (dx != NONE) CALL(b, i, relu_bwd, dx, dy, y, NONE, NONE);
        break;
    case TL_NET_MAXPOOL2D:
        dx = input_gradient(b, i, true);
        if (dx != NONE) CALL(b, i, maxpool2d_bwd, dx, dy, winner, NONE, NONE);
        break;
    case TL_NET_DROPOUT:
        dx = input_gradient(b, i, true);
        if (dx != NONE) CALL(b, i, dropout_bwd, dx, dy, NONE, NONE, NONE);
        break;
    case TL_NET_POOL_RELU:
        dx = input_gradient(b, i, false);
        if (dx != NONE) CALL(b, i, pool_relu_bwd, dx, dy, winner, NONE, NONE);
        break;
    case TL_NET_CONV2D_BLOCK:
        dx = input_gradient(b, i, false);
        CALL(b, i, conv2d_block_bwd, dx, dy, winner, x,
             buffer(b, tl_conv2d_block_work_bytes(&l->of.conv2d_block)));
        break;
    case TL_NET_LINEAR_BLOCK:
        dx = input_gradient(b, i, false);
        CALL(b, i, linear_block_bwd, dx, dy, y, x, NONE);
        break;
    case TL_NET_PRODUCT:
        break;
    }
    b->dy = dx;
}

static bool plan_net(const tl_ctx *ctx, tl_net_plan *plan) {
    rearrange(ctx->ops, plan);
    if (plan->layers == 0) return false;
    builder b = {.ctx = ctx, .plan = plan, .x = TL_NET_X, .dy = TL_NET_DY};
    plan->buffers = plan->steps = 0;
    for (int i = 0; i < plan->layers; i++) forward(&b, i);
    plan->forward_steps = plan->steps;
    for (int i = plan->layers - 1; plan->backward && i >= 0; i--) backward(&b, i);
    tl_rung_net_place(plan);
    return true;
}

void tl_rung_net_planned(tl_backend *ops) {
    ops->net_plan = plan_net;
    ops->net_fwd = tl_rung_net_fwd;
    ops->net_bwd = tl_rung_net_bwd;
}
