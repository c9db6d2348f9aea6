/* own.c: an operation of one's own and its rule (tl/own.h). */
#include "tl/own.h"

static tl_status own_backward(tl_tape *t, tl_node *node) {
    /* TODO(lab 4): The rule of your operation. Take the derivative of one element of y by each
     * input that stands in it; what you need of forward lies in node->scratch, or still in
     * node->input. Add to the gradients of inputs that want one. There is nothing to compare with
     * but `make gradcheck`. */
    (void)t, (void)node;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_own(tl_tape *t, tl_var **y, tl_var *a, tl_var *b) {
    tl_ctx *ctx = tl_tape_ctx(t);
    tl_var *input[] = {a, b};
    TL_NEED(tl_tensor_same_shape(a->value, b->value), TL_ESHAPE, "own needs equal shapes");
    TL_TRY(tl_tape_value(t, y, a->value->ndim, a->value->dim));
    /* TODO(lab 4): y = your formula of a and b, of a's shape, which has to bend (tl/own.h): a
     * square, a product of three, a row times itself. Only operations of ctx->ops; arrays in
     * between, and what backward will need, from tl_tape_scratch. Then a node, if the tape wants
     * it. */
    (void)ctx, (void)input, (void)own_backward;
    return TL_NOT_IMPLEMENTED();
}
