/* 02_tensor.cu: rungs 2 and 3 of nets: which nets are taken, and the steps of their plan.
 * (02_tensor.h says how they compute.) */
#include "kernels/net/02_tensor.h"

#include <limits.h>

#ifndef TL_REAL_DOUBLE

/* ---- a chain of products --------------------------------------------------------------------- */

/* A convolution of n images of one pixel, or of `high` x `wide` pixels, each for itself. */
static tl_conv2d_geom pixel_by_pixel(int n, int c, int high, int wide, int k) {
    tl_conv2d_geom g = {};
    g.n = n, g.c = c, g.h = g.p = high, g.w = g.q = wide, g.k = k;
    g.r = g.s = g.stride_h = g.stride_w = g.dil_h = g.dil_w = 1;
    return g;
}

/* A product of sizes as an int; of what countable() refuses, no more. */
static int size_of(int a, int b, int c) {
    const size_t most = INT_MAX / 2, ab = (size_t)a * (size_t)b;
    return ab <= most / (size_t)c ? (int)(ab * (size_t)c) : (int)most;
}

/* The first has all numbers that an output reads laid out as its channels. */
static tl_net_product first_of(const tl_net_layer *l) {
    tl_net_product p = {};
    const tl_linear_geom *rows = &l->of.linear;
    p.linear = l->kind == TL_NET_LINEAR, p.first = true;
    p.image = p.linear ? pixel_by_pixel(rows->n, rows->in, 1, 1, rows->out) : l->of.conv2d;
    const tl_conv2d_geom *g = &p.image;
    p.channels = size_of(g->c, g->r, g->s), p.taps = 1;
    p.conv = pixel_by_pixel(g->n, p.channels, g->p, g->q, g->k);
    return p;
}

/* A linear layer takes the pixels of an image as the taps of its weights, channels of the padding
 * included. */
static tl_net_product next_of(const tl_net_layer *l, const tl_net_product *before,
                              tl_precision precision) {
    tl_net_product p = {};
    int shrink = before->pool ? 2 : 1;
    p.channels = before->conv.k, p.linear = l->kind == TL_NET_LINEAR;
    if (p.linear) {
        p.taps = before->conv.p / shrink * (before->conv.q / shrink);
        int in = size_of(p.taps, padded_to(precision, p.channels), 1);
        p.conv = pixel_by_pixel(l->of.linear.n, in, 1, 1, l->of.linear.out);
    } else {
        p.conv = l->of.conv2d;
        p.taps = p.conv.r * p.conv.s;
    }
    return p;
}

/* (of the first as many numbers as its columns have are counted, too) */
static bool countable(const tl_net_product *p) {
    const tl_conv2d_geom *g = &p->conv;
    size_t lines = (size_t)g->n * (size_t)g->p * (size_t)g->q;
    return tensor_countable(g) && (!p->first || (tensor_countable(&p->image) &&
                                                 lines <= ((size_t)1 << 31) / (size_t)(g->c + 32)));
}

static bool halves(const tl_pool2d_geom *g) {
    return g->r == 2 && g->s == 2 && g->stride_h == 2 && g->stride_w == 2 && !g->pad_h && !g->pad_w;
}

/* Lets a layer follow the product: one pool, then one dropout, and ReLUs wherever they stand, for
 * they change places with both: the largest of a window stays the largest, and what dropout keeps
 * keeps its sign. */
static bool follow(tl_net_product *p, const tl_net_layer *l) {
    if (l->kind == TL_NET_RELU)
        p->relu = true;
    else if (l->kind == TL_NET_MAXPOOL2D && !p->pool && !p->drops && halves(&l->of.maxpool2d))
        p->pool = true;
    else if (l->kind == TL_NET_DROPOUT && !p->drops)
        p->drops = true, p->dropout = l->of.dropout;
    else
        return false;
    return true;
}

static bool join(const tl_ctx *ctx, tl_net_plan *plan) {
    int kept = 0;
    for (int i = 0; i < plan->layers; i++) {
        tl_net_layer l = plan->layer[i], *before = kept > 0 ? &plan->layer[kept - 1] : NULL;
        if (l.kind == TL_NET_DROPOUT && !plan->training) continue;
        if (l.kind != TL_NET_CONV2D && l.kind != TL_NET_LINEAR) {
            if (!before || !follow(&before->of.product, &l)) return false;
            continue;
        }
        tl_net_product p =
            before ? next_of(&l, &before->of.product, ctx->ops->precision) : first_of(&l);
        if (!countable(&p)) return false;
        l.kind = TL_NET_PRODUCT, l.of.product = p;
        plan->layer[kept++] = l;
    }
    plan->layers = kept;
    if (kept == 0) return false;
    tl_net_product *last = &plan->layer[kept - 1].of.product;
    last->last = true;
    return last->linear && !last->relu && !last->drops;
}

/* ---- steps and buffers ----------------------------------------------------------------------- */

typedef struct builder {
    tl_net_plan *plan;
    tl_precision precision;
    size_t each; /* bytes of a number of T */
    short kept, x[TL_NET_LAYERS + 1], winner[TL_NET_LAYERS];
} builder;

enum { NONE = TL_NET_NONE };
static void call(builder *b, int layer, tl_net_run *run, short o0, short o1, short o2, short o3,
                 short o4) {
    const short operand[TL_NET_OPERANDS] = {o0, o1, o2, o3, o4};
    tl_rung_net_call(b->plan, layer, run, operand);
}

static short buffer(builder *b, size_t bytes) { return tl_rung_net_buffer(b->plan, bytes); }

static const tl_net_product *product(const builder *b, int i) {
    return &b->plan->layer[i].of.product;
}

static size_t channels(const builder *b, int count) {
    return (size_t)padded_to(b->precision, count);
}

/* Numbers of a product's result, before the pool or behind it. */
static size_t numbers(const builder *b, int i, bool pooled) {
    const tl_net_product *p = product(b, i);
    size_t shrink = pooled && p->pool ? 2 : 1;
    return (size_t)p->conv.n * ((size_t)p->conv.p / shrink) * ((size_t)p->conv.q / shrink) *
           channels(b, p->conv.k);
}

/* Where blocks that share a sum leave theirs. */
static short sums(builder *b, int i, bool input) {
    const tl_conv2d_geom *g = &product(b, i)->conv;
    size_t rows = (size_t)g->n * (size_t)(input ? g->h * g->w : g->p * g->q);
    int shares = tl_rung_net_tensor_shares(g, input, b->precision);
    if (shares == 1) return NONE;
    return buffer(b, (size_t)shares * rows * channels(b, input ? g->c : g->k) * sizeof(float));
}

static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* What is kept from the first step to the last: weights, and what biases' gradients are made of. */
static void keep(builder *b) {
    size_t bytes = 0;
    for (int i = 0; i < b->plan->layers; i++) {
        tl_net_product *p = &b->plan->layer[i].of.product;
        size_t c = channels(b, p->channels), k = channels(b, p->conv.k), taps = (size_t)p->taps;
        p->forward = bytes;
        bytes += aligned((size_t)p->conv.k * taps * c * b->each);
        if (!b->plan->backward) continue;
        p->backward = bytes;
        if (!p->first) bytes += aligned(c * taps * k * b->each);
        p->columns = bytes;
        if (p->last) continue;
        const tl_conv2d_geom *above = &product(b, i + 1)->conv;
        bytes += aligned((size_t)tl_rung_net_tensor_parts(above, b->precision) *
                         channels(b, above->c) * sizeof(float));
    }
    b->kept = buffer(b, bytes);
}

static void forward(builder *b) {
    const tl_conv2d_geom *first = &product(b, 0)->conv;
    size_t lines = (size_t)first->n * (size_t)first->p * (size_t)first->q;
    b->x[0] = buffer(b, lines * channels(b, first->c) * b->each);
    keep(b);
    call(b, 0, b->plan->backward ? tl_rung_net_tensor_train : tl_rung_net_tensor_begin, b->x[0],
         TL_NET_X, b->kept, NONE, NONE);
    for (int i = 0; i < b->plan->layers; i++) {
        const tl_net_product *p = product(b, i);
        size_t size = numbers(b, i, true);
        b->x[i + 1] = p->last ? (short)TL_NET_Y : buffer(b, size * b->each);
        b->winner[i] = p->pool && b->plan->backward ? buffer(b, size) : (short)NONE;
        call(b, i, tl_rung_net_tensor_forward, b->x[i + 1], b->winner[i], b->x[i], b->kept,
             sums(b, i, false));
    }
    b->plan->forward_steps = b->plan->steps;
}

/* The gradient of the weights first: then what it was made of need not outlive dx. */
static void backward(builder *b) {
    int last = b->plan->layers - 1;
    short dy = buffer(b, numbers(b, last, false) * b->each);
    call(b, last, tl_rung_net_tensor_turn, dy, TL_NET_DY, NONE, NONE, NONE);
    for (int i = last; i >= 0; i--) {
        const tl_conv2d_geom *g = &product(b, i)->conv;
        int c = padded_to(b->precision, g->c);
        size_t shares = (size_t)tl_tensor_weight_shares(g, c, b->precision, TENSOR_SHARES_ROOM);
        call(b, i, tl_rung_net_tensor_weight, dy, b->x[i],
             buffer(b, shares * tl_tensor_weight_bytes(g, c)), NONE, NONE);
        if (i == 0) break;
        const tl_net_product *below = product(b, i - 1);
        short dx = buffer(b, numbers(b, i - 1, false) * b->each);
        short held = below->pool ? b->winner[i - 1] : below->relu ? b->x[i] : (short)NONE;
        call(b, i, tl_rung_net_tensor_input, dx, dy, held, b->kept, sums(b, i, true));
        dy = dx;
    }
    call(b, 0, tl_rung_net_tensor_bias, b->kept, TL_NET_DY, NONE, NONE, NONE);
}

/* (with six buffers for each product there is room for the two that are the net's) */
static bool plan_net(const tl_ctx *ctx, tl_net_plan *plan) {
    if (plan->wants_dx || !join(ctx, plan) || plan->layers == TL_NET_LAYERS) return false;
    tl_precision precision = ctx->ops->precision;
    builder b = {plan, precision, precision == TL_BF16 ? sizeof(bf16) : sizeof(float), 0, {}, {}};
    plan->buffers = plan->steps = 0;
    forward(&b);
    if (plan->backward) backward(&b);
    tl_rung_net_place(plan);
    return true;
}

/* Both rungs: the precision is that of the table. */
static void apply(tl_backend *ops) {
    ops->net_plan = plan_net;
    ops->net_fwd = tl_rung_net_fwd;
    ops->net_bwd = tl_rung_net_bwd;
}
extern "C" void tl_rung_net_tensor_tf32(tl_backend *ops) { apply(ops); }
extern "C" void tl_rung_net_tensor_bf16(tl_backend *ops) { apply(ops); }
#endif
