/* ops_layers.c: the layers of a network as differentiable operations (tl/ops.h).
 *
 * ReLU, linear and conv2d are given: each rule asks every input whether it wants a gradient, and
 * calls one operation for it. What is to be written saves something in forward (maxpool2d), takes a
 * gradient that is not 1 (softmax_xent), or makes one node of two (linear_relu). */
#include "tl/ops.h"

static tl_status relu_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_var *y = node->output;
    tl_tensor *dx;
    TL_TRY(tl_tape_grad(t, node->input[0], &dx));
    return ctx->ops->relu_bwd(ctx, dx->data, y->grad->data, y->value->data, dx->size);
}

tl_status tl_op_relu(tl_tape *t, tl_var **y, tl_var *x) {
    tl_ctx *ctx = tl_tape_ctx(t);
    TL_TRY(tl_tape_value(t, y, x->value->ndim, x->value->dim));
    TL_TRY(ctx->ops->relu_fwd(ctx, (*y)->value->data, x->value->data, x->value->size));
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    return tl_tape_record(t, NULL, "relu", relu_backward, *y, &x, 1, NULL, 0);
}

/* Adds what dy, the gradient of x·wᵀ + b, means for x, w and b: up to three gradients, each only if
 * its variable wants one; there may be no bias. The geometry was saved by forward. */
static tl_status linear_gradients(tl_tape *t, tl_node *node, const tl_real *dy) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_linear_geom *g = node->saved;
    tl_var *x = node->input[0], *w = node->input[1], *b = node->input[2];
    tl_tensor *grad;
    if (x->needs_grad) {
        TL_TRY(tl_tape_grad(t, x, &grad));
        TL_TRY(ctx->ops->linear_bwd_input(ctx, grad->data, dy, w->value->data, g));
    }
    if (w->needs_grad) {
        TL_TRY(tl_tape_grad(t, w, &grad));
        TL_TRY(ctx->ops->linear_bwd_weight(ctx, grad->data, dy, x->value->data, g));
    }
    if (b && b->needs_grad) {
        TL_TRY(tl_tape_grad(t, b, &grad));
        TL_TRY(ctx->ops->linear_bwd_bias(ctx, grad->data, dy, g));
    }
    return TL_OK;
}

static tl_status linear_backward(tl_tape *t, tl_node *node) {
    return linear_gradients(t, node, node->output->grad->data);
}

static tl_status linear_geometry(tl_linear_geom *g, const tl_tensor *X, const tl_tensor *W,
                                 const tl_var *b) {
    char left[TL_SHAPE_TEXT], right[TL_SHAPE_TEXT];
    TL_NEED(X->ndim == 2 && W->ndim == 2 && X->dim[1] == W->dim[1], TL_ESHAPE,
            "linear needs x [n,in] and w [out,in], not %s and %s",
            tl_shape_text(left, X->ndim, X->dim), tl_shape_text(right, W->ndim, W->dim));
    *g = (tl_linear_geom){.n = X->dim[0], .in = X->dim[1], .out = W->dim[0]};
    TL_NEED(!b || b->value->size == (size_t)g->out, TL_ESHAPE, "linear needs %d biases, not %zu",
            g->out, b ? b->value->size : 0);
    return tl_linear_check(g);
}

tl_status tl_op_linear(tl_tape *t, tl_var **y, tl_var *x, tl_var *w, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {x, w, b};
    tl_linear_geom g;
    TL_TRY(linear_geometry(&g, x->value, w->value, b));
    TL_TRY(tl_tape_value(t, y, 2, (int[]){g.n, g.out}));
    TL_TRY(ctx->ops->linear_fwd(ctx, (*y)->value->data, x->value->data, w->value->data,
                                b ? b->value->data : NULL, &g));
    if (!tl_tape_wants(t, input, 3)) return TL_OK;
    return tl_tape_record(t, NULL, "linear", linear_backward, *y, input, 3, &g, sizeof g);
}

static tl_status linear_relu_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): The backward rule of y = relu(z), z = x·wᵀ + b, in one node. Two nodes would
     * hand dz over in a gradient of z; here there is no variable z. So take memory for dz, have
     * relu_bwd put dy there where y > 0 (it adds: to what?), and give dz to linear_gradients.
     * tl_alloc_get and tl_alloc_put (tl/alloc.h) take memory for the length of this call: give it
     * back whatever fails; conv2d_backward below shows how. */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_op_linear_relu(tl_tape *t, tl_var **y, tl_var *x, tl_var *w, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {x, w, b};
    tl_linear_geom g;
    TL_TRY(linear_geometry(&g, x->value, w->value, b));
    TL_TRY(tl_tape_value(t, y, 2, (int[]){g.n, g.out}));
    tl_real *Y = (*y)->value->data;
    /* TODO(lab 4): y = relu(x·wᵀ + b) without memory for what lies between: two operations of
     * ctx->ops, the second one in place. b may be NULL. */
    (void)ctx, (void)Y;
    TL_TRY(TL_NOT_IMPLEMENTED());
    if (!tl_tape_wants(t, input, 3)) return TL_OK;
    return tl_tape_record(t, NULL, "linear_relu", linear_relu_backward, *y, input, 3, &g, sizeof g);
}

/* As linear_gradients; `work` is scratch for ctx->ops, taken and given back below. */
static tl_status conv2d_gradients(tl_tape *t, tl_node *node, void *work) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_conv2d_geom *g = node->saved;
    tl_var *x = node->input[0], *w = node->input[1], *b = node->input[2];
    const tl_real *dy = node->output->grad->data;
    tl_tensor *grad;
    if (x->needs_grad) {
        TL_TRY(tl_tape_grad(t, x, &grad));
        TL_TRY(ctx->ops->conv2d_bwd_input(ctx, grad->data, dy, w->value->data, g, work));
    }
    if (w->needs_grad) {
        TL_TRY(tl_tape_grad(t, w, &grad));
        TL_TRY(ctx->ops->conv2d_bwd_weight(ctx, grad->data, dy, x->value->data, g, work));
    }
    if (b && b->needs_grad) {
        TL_TRY(tl_tape_grad(t, b, &grad));
        TL_TRY(ctx->ops->conv2d_bwd_bias(ctx, grad->data, dy, g));
    }
    return TL_OK;
}

/* Columns are scratch of one call, far larger than the tensors: taken and given back around it, so
 * that all convolutions of a net share the same memory. */
static tl_status conv2d_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    void *work;
    TL_TRY(
        tl_alloc_get(ctx->alloc, &work, tl_conv2d_work_bytes(node->saved, ctx->ops->column_bytes)));
    tl_status status = conv2d_gradients(t, node, work);
    tl_alloc_put(ctx->alloc, work);
    return status;
}

/* Completes the attributes by the sizes of x and w. */
static tl_status conv2d_geometry(tl_conv2d_geom *g, const tl_tensor *X, const tl_tensor *W,
                                 const tl_var *b) {
    char left[TL_SHAPE_TEXT], right[TL_SHAPE_TEXT];
    TL_NEED(X->ndim == 4 && W->ndim == 4 && X->dim[1] == W->dim[1], TL_ESHAPE,
            "conv2d needs x [n,c,h,w] and w [k,c,r,s], not %s and %s",
            tl_shape_text(left, X->ndim, X->dim), tl_shape_text(right, W->ndim, W->dim));
    g->n = X->dim[0], g->c = X->dim[1], g->h = X->dim[2], g->w = X->dim[3];
    g->k = W->dim[0], g->r = W->dim[2], g->s = W->dim[3];
    TL_NEED(!b || b->value->size == (size_t)g->k, TL_ESHAPE,
            "conv2d needs one bias per output channel, %d, not %zu", g->k, b ? b->value->size : 0);
    return tl_conv2d_check(g);
}

tl_status tl_op_conv2d(tl_tape *t, tl_var **y, tl_var *x, tl_var *w, tl_var *b,
                       const tl_conv2d_geom *attributes) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {x, w, b};
    tl_conv2d_geom g = *attributes;
    void *work;
    TL_TRY(conv2d_geometry(&g, x->value, w->value, b));
    TL_TRY(tl_tape_value(t, y, 4, (int[]){g.n, g.k, g.p, g.q}));
    TL_TRY(tl_alloc_get(ctx->alloc, &work, tl_conv2d_work_bytes(&g, ctx->ops->column_bytes)));
    tl_status status = ctx->ops->conv2d_fwd(ctx, (*y)->value->data, x->value->data, w->value->data,
                                            b ? b->value->data : NULL, &g, work);
    tl_alloc_put(ctx->alloc, work);
    TL_TRY(status);
    if (!tl_tape_wants(t, input, 3)) return TL_OK;
    return tl_tape_record(t, NULL, "conv2d", conv2d_backward, *y, input, 3, &g, sizeof g);
}

/* The winners are where forward left them, and the geometry is what it saved. */
static tl_status maxpool2d_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_tensor *dx;
    TL_TRY(tl_tape_grad(t, node->input[0], &dx));
    return ctx->ops->maxpool2d_bwd(ctx, dx->data, node->output->grad->data, node->scratch[0],
                                   node->saved);
}

tl_status tl_op_maxpool2d(tl_tape *t, tl_var **y, tl_var *x, const tl_pool2d_geom *attributes) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_tensor *X = x->value;
    tl_pool2d_geom g = *attributes;
    char shape[TL_SHAPE_TEXT];
    TL_NEED(X->ndim == 4, TL_ESHAPE, "maxpool2d needs x [n,c,h,w], not %s",
            tl_shape_text(shape, X->ndim, X->dim));
    g.n = X->dim[0], g.c = X->dim[1], g.h = X->dim[2], g.w = X->dim[3];
    TL_TRY(tl_pool2d_check(&g));
    TL_TRY(tl_tape_value(t, y, 4, (int[]){g.n, g.c, g.p, g.q}));
    /* TODO(lab 4): Saved values. Backward, given above, finds the winners in node->scratch[0] and
     * the geometry in node->saved: leave them there. (1) Memory for the winners, one int32_t for
     * each element of y, that lives as long as the tape's nodes: which function of tl/tape.h takes
     * such? (2) y and the winners, through ctx->ops. (3) If the tape wants it, a node: record it as
     * linear above does, with g as what is saved, but have the node given to you. */
    (void)ctx, (void)maxpool2d_backward;
    return TL_NOT_IMPLEMENTED();
}

/* What softmax_xent's backward rule needs; the arrays are the caller's (tl/ops.h). */
typedef struct xent_saved {
    const int32_t *label;
    const tl_real *prob;
} xent_saved;

static tl_status softmax_xent_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): The backward rule of the loss. Forward saved label and prob (node->saved); the
     * gradient of the loss itself lies in node->output->grad, one number in device memory, which
     * need not be 1: the loss may have been scaled. One call of ctx->ops; which pointer is which?
     */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_op_softmax_xent(tl_tape *t, tl_var **loss, tl_var *x, const int32_t *label,
                             tl_real *row_loss, tl_real *prob) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_tensor *X = x->value;
    char shape[TL_SHAPE_TEXT];
    TL_NEED(X->ndim == 2, TL_ESHAPE, "softmax_xent needs logits [n,classes], not %s",
            tl_shape_text(shape, X->ndim, X->dim));
    TL_TRY(tl_tape_value(t, loss, 1, (int[]){1}));
    TL_TRY(ctx->ops->softmax_xent_fwd(ctx, (*loss)->value->data, row_loss, prob, X->data, label,
                                      X->dim[0], X->dim[1]));
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    xent_saved saved = {label, prob};
    return tl_tape_record(t, NULL, "softmax_xent", softmax_xent_backward, *loss, &x, 1, &saved,
                          sizeof saved);
}
