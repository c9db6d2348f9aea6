/* ops_math.c: sums, products and shapes as differentiable operations (tl/ops.h).
 *
 * Forward is given in all of them, and so are the rules of add, scale and reshape: read add first,
 * for every operation has its three steps. Compute y at once; ask the tape whether anybody will
 * want a gradient; leave a node with the rule. */
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

/* Given, and the pattern of every rule: ask whether x wants a gradient; have it made, with zeros,
 * if it is not there yet; add to it. grad(x) += factor * dy. */
static tl_status send_scaled(tl_tape *t, tl_var *x, const tl_tensor *dy, tl_real factor) {
    if (!x->needs_grad) return TL_OK;
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_tensor *dx;
    TL_TRY(tl_tape_grad(t, x, &dx));
    return ctx->ops->axpy(ctx, dx->data, dy->data, dx->size, factor);
}

/* Each summand gets dy. In x + x both are the same variable, and it gets dy twice. */
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

//@lab 4:
/* y = a*b: each factor's gradient is dy times the other factor. */
//@end
static tl_status mul_backward(tl_tape *t, tl_node *node) {
    //@lab 4: The backward rule of y = a * b, element by element: da += dy * b, db += dy * a. The
    //@  values that it needs were saved by nobody: they are still in node->input. Each input is
    //@  asked for itself whether it wants a gradient, and what is sent is added: tl_mul_add
    //@  (tl/elementwise.h) does both, and is mul_add in ctx->ops. In x * x both inputs are x.
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
    //@skeleton
    // (void)t, (void)node;
    // return TL_NOT_IMPLEMENTED();
    //@end
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

/* What forward saved is a copy of its factor. */
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

//@lab 4:
/* y = factor * sum(x): every element gets factor * dy. dy stays on the device, so the broadcast is
 * a product of a column [n,1] filled with the factor and the 1x1 matrix dy. */
//@end
static tl_status sum_backward(tl_tape *t, tl_node *node) {
    //@lab 4: The backward rule of y = factor * sum(x): every element of x gets factor * dy, and dy
    //@  is one number in device memory, which the host must not read. Which operation of ctx->ops
    //@  spreads one number over an array? A matrix product can: with which matrices of how many
    //@  rows and columns? Memory for one of them: tl_tape_scratch.
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_tensor *dx;
    void *column;
    TL_TRY(tl_tape_grad(t, node->input[0], &dx));
    TL_TRY(tl_tape_scratch(t, &column, dx->size * sizeof(tl_real)));
    TL_TRY(ctx->ops->fill(ctx, column, dx->size, TL_R(*(double *)node->saved)));
    tl_matmul_geom g = {.m = (int)dx->size, .n = 1, .k = 1, .accumulate = 1};
    return ctx->ops->gemm(ctx, dx->data, column, node->output->grad->data, &g);
    //@skeleton
    // (void)t, (void)node;
    // return TL_NOT_IMPLEMENTED();
    //@end
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

//@lab 4:
/* y = a·b: da += dy·bᵀ and db += aᵀ·dy. */
//@end
static tl_status matmul_backward(tl_tape *t, tl_node *node) {
    //@lab 4: The backward rule of y = a·b. Which product of dy with the other factor has the shape
    //@  of a, and which that of b? tl_gemm reads operands transposed if asked to, and adds if
    //@  asked to.
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
    //@skeleton
    // (void)t, (void)node;
    // return TL_NOT_IMPLEMENTED();
    //@end
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

/* The same numbers in the same order. */
static tl_status reshape_backward(tl_tape *t, tl_node *node) {
    return send_scaled(t, node->input[0], node->output->grad, TL_R(1));
}

tl_status tl_op_reshape(tl_tape *t, tl_var **y, tl_var *x, int ndim, const int dim[]) {
    TL_TRY(tl_tape_wrap(t, y, x->value, ndim, dim, false));
    if (!tl_tape_wants(t, &x, 1)) return TL_OK;
    return tl_tape_record(t, NULL, "reshape", reshape_backward, *y, &x, 1, NULL, 0);
}
