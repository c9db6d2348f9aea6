/* module_layers.c: the layers as modules: what each owns, and its forward function (tl/module.h).
 * All forward functions but dropout's are given, and the state of batch norm: it is made by the
 * function that you write first. */
#include <stdlib.h>

#include "tl/init.h"
#include "tl/module.h"

typedef tl_status (*forward_fn)(tl_module *, tl_tape *, tl_var **, tl_var *, bool);

static tl_status new_module(tl_module **m, tl_ctx *ctx, const char *kind, forward_fn forward) {
    *m = calloc(1, sizeof **m);
    TL_NEED(*m, TL_ENOMEM, "no memory for a module");
    (*m)->kind = kind;
    (*m)->ctx = ctx;
    (*m)->forward = forward;
    return TL_OK;
}

/* Ends a constructor: on failure nothing is left and *m is NULL. */
static tl_status finish(tl_module **m, tl_status status) {
    if (status == TL_OK) return TL_OK;
    tl_module_free(*m);
    *m = NULL;
    return status;
}

/* A parameter with value `fill` everywhere and gradient zero. */
static tl_status new_param(tl_var **param, tl_ctx *ctx, int ndim, const int dim[], tl_real fill) {
    //@lab 4: A parameter: a tl_var of the heap that needs a gradient, its value a new tensor
    //@  filled with `fill`, its gradient one of the same shape filled with zeros. Everything that
    //@  was made must hang on *param at once, so that tl_module_free finds it whatever fails
    //@  later.
    tl_var *v = *param = calloc(1, sizeof *v); /* the module frees it, whatever fails below */
    TL_NEED(v, TL_ENOMEM, "no memory for a parameter");
    v->needs_grad = true;
    TL_TRY(tl_tensor_new(&v->value, ctx, ndim, dim));
    TL_TRY(tl_tensor_new(&v->grad, ctx, ndim, dim));
    TL_TRY(ctx->ops->fill(ctx, v->value->data, v->value->size, fill));
    return ctx->ops->zero(ctx, v->grad->data, v->grad->size * sizeof(tl_real));
    //@skeleton
    // (void)ctx, (void)ndim, (void)dim, (void)fill;
    // *param = NULL;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

/* Overwrites a parameter by He-normal numbers of the seed's next stream. */
static tl_status draw_weights(tl_tensor *w, int fan_in, tl_module_seed *seed) {
    //@lab 4: He-normal numbers (tl/init.h) for all of w: draw them on the host, copy them to the
    //@  device, free what you took, on failure too. Each tensor of weights takes a stream number
    //@  of its own from `seed`: two layers of one shape must not be equal.
    tl_real *host = malloc(w->size * sizeof *host);
    TL_NEED(host, TL_ENOMEM, "no memory for %zu initial weights", w->size);
    tl_status status = tl_init_he_normal(host, w->size, fan_in, seed->seed, seed->next_stream++);
    if (status == TL_OK) status = tl_tensor_from_host(w, host);
    free(host);
    return status;
    //@skeleton
    // (void)w, (void)fan_in, (void)seed;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

/* weight and bias of a layer: He-normal and zero. */
static tl_status new_weight_and_bias(tl_module *m, int ndim, const int dim[], int fan_in,
                                     tl_module_seed *seed) {
    TL_TRY(new_param(&m->param[0], m->ctx, ndim, dim, TL_R(0)));
    TL_TRY(draw_weights(m->param[0]->value, fan_in, seed));
    return new_param(&m->param[1], m->ctx, 1, dim, TL_R(0)); /* dim[0] outputs */
}

static tl_status conv2d_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    (void)training;
    return tl_op_conv2d(t, y, x, m->param[0], m->param[1], &m->u.conv2d);
}

tl_status tl_module_conv2d(tl_module **m, tl_ctx *ctx, const tl_conv2d_geom *attributes,
                           tl_module_seed *seed) {
    const tl_conv2d_geom *a = attributes;
    TL_TRY(new_module(m, ctx, "conv2d", conv2d_forward));
    (*m)->u.conv2d = *a;
    return finish(
        m, new_weight_and_bias(*m, 4, (int[]){a->k, a->c, a->r, a->s}, a->c * a->r * a->s, seed));
}

static tl_status linear_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    (void)training;
    return tl_op_linear(t, y, x, m->param[0], m->param[1]);
}

tl_status tl_module_linear(tl_module **m, tl_ctx *ctx, int in, int out, tl_module_seed *seed) {
    TL_TRY(new_module(m, ctx, "linear", linear_forward));
    return finish(m, new_weight_and_bias(*m, 2, (int[]){out, in}, in, seed));
}

static tl_status maxpool2d_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    (void)training;
    return tl_op_maxpool2d(t, y, x, &m->u.pool2d);
}

tl_status tl_module_maxpool2d(tl_module **m, tl_ctx *ctx, const tl_pool2d_geom *attributes) {
    TL_TRY(new_module(m, ctx, "maxpool2d", maxpool2d_forward));
    (*m)->u.pool2d = *attributes;
    return TL_OK;
}

static tl_status relu_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    (void)m;
    (void)training;
    return tl_op_relu(t, y, x);
}

tl_status tl_module_relu(tl_module **m, tl_ctx *ctx) {
    return new_module(m, ctx, "relu", relu_forward);
}

static tl_status flatten_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    (void)m;
    (void)training;
    const tl_tensor *X = x->value;
    return tl_op_reshape(t, y, x, 2, (int[]){X->dim[0], X->dim[1] * X->dim[2] * X->dim[3]});
}

tl_status tl_module_flatten(tl_module **m, tl_ctx *ctx) {
    return new_module(m, ctx, "flatten", flatten_forward);
}

static tl_status dropout_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    //@lab 4: In training the operation of tl/ops.h; in evaluation y is x itself.
    if (training) return tl_op_dropout(t, y, x, m->u.dropout.p, m->u.dropout.layer);
    *y = x;
    return TL_OK;
    //@skeleton
    // (void)m, (void)t, (void)y, (void)x, (void)training;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_module_dropout(tl_module **m, tl_ctx *ctx, double p, uint32_t layer) {
    TL_NEED(p >= 0 && p < 1, TL_EINVAL, "dropout with p = %g: p must be at least 0 and below 1", p);
    TL_TRY(new_module(m, ctx, "dropout", dropout_forward));
    (*m)->u.dropout.p = p;
    (*m)->u.dropout.layer = layer;
    return TL_OK;
}

static tl_status batchnorm_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    return tl_op_batchnorm(t, y, x, m->param[0], m->param[1], m->buffer[0], m->buffer[1],
                           m->u.batchnorm.eps, m->u.batchnorm.momentum, training);
}

static tl_status new_batchnorm_state(tl_module *m, int channels) {
    const int dim[] = {channels};
    TL_TRY(new_param(&m->param[0], m->ctx, 1, dim, TL_R(1)));
    TL_TRY(new_param(&m->param[1], m->ctx, 1, dim, TL_R(0)));
    TL_TRY(tl_tensor_new(&m->buffer[0], m->ctx, 1, dim));
    TL_TRY(tl_tensor_new(&m->buffer[1], m->ctx, 1, dim));
    TL_TRY(m->ctx->ops->fill(m->ctx, m->buffer[0]->data, (size_t)channels, TL_R(0)));
    return m->ctx->ops->fill(m->ctx, m->buffer[1]->data, (size_t)channels, TL_R(1));
}

tl_status tl_module_batchnorm2d(tl_module **m, tl_ctx *ctx, int channels) {
    TL_TRY(new_module(m, ctx, "batchnorm2d", batchnorm_forward));
    (*m)->u.batchnorm.eps = 1e-5;
    (*m)->u.batchnorm.momentum = 0.1;
    return finish(m, new_batchnorm_state(*m, channels));
}
