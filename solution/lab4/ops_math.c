/* ops_math.c: sums, products and shapes as differentiable operations (tl/ops.h). */
#include <limits.h>

#include "tl/ops.h"

/* y = a new variable of x's shape. */
static tl_status like(tl_tape *t, tl_var **y, const tl_var *x) {
    return tl_tape_value(t, y, x->value->ndim, x->value->dim);
}

static tl_status need_same_shape(const char *op, const tl_var *a, const tl_var *b) {
    char left[TL_SHAPE_TEXT], right[TL_SHAPE_TEXT];
    TL_NEED(tl_tensor_same_shape(a->value, b->value), TL_ESHAPE,
            "%s needs equal shapes, not %s and %s", op,
            tl_shape_text(left, a->value->ndim, a->value->dim),
            tl_shape_text(right, b->value->ndim, b->value->dim));
    return TL_OK;
}

/* grad(x) += factor * dy, if x wants it. */
static tl_status send_scaled(tl_tape *t, tl_var *x, const tl_tensor *dy, tl_real factor) {
    if (!x->needs_grad) return TL_OK;
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_tensor *dx;
    TL_TRY(tl_tape_grad(t, x, &dx));
    return ctx->ops->axpy(ctx, dx->data, dy->data, dx->size, factor);
}

static tl_status add_backward(tl_tape *t, tl_node *node) {
    TL_TRY(send_scaled(t, node->input[0], node->output->grad, TL_R(1)));
    return send_scaled(t, node->input[1], node->output->grad, TL_R(1));
}

tl_status tl_op_add(tl_tape *t, tl_var **y, tl_var *a, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {a, b};
    TL_TRY(need_same_shape("add", a, b));
    TL_TRY(like(t, y, a));
    TL_TRY(ctx->ops->add(ctx, (*y)->value->data, a->value->data, b->value->data, a->value->size));
    if (!tl_tape_wants(t, input, 2)) return TL_OK;
    return tl_tape_record(t, NULL, "add", add_backward, *y, input, 2, NULL, 0);
}

/* y = a*b: each factor's gradient is dy times the other factor. */
static tl_status mul_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    for (int i = 0; i < 2; i++) {
        tl_var *x = node->input[i], *other = node->input[1 - i];
        if (!x->needs_grad) continue;
        tl_tensor *dx;
        TL_TRY(tl_tape_grad(t, x, &dx));
        TL_TRY(ctx->ops->mul_add(ctx, dx->data, other->value->data, node->output->grad->data,
                                 dx->size));
    }
    return TL_OK;
}

tl_status tl_op_mul(tl_tape *t, tl_var **y, tl_var *a, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {a, b};
    TL_TRY(need_same_shape("mul", a, b));
    TL_TRY(like(t, y, a));
    TL_TRY(ctx->ops->mul(ctx, (*y)->value->data, a->value->data, b->value->data, a->value->size));
    if (!tl_tape_wants(t, input, 2)) return TL_OK;
    return tl_tape_record(t, NULL, "mul", mul_backward, *y, input, 2, NULL, 0);
}

static tl_status scale_backward(tl_tape *t, tl_node *node) {
    return send_scaled(t, node->input[0], node->output->grad, TL_R(*(double *)node->saved));
}

tl_status tl_op_scale(tl_tape *t, tl_var **y, tl_var *x, double factor) {
    tl_ctx *ctx = tl_tape_ctx(t);
    TL_TRY(like(t, y, x));
    TL_TRY(ctx->ops->scale(ctx, (*y)->value->data, x->value->data, x->value->size, TL_R(factor)));
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    return tl_tape_record(t, NULL, "scale", scale_backward, *y, &x, 1, &factor, sizeof factor);
}

/* y = factor * sum(x): every element gets factor * dy. dy stays on the device, so the broadcast is
 * a product of a column [n,1] filled with the factor and the 1x1 matrix dy. */
static tl_status sum_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_tensor *dx;
    void *column;
    TL_TRY(tl_tape_grad(t, node->input[0], &dx));
    TL_TRY(tl_tape_scratch(t, &column, dx->size * sizeof(tl_real)));
    TL_TRY(ctx->ops->fill(ctx, column, dx->size, TL_R(*(double *)node->saved)));
    tl_matmul_geom g = {.m = (int)dx->size, .n = 1, .k = 1, .accumulate = 1};
    return ctx->ops->gemm(ctx, dx->data, column, node->output->grad->data, &g);
}

static tl_status sum_times(tl_tape *t, tl_var **y, tl_var *x, const char *op, double factor) {
    tl_ctx *ctx = tl_tape_ctx(t);
    TL_NEED(x->value->size <= INT_MAX, TL_EINVAL, "%s of more than %d elements", op, INT_MAX);
    TL_TRY(tl_tape_value(t, y, 1, (int[]){1}));
    tl_real *sum = (*y)->value->data;
    TL_TRY(ctx->ops->sum(ctx, sum, x->value->data, x->value->size));
    TL_TRY(ctx->ops->scale(ctx, sum, sum, 1, TL_R(factor)));
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    return tl_tape_record(t, NULL, op, sum_backward, *y, &x, 1, &factor, sizeof factor);
}

tl_status tl_op_sum(tl_tape *t, tl_var **y, tl_var *x) { return sum_times(t, y, x, "sum", 1); }

tl_status tl_op_mean(tl_tape *t, tl_var **y, tl_var *x) {
    return sum_times(t, y, x, "mean", 1 / (double)x->value->size);
}

/* y = a·b: da += dy·bᵀ and db += aᵀ·dy. */
static tl_status matmul_backward(tl_tape *t, tl_node *node) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *a = node->input[0], *b = node->input[1];
    const tl_real *dy = node->output->grad->data;
    int m = a->value->dim[0], k = a->value->dim[1], n = b->value->dim[1];
    tl_tensor *grad;
    if (a->needs_grad) {
        tl_matmul_geom g = {.m = m, .n = k, .k = n, .trans_b = 1, .accumulate = 1};
        TL_TRY(tl_tape_grad(t, a, &grad));
        TL_TRY(ctx->ops->gemm(ctx, grad->data, dy, b->value->data, &g));
    }
    if (b->needs_grad) {
        tl_matmul_geom g = {.m = k, .n = n, .k = m, .trans_a = 1, .accumulate = 1};
        TL_TRY(tl_tape_grad(t, b, &grad));
        TL_TRY(ctx->ops->gemm(ctx, grad->data, a->value->data, dy, &g));
    }
    return TL_OK;
}

tl_status tl_op_matmul(tl_tape *t, tl_var **y, tl_var *a, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    const tl_tensor *A = a->value, *B = b->value;
    tl_var *input[] = {a, b};
    char left[TL_SHAPE_TEXT], right[TL_SHAPE_TEXT];
    TL_NEED(A->ndim == 2 && B->ndim == 2 && A->dim[1] == B->dim[0], TL_ESHAPE,
            "matmul needs [m,k] and [k,n], not %s and %s", tl_shape_text(left, A->ndim, A->dim),
            tl_shape_text(right, B->ndim, B->dim));
    tl_matmul_geom g = {.m = A->dim[0], .n = B->dim[1], .k = A->dim[1]};
    TL_TRY(tl_matmul_check(&g));
    TL_TRY(tl_tape_value(t, y, 2, (int[]){g.m, g.n}));
    TL_TRY(ctx->ops->gemm(ctx, (*y)->value->data, A->data, B->data, &g));
    if (!tl_tape_wants(t, input, 2)) return TL_OK;
    return tl_tape_record(t, NULL, "matmul", matmul_backward, *y, input, 2, NULL, 0);
}

static tl_status reshape_backward(tl_tape *t, tl_node *node) {
    return send_scaled(t, node->input[0], node->output->grad, TL_R(1));
}

tl_status tl_op_reshape(tl_tape *t, tl_var **y, tl_var *x, int ndim, const int dim[]) {
    TL_TRY(tl_tape_wrap(t, y, x->value, ndim, dim, false));
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    return tl_tape_record(t, NULL, "reshape", reshape_backward, *y, &x, 1, NULL, 0);
}
