/* ops_layers.c: the layers of a network as differentiable operations (tl/ops.h). */
#include "tl/ops.h"

static tl_status relu_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): The backward rule of ReLU: the gradient of the input by tl_tape_grad, then one
     * call of ctx->ops. tl/layers.h says which of x and y it reads. */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_op_relu(tl_tape *t, tl_var **y, tl_var *x) {
    tl_ctx *ctx = tl_tape_ctx(t);
    TL_TRY(tl_tape_value(t, y, x->value->ndim, x->value->dim));
    /* TODO(lab 4): y = relu(x), through ctx->ops. */
    (void)ctx;
    TL_TRY(TL_NOT_IMPLEMENTED());
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    return tl_tape_record(t, NULL, "relu", relu_backward, *y, &x, 1, NULL, 0);
}

static tl_status linear_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): The backward rule of y = x·wᵀ + b: up to three gradients, each only if its
     * variable wants one (needs_grad); there may be no bias. The geometry was saved by forward. */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_op_linear(tl_tape *t, tl_var **y, tl_var *x, tl_var *w, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_tensor *X = x->value, *W = w->value;
    tl_var *input[] = {x, w, b};
    char left[TL_SHAPE_TEXT], right[TL_SHAPE_TEXT];
    TL_NEED(X->ndim == 2 && W->ndim == 2 && X->dim[1] == W->dim[1], TL_ESHAPE,
            "linear needs x [n,in] and w [out,in], not %s and %s",
            tl_shape_text(left, X->ndim, X->dim), tl_shape_text(right, W->ndim, W->dim));
    tl_linear_geom g = {.n = X->dim[0], .in = X->dim[1], .out = W->dim[0]};
    TL_NEED(!b || b->value->size == (size_t)g.out, TL_ESHAPE, "linear needs %d biases, not %zu",
            g.out, b ? b->value->size : 0);
    TL_TRY(tl_linear_check(&g));
    TL_TRY(tl_tape_value(t, y, 2, (int[]){g.n, g.out}));
    /* TODO(lab 4): y = x·wᵀ + b, through ctx->ops; b may be NULL. */
    (void)ctx;
    TL_TRY(TL_NOT_IMPLEMENTED());
    if (!tl_tape_wants(t, input, 3)) return TL_OK;
    return tl_tape_record(t, NULL, "linear", linear_backward, *y, input, 3, &g, sizeof g);
}

static tl_status conv2d_gradients(tl_tape *t, tl_node *node, void *work) {
    /* TODO(lab 4): The backward rule of the convolution: up to three gradients, each only if its
     * variable wants one (needs_grad); there may be no bias. `work` is scratch for ctx->ops; who
     * takes it and gives it back stands below. */
    (void)t, (void)node, (void)work;
    return TL_NOT_IMPLEMENTED();
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
    /* TODO(lab 4): y = conv(x, w) + b, through ctx->ops, with its status kept: work is given back
     * whatever happens. */
    tl_status status = TL_NOT_IMPLEMENTED();
    tl_alloc_put(ctx->alloc, work);
    TL_TRY(status);
    if (!tl_tape_wants(t, input, 3)) return TL_OK;
    return tl_tape_record(t, NULL, "conv2d", conv2d_backward, *y, input, 3, &g, sizeof g);
}

static tl_status maxpool2d_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): The backward rule of max pooling: forward left the winners in node->scratch[0],
     * and the geometry in node->saved. */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
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
    void *argmax;
    /* TODO(lab 4): y and the winners, through ctx->ops. The winners are needed again in backward,
     * so they must live as long as the tape's nodes: which memory of the tape does? One int32_t for
     * each element of y. */
    (void)ctx;
    argmax = NULL;
    TL_TRY(TL_NOT_IMPLEMENTED());
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    tl_node *node;
    TL_TRY(tl_tape_record(t, &node, "maxpool2d", maxpool2d_backward, *y, &x, 1, &g, sizeof g));
    node->scratch[0] = argmax;
    return TL_OK;
}

/* What softmax_xent's backward rule needs; the arrays are the caller's (tl/ops.h). */
typedef struct xent_saved {
    const int32_t *label;
    const tl_real *prob;
} xent_saved;

static tl_status softmax_xent_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): The backward rule of the loss. dy is one number in device memory, the gradient
     * of the loss itself: it need not be 1. label and prob were saved by forward. */
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
    /* TODO(lab 4): The mean loss, through ctx->ops; row_loss and prob are the caller's. */
    (void)ctx, (void)row_loss;
    TL_TRY(TL_NOT_IMPLEMENTED());
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    xent_saved saved = {label, prob};
    return tl_tape_record(t, NULL, "softmax_xent", softmax_xent_backward, *loss, &x, 1, &saved,
                          sizeof saved);
}
