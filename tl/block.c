/* block.c: layers that belong together, fused where the device can (block.h, tl/fused.h). */
#include "block.h"

#include <string.h>

#include "tl/loss.h"

/* ---- what both kinds share ---- */

/* The gradient of an intermediate result. *fresh: nothing has arrived yet, the memory is undefined
 * and the kernel overwrites it. NULL if none is wanted. */
static tl_status gradient_of(tl_tape *t, tl_var *v, tl_real **grad, bool *fresh) {
    *grad = NULL;
    *fresh = false;
    if (!v->needs_grad) return TL_OK;
    if (!v->grad) {
        tl_var *holder;
        TL_TRY(tl_tape_value(t, &holder, v->value->ndim, v->value->dim));
        v->grad = holder->value;
        *fresh = true;
    }
    *grad = v->grad->data;
    return TL_OK;
}

/* Adds to the gradient of a parameter. */
static tl_status parameter_gradient(tl_tape *t, tl_var *v, tl_real **grad) {
    tl_tensor *tensor;
    TL_TRY(tl_tape_grad(t, v, &tensor));
    *grad = tensor->data;
    return TL_OK;
}

static tl_status compose(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    *y = x;
    for (int i = 0; i < m->children; i++)
        TL_TRY(tl_module_forward(m->child[i], t, y, *y, training));
    return TL_OK;
}

static bool is(const tl_module *m, int child, const char *kind) {
    return child < m->children && strcmp(m->child[child]->kind, kind) == 0;
}

/* ---- convolution, ReLU, pool ---- */

/* Whether the block and this input are what the kernels of the table take; fills *g. */
static bool fused_conv2d(const tl_module *m, const tl_var *x, tl_conv2d_block *g) {
    const tl_backend *ops = m->ctx->ops;
    const tl_tensor *X = x->value;
    if (!ops->conv2d_block_fwd || !is(m, 0, "conv2d") || !is(m, 1, "relu")) return false;
    *g = (tl_conv2d_block){.conv = m->child[0]->u.conv2d, .pool = is(m, 2, "maxpool2d")};
    if (m->children != (g->pool ? 3 : 2) || X->ndim != 4 || X->dim[1] != g->conv.c) return false;
    if (g->pool) {
        const tl_pool2d_geom *p = &m->child[2]->u.pool2d;
        if (p->r != 2 || p->s != 2 || p->stride_h != 2 || p->stride_w != 2 || p->pad_h || p->pad_w)
            return false;
    }
    g->conv.n = X->dim[0], g->conv.h = X->dim[2], g->conv.w = X->dim[3];
    return tl_conv2d_check(&g->conv) == TL_OK && ops->conv2d_block_fits(g);
}

static tl_status conv2d_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_conv2d_block *g = node->saved;
    tl_var *x = node->input[0], *w = node->input[1], *b = node->input[2];
    tl_real *dx, *dw, *db;
    bool fresh;
    void *work;
    TL_TRY(gradient_of(t, x, &dx, &fresh));
    TL_TRY(parameter_gradient(t, w, &dw));
    TL_TRY(parameter_gradient(t, b, &db));
    TL_TRY(tl_alloc_get(ctx->alloc, &work, tl_conv2d_block_work_bytes(g)));
    tl_status status =
        ctx->ops->conv2d_block_bwd(ctx, dx, dw, db, node->output->grad->data, node->scratch[0],
                                   x->value->data, w->value->data, g, fresh, work);
    tl_alloc_put(ctx->alloc, work);
    return status;
}

static tl_status conv2d_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x,
                                const tl_conv2d_block *g) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {x, m->child[0]->param[0], m->child[0]->param[1]};
    int shrink = g->pool ? 2 : 1;
    int dim[] = {g->conv.n, g->conv.k, g->conv.p / shrink, g->conv.q / shrink};
    bool wanted = tl_tape_wants(t, input, 3);
    void *code = NULL;
    TL_TRY(tl_tape_value(t, y, 4, dim));
    if (wanted) TL_TRY(tl_tape_scratch(t, &code, (*y)->value->size));
    TL_TRY(ctx->ops->conv2d_block_fwd(ctx, (*y)->value->data, code, x->value->data,
                                      input[1]->value->data, input[2]->value->data, g));
    if (!wanted) return TL_OK;
    tl_node *node;
    TL_TRY(tl_tape_record(t, &node, "conv2d block", conv2d_backward, *y, input, 3, g, sizeof *g));
    node->scratch[0] = code;
    return TL_OK;
}

/* ---- linear, ReLU ---- */

typedef struct linear_block {
    tl_linear_geom linear;
    bool relu;
} linear_block;

/* Also with a flatten before it, which changes no number: the linear layer reads x as [n, rest]. */
static bool fused_linear(const tl_module *m, const tl_var *x, linear_block *g) {
    const tl_tensor *X = x->value;
    int at = is(m, 0, "flatten");
    if (!m->ctx->ops->linear_block_fwd || !is(m, at, "linear")) return false;
    const tl_tensor *w = m->child[at]->param[0]->value;
    g->relu = is(m, at + 1, "relu");
    g->linear = (tl_linear_geom){.n = X->dim[0], .in = w->dim[1], .out = w->dim[0]};
    bool shape = at ? X->ndim == 4 : X->ndim == 2;
    return shape && m->children == at + 1 + g->relu &&
           X->size == (size_t)g->linear.n * (size_t)g->linear.in &&
           tl_linear_check(&g->linear) == TL_OK;
}

static tl_status linear_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const linear_block *g = node->saved;
    tl_var *x = node->input[0], *w = node->input[1], *b = node->input[2], *y = node->output;
    tl_real *dx, *dw, *db;
    bool fresh;
    TL_TRY(gradient_of(t, x, &dx, &fresh));
    TL_TRY(parameter_gradient(t, w, &dw));
    TL_TRY(parameter_gradient(t, b, &db));
    return ctx->ops->linear_block_bwd(ctx, dx, dw, db, y->grad->data,
                                      g->relu ? y->value->data : NULL, x->value->data,
                                      w->value->data, &g->linear, fresh);
}

static tl_status linear_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x,
                                const linear_block *g) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_module *linear = m->child[is(m, 0, "flatten")];
    tl_var *input[] = {x, linear->param[0], linear->param[1]};
    void *work;
    TL_TRY(tl_tape_value(t, y, 2, (int[]){g->linear.n, g->linear.out}));
    TL_TRY(tl_alloc_get(ctx->alloc, &work, tl_linear_block_work_bytes(&g->linear)));
    tl_status status =
        ctx->ops->linear_block_fwd(ctx, (*y)->value->data, x->value->data, input[1]->value->data,
                                   input[2]->value->data, &g->linear, g->relu, work);
    tl_alloc_put(ctx->alloc, work);
    TL_TRY(status);
    if (!tl_tape_wants(t, input, 3)) return TL_OK;
    return tl_tape_record(t, NULL, "linear block", linear_backward, *y, input, 3, g, sizeof *g);
}

/* ---- the module ---- */

static tl_status block_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    tl_conv2d_block conv;
    linear_block linear;
    if (fused_conv2d(m, x, &conv)) return conv2d_forward(m, t, y, x, &conv);
    if (fused_linear(m, x, &linear)) return linear_forward(m, t, y, x, &linear);
    return compose(m, t, y, x, training);
}

tl_status tl_module_block(tl_module **m, tl_ctx *ctx) {
    TL_TRY(tl_module_sequential(m, ctx));
    (*m)->forward = block_forward;
    return TL_OK;
}

/* ---- the loss ---- */

typedef struct head_saved {
    const int32_t *label;
    const tl_real *prob;
} head_saved;

static tl_status head_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const head_saved *saved = node->saved;
    const tl_real *dloss = node->output->grad->data;
    tl_var *x = node->input[0];
    int rows = x->value->dim[0], classes = x->value->dim[1];
    tl_real *dx;
    bool fresh;
    TL_TRY(gradient_of(t, x, &dx, &fresh));
    if (fresh)
        return ctx->ops->xent_head_bwd(ctx, dx, dloss, saved->prob, saved->label, rows, classes);
    return ctx->ops->softmax_xent_bwd(ctx, dx, dloss, saved->prob, saved->label, rows, classes);
}

tl_status tl_loss_head(tl_tape *t, tl_var **loss, tl_var *logits, const int32_t *label,
                       tl_real *row_loss, tl_real *prob, tl_metric_sums *sums) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_tensor *X = logits->value;
    if (!ctx->ops->xent_head_fwd || X->ndim != 2) {
        TL_TRY(tl_op_softmax_xent(t, loss, logits, label, row_loss, prob));
        return ctx->ops->metrics_add(ctx, sums, row_loss, X->data, label, X->dim[0], X->dim[1]);
    }
    TL_TRY(tl_tape_value(t, loss, 1, (int[]){1}));
    TL_TRY(ctx->ops->xent_head_fwd(ctx, (*loss)->value->data, row_loss, prob, sums, X->data, label,
                                   X->dim[0], X->dim[1]));
    if (!tl_tape_wants(t, &logits, 1)) return TL_OK;
    head_saved saved = {label, prob};
    return tl_tape_record(t, NULL, "loss head", head_backward, *loss, &logits, 1, &saved,
                          sizeof saved);
}
