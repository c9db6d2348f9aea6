/* ops_regularise.c: batch normalisation and dropout as differentiable operations (tl/ops.h). */
#include "tl/ops.h"

static tl_status batchnorm_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): Extra credit. The backward rule of batch norm: one call of ctx->ops forms all
     * three gradients from the same two sums, so each of them needs a place, wanted or not. mean
     * and inv_std of forward lie in node->scratch. */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
}

static tl_status batchnorm_training(tl_tape *t, tl_var **y, tl_var *x, tl_var *gamma, tl_var *beta,
                                    tl_tensor *running_mean, tl_tensor *running_var,
                                    const tl_batchnorm_geom *g) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {x, gamma, beta};
    void *mean, *inv_std;
    TL_TRY(tl_tape_scratch(t, &mean, (size_t)g->c * sizeof(tl_real)));
    TL_TRY(tl_tape_scratch(t, &inv_std, (size_t)g->c * sizeof(tl_real)));
    /* TODO(lab 4): Extra credit. y, and mean and inv_std for backward, through ctx->ops. */
    (void)ctx, (void)y, (void)running_mean, (void)running_var;
    TL_TRY(TL_NOT_IMPLEMENTED());
    if (!tl_tape_wants(t, input, 3)) return TL_OK;
    tl_node *node;
    TL_TRY(tl_tape_record(t, &node, "batchnorm", batchnorm_backward, *y, input, 3, g, sizeof *g));
    node->scratch[0] = mean;
    node->scratch[1] = inv_std;
    return TL_OK;
}

tl_status tl_op_batchnorm(tl_tape *t, tl_var **y, tl_var *x, tl_var *gamma, tl_var *beta,
                          tl_tensor *running_mean, tl_tensor *running_var, double eps,
                          double momentum, bool training) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_tensor *X = x->value;
    tl_var *input[] = {x, gamma, beta};
    char shape[TL_SHAPE_TEXT];
    TL_NEED(X->ndim == 4 || X->ndim == 2, TL_ESHAPE, "batchnorm needs [n,c,h,w] or [n,c], not %s",
            tl_shape_text(shape, X->ndim, X->dim));
    TL_NEED(gamma->value->size == (size_t)X->dim[1] && beta->value->size == (size_t)X->dim[1] &&
                running_mean->size == (size_t)X->dim[1] && running_var->size == (size_t)X->dim[1],
            TL_ESHAPE, "batchnorm of %s needs %d gammas, betas, means and variances",
            tl_shape_text(shape, X->ndim, X->dim), X->dim[1]);
    tl_batchnorm_geom g = {X->dim[0], X->dim[1], X->dim[2] * X->dim[3], eps, momentum};
    TL_TRY(tl_tape_value(t, y, X->ndim, X->dim));
    if (training) return batchnorm_training(t, y, x, gamma, beta, running_mean, running_var, &g);
    TL_NEED(!tl_tape_wants(t, input, 3), TL_EINVAL,
            "batchnorm with running statistics has no backward rule: turn recording off, or train");
    /* TODO(lab 4): Extra credit. y from the running statistics, through ctx->ops. */
    (void)ctx;
    return TL_NOT_IMPLEMENTED();
}

static tl_status dropout_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): Extra credit. The backward rule of dropout: the same draws again. From which
     * step number do they come, and may it have changed since forward? */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_op_dropout(tl_tape *t, tl_var **y, tl_var *x, double p, uint32_t layer) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_dropout_geom g = {.n = x->value->size, .p = p, .layer = layer};
    TL_TRY(tl_tape_value(t, y, x->value->ndim, x->value->dim));
    /* TODO(lab 4): Extra credit. y = dropout(x) for the step in ctx->step, through ctx->ops. */
    (void)ctx;
    TL_TRY(TL_NOT_IMPLEMENTED());
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    return tl_tape_record(t, NULL, "dropout", dropout_backward, *y, &x, 1, &g, sizeof g);
}
