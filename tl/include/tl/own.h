/* tl/own.h: an operation of the student's own, forward and backward. (lab 4)
 *
 * Which formula it computes, the student says; `make gradcheck` asks whether forward and backward
 * agree. It compares the gradients with central differences of the operation's own forward. */
#ifndef TL_OWN_H
#define TL_OWN_H

#include "tl/backend.h"
#include "tl/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = f(a, b), a variable of the tape. a and b have one shape, else TL_ESHAPE, and y has it, too; b
 * need not stand in the formula.
 *
 * f must bend: moved along at least one element of a or b, while all others are held, y is no
 * straight line, nor one with corners. So f is none of the sums, products and layers of tl/ops.h,
 * which are linear in each input, or in pieces. f is smooth wherever a, b, a + b and a - b are not
 * 0; it draws no random numbers and keeps nothing between calls but what lies in its node.
 *
 * As any operation (tl/ops.h): it computes with ctx->ops alone and leaves a node if tl_tape_wants
 * says so; its rule adds to gradients and skips inputs that want none; what backward needs of
 * forward lives as long as the node, for a and b may go through it several times before; and the
 * rule leaves it as it is, for backward may come to a node again (tl_tape_backward). */
tl_status tl_own(tl_tape *t, tl_var **y, tl_var *a, tl_var *b);

#ifdef __cplusplus
}
#endif
#endif
