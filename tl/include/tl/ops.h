/* tl/ops.h: differentiable operations: forward by the dispatch table, a node on the tape. (lab 4)
 *
 * Each makes *y as a variable of the tape. Shapes are checked: TL_ESHAPE names both. Operations and
 * their rules only queue work, for a step is captured as a whole: none waits, or copies between
 * host and device. A rule adds to gradients of inputs, and leaves dy and all values as they are. */
#ifndef TL_OPS_H
#define TL_OPS_H

#include "tl/backend.h"
#include "tl/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ops_math.c */
tl_status tl_op_add(tl_tape *t, tl_var **y, tl_var *a, tl_var *b); /* a + b, equal shapes */
tl_status tl_op_mul(tl_tape *t, tl_var **y, tl_var *a, tl_var *b); /* a * b element by element */
tl_status tl_op_scale(tl_tape *t, tl_var **y, tl_var *x, double factor);
tl_status tl_op_sum(tl_tape *t, tl_var **y, tl_var *x);               /* shape [1] */
tl_status tl_op_mean(tl_tape *t, tl_var **y, tl_var *x);              /* shape [1] */
tl_status tl_op_matmul(tl_tape *t, tl_var **y, tl_var *a, tl_var *b); /* [m,k]·[k,n] */
tl_status tl_op_reshape(tl_tape *t, tl_var **y, tl_var *x, int ndim, const int dim[]);

/* ops_layers.c. n, c, h, w of the geometry are taken from x; k, r, s from w. */
tl_status tl_op_relu(tl_tape *t, tl_var **y, tl_var *x);
tl_status tl_op_linear(tl_tape *t, tl_var **y, tl_var *x, tl_var *w, tl_var *b); /* b may be NULL */
/* relu(x·wᵀ + b) as one node: nothing is kept of what lies between. */
tl_status tl_op_linear_relu(tl_tape *t, tl_var **y, tl_var *x, tl_var *w, tl_var *b);
tl_status tl_op_conv2d(tl_tape *t, tl_var **y, tl_var *x, tl_var *w, tl_var *b,
                       const tl_conv2d_geom *attributes); /* stride, pad, dilation; b may be NULL */
tl_status tl_op_maxpool2d(tl_tape *t, tl_var **y, tl_var *x,
                          const tl_pool2d_geom *attributes); /* r, s, stride, pad */

/* Mean softmax cross-entropy of logits x[n,classes]. label[n] lies in device memory and must stay
 * until backward. row_loss[n] and prob[n,classes] are written for metrics; the caller owns them. */
tl_status tl_op_softmax_xent(tl_tape *t, tl_var **loss, tl_var *x, const int32_t *label,
                             tl_real *row_loss, tl_real *prob);

/* x is [n,c,h,w] or [n,c]. training: batch statistics, running ones updated; else running ones.
 * With running statistics there is no backward rule: TL_EINVAL while the tape records. */
tl_status tl_op_batchnorm(tl_tape *t, tl_var **y, tl_var *x, tl_var *gamma, tl_var *beta,
                          tl_tensor *running_mean, tl_tensor *running_var, double eps,
                          double momentum, bool training);

/* Draws by ctx->step; call it in training only. */
tl_status tl_op_dropout(tl_tape *t, tl_var **y, tl_var *x, double p, uint32_t layer);

#ifdef __cplusplus
}
#endif
#endif
