/* whole.c: a net as one operation, where the device can plan it (whole.h, tl/net.h). */
#include "whole.h"

#include <string.h>

#include "tl/backend.h"

/* ---- the net as a list of layers ------------------------------------------------------------ */

/* What is on its way through the layers: n images of c planes of h x w, or with h = w = 1 rows. */
typedef struct flow {
    int n, c, h, w;
} flow;

static size_t size_of(const flow *f) {
    return (size_t)f->n * (size_t)f->c * (size_t)f->h * (size_t)f->w;
}

/* Parameters and where their gradients go; false for a layer that has none, or no gradient. */
static bool parameters(tl_net_layer *l, const tl_module *m) {
    const tl_var *w = m->param[0], *b = m->param[1];
    if (!w || !w->needs_grad || !w->grad || (b && (!b->needs_grad || !b->grad))) return false;
    l->w = w->value->data, l->dw = w->grad->data;
    if (b) l->b = b->value->data, l->db = b->grad->data;
    return true;
}

static bool describe_conv2d(tl_net_layer *l, const tl_module *m, flow *f) {
    tl_conv2d_geom g = m->u.conv2d;
    if (g.c != f->c) return false;
    g.n = f->n, g.h = f->h, g.w = f->w;
    if (tl_conv2d_check(&g) != TL_OK) return false;
    l->kind = TL_NET_CONV2D;
    l->of.conv2d = g;
    f->c = g.k, f->h = g.p, f->w = g.q;
    return parameters(l, m);
}

static bool describe_maxpool2d(tl_net_layer *l, const tl_module *m, flow *f) {
    tl_pool2d_geom g = m->u.pool2d;
    g.n = f->n, g.c = f->c, g.h = f->h, g.w = f->w;
    if (tl_pool2d_check(&g) != TL_OK) return false;
    l->kind = TL_NET_MAXPOOL2D;
    l->of.maxpool2d = g;
    f->h = g.p, f->w = g.q;
    return true;
}

static bool describe_linear(tl_net_layer *l, const tl_module *m, flow *f) {
    const tl_tensor *w = m->param[0] ? m->param[0]->value : NULL;
    if (!w || f->h != 1 || f->w != 1) return false;
    tl_linear_geom g = {.n = f->n, .in = w->dim[1], .out = w->dim[0]};
    if (g.in != f->c || tl_linear_check(&g) != TL_OK) return false;
    l->kind = TL_NET_LINEAR;
    l->of.linear = g;
    f->c = g.out;
    return parameters(l, m);
}

/* Adds module m, and what is in it, to the plan's layers; false if a plan has no word for it. */
static bool describe(tl_net_plan *plan, const tl_module *m, flow *f) {
    if (strcmp(m->kind, "sequential") == 0) {
        for (int i = 0; i < m->children; i++)
            if (!describe(plan, m->child[i], f)) return false;
        return true;
    }
    if (strcmp(m->kind, "flatten") == 0) {
        f->c *= f->h * f->w, f->h = f->w = 1; /* (products of sizes that fit, fit) */
        return true;
    }
    if (plan->layers == TL_NET_LAYERS) return false;
    tl_net_layer *l = &plan->layer[plan->layers++];
    *l = (tl_net_layer){.x_size = size_of(f)};
    bool known = true;
    if (strcmp(m->kind, "conv2d") == 0)
        known = describe_conv2d(l, m, f);
    else if (strcmp(m->kind, "maxpool2d") == 0)
        known = describe_maxpool2d(l, m, f);
    else if (strcmp(m->kind, "linear") == 0)
        known = describe_linear(l, m, f);
    else if (strcmp(m->kind, "relu") == 0)
        l->kind = TL_NET_RELU;
    else if (strcmp(m->kind, "dropout") == 0)
        l->kind = TL_NET_DROPOUT,
        l->of.dropout = (tl_dropout_geom){l->x_size, m->u.dropout.p, m->u.dropout.layer};
    else
        known = false;
    l->y_size = size_of(f);
    return known;
}

/* ---- the node ------------------------------------------------------------------------------- */

static tl_status whole_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_net_plan *plan = node->saved;
    tl_var *x = node->input[0], *y = node->output;
    tl_tensor *dx = NULL;
    if (plan->wants_dx) TL_TRY(tl_tape_grad(t, x, &dx));
    return ctx->ops->net_bwd(ctx, plan, dx ? dx->data : NULL, y->grad->data, x->value->data,
                             y->value->data, node->scratch[0]);
}

/* Any parameter of the net, for the tape to know that gradients are wanted; NULL if it has none. */
static tl_var *a_parameter(const tl_module *m) {
    tl_var *v = m->param[0];
    for (int i = 0; !v && i < m->children; i++) v = a_parameter(m->child[i]);
    return v;
}

static tl_status compose(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    *y = x;
    for (int i = 0; i < m->children; i++)
        TL_TRY(tl_module_forward(m->child[i], t, y, *y, training));
    return TL_OK;
}

static tl_status whole_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    tl_ctx *ctx = m->ctx;
    const tl_tensor *X = x->value;
    tl_var *input[] = {x, a_parameter(m)};
    tl_net_plan plan = {
        .training = training, .backward = tl_tape_wants(t, input, 2), .wants_dx = x->needs_grad};
    flow f = {X->dim[0], X->dim[1], X->dim[2], X->dim[3]};
    if (!ctx->ops->net_plan || X->ndim != 4 || !describe(&plan, m, &f) || f.h != 1 || f.w != 1 ||
        !ctx->ops->net_plan(ctx, &plan))
        return compose(m, t, y, x, training);
    void *memory;
    TL_TRY(tl_tape_value(t, y, 2, (int[]){f.n, f.c}));
    TL_TRY(tl_tape_scratch(t, &memory, plan.bytes));
    TL_TRY(ctx->ops->net_fwd(ctx, &plan, (*y)->value->data, X->data, memory));
    if (!plan.backward) return TL_OK;
    tl_node *node;
    TL_TRY(tl_tape_record(t, &node, "net", whole_backward, *y, input, 2, &plan, sizeof plan));
    node->scratch[0] = memory;
    return TL_OK;
}

void tl_module_whole(tl_module *net) { net->forward = whole_forward; }
