/* own.c: an operation of one's own and its rule (tl/own.h). */
#include "tl/own.h"

//@lab 4:
/* The reference's is the squared difference, y = (a - b)^2. Forward saves d = a - b: then dy/da is
 * 2d and dy/db is -2d. */
//@end
static tl_status own_backward(tl_tape *t, tl_node *node) {
    //@lab 4: The rule of your operation. Take the derivative of one element of y by each input that
    //@  stands in it; what you need of forward lies in node->scratch, or still in node->input. Add
    //@  to the gradients of inputs that want one. There is nothing to compare with but
    //@  `make gradcheck`.
    tl_ctx *ctx = tl_tape_ctx(t);
    size_t n = node->output->value->size;
    void *part; /* d * dy */
    TL_TRY(tl_tape_scratch(t, &part, n * sizeof(tl_real)));
    TL_TRY(ctx->ops->mul(ctx, part, node->scratch[0], node->output->grad->data, n));
    for (int i = 0; i < 2; i++) {
        tl_tensor *grad;
        if (!node->input[i]->needs_grad) continue;
        TL_TRY(tl_tape_grad(t, node->input[i], &grad));
        TL_TRY(ctx->ops->axpy(ctx, grad->data, part, n, TL_R(i ? -2 : 2)));
    }
    return TL_OK;
    //@skeleton
    // (void)t, (void)node;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_own(tl_tape *t, tl_var **y, tl_var *a, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {a, b};
    TL_NEED(tl_tensor_same_shape(a->value, b->value), TL_ESHAPE, "own needs equal shapes");
    TL_TRY(tl_tape_value(t, y, a->value->ndim, a->value->dim));
    //@lab 4: y = your formula of a and b, of a's shape, which has to bend (tl/own.h): a square, a
    //@  product of three, a row times itself. Only operations of ctx->ops; arrays in between, and
    //@  what backward will need, from tl_tape_scratch. Then a node, if the tape wants it.
    size_t n = a->value->size;
    void *d;
    TL_TRY(tl_tape_scratch(t, &d, n * sizeof(tl_real)));
    TL_TRY(ctx->ops->copy(ctx, d, a->value->data, n * sizeof(tl_real)));
    TL_TRY(ctx->ops->axpy(ctx, d, b->value->data, n, TL_R(-1)));
    TL_TRY(ctx->ops->mul(ctx, (*y)->value->data, d, d, n));
    if (!tl_tape_wants(t, input, 2)) return TL_OK;
    tl_node *node;
    TL_TRY(tl_tape_record(t, &node, "own", own_backward, *y, input, 2, NULL, 0));
    node->scratch[0] = d;
    return TL_OK;
    //@skeleton
    // (void)ctx, (void)input, (void)own_backward;
    // return TL_NOT_IMPLEMENTED();
    //@end
}
