/* tl/tape.h: reverse-mode automatic differentiation. (lab 4)
 *
 * Each differentiable operation (tl/ops.h) computes its output at once and leaves a node on the
 * tape: what went in, what came out, and the function that carries the gradient back.
 * tl_tape_backward visits the nodes that the loss depends on, each after all nodes that use its
 * output (a topological order), and adds gradients up (Griewank, Walther, "Evaluating Derivatives",
 * 2008, chapter 3).
 *
 * Ownership: the tape owns variables it made with tl_tape_value, all nodes, scratch, and gradients
 * of its own variables. Parameters belong to whoever made them and outlive the tape. */
#ifndef TL_TAPE_H
#define TL_TAPE_H

#include <stdbool.h>

#include "tl/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_tape tl_tape;
typedef struct tl_node tl_node;

typedef struct tl_var {
    tl_tensor *value;
    tl_tensor
        *grad; /* same shape; NULL until a gradient first arrives (parameters: always there) */
    bool needs_grad; /* false: no gradient is wanted here, nor sent through here */
    tl_node *node;   /* the operation that made it; NULL for inputs and parameters */
} tl_var;

/* Adds to the gradients of node->input[i] (through tl_tape_grad) what node->output->grad implies.
 * Must skip inputs whose needs_grad is false. */
typedef tl_status (*tl_backward_fn)(tl_tape *tape, tl_node *node);

enum { TL_NODE_INPUTS = 3, TL_NODE_SCRATCH = 3 };

struct tl_node {
    const char *op; /* "conv2d", for messages */
    tl_backward_fn backward;
    tl_var *output;
    tl_var *input[TL_NODE_INPUTS]; /* unused entries are NULL */
    void *saved;                   /* host copy of the operation's geometry, owned by the tape */
    void *scratch[TL_NODE_SCRATCH]; /* device memory that backward needs: argmax, probabilities … */
    unsigned visit;                 /* for the walk: number of the backward pass that saw it last */
    tl_node *next;                  /* all nodes of the tape, latest first */
};

tl_status tl_tape_new(tl_tape **tape, tl_ctx *ctx);
void tl_tape_free(tl_tape *tape); /* NULL is allowed */
tl_ctx *tl_tape_ctx(const tl_tape *tape);

/* Drops all nodes, intermediate variables and scratch; their memory goes back to ctx->alloc and is
 * reused by the next step. Every tl_var that the tape made becomes invalid. */
void tl_tape_reset(tl_tape *tape);

/* Turns recording on or off (it starts on) and returns what it was before. While it is off, results
 * have needs_grad == false and leave no node: evaluation, and regions where no gradient is wanted.
 */
bool tl_tape_set_recording(tl_tape *tape, bool on);

/* A new variable of the tape with its own memory, content undefined. */
tl_status tl_tape_value(tl_tape *tape, tl_var **v, int ndim, const int dim[]);
/* A variable that shares the memory of `value`: an input to the graph, or another shape of an
 * intermediate result. That memory stays the caller's and must outlive the variable; the tl_tensor
 * itself is only read in this call. TL_ESHAPE unless `dim` has as many elements as `value`: to use
 * the first images of a larger batch, wrap a local copy of its tl_tensor with a smaller dim[0] and
 * size. */
tl_status tl_tape_wrap(tl_tape *tape, tl_var **v, const tl_tensor *value, int ndim, const int dim[],
                       bool needs_grad);

/* Whether an operation with these inputs should leave a node: recording, and an input needs it. */
bool tl_tape_wants(const tl_tape *tape, tl_var *const input[], int inputs);

/* Leaves a node that made `output` and sets output->needs_grad; copies `saved_bytes` from saved
 * (NULL for none). *node (may be NULL) lets the caller attach scratch. Call only if tl_tape_wants.
 */
tl_status tl_tape_record(tl_tape *tape, tl_node **node, const char *op, tl_backward_fn backward,
                         tl_var *output, tl_var *const input[], int inputs, const void *saved,
                         size_t saved_bytes);

/* Device scratch that lives until tl_tape_reset. */
tl_status tl_tape_scratch(tl_tape *tape, void **scratch, size_t bytes);

/* The gradient of v, made and zeroed if it is not there yet. */
tl_status tl_tape_grad(tl_tape *tape, tl_var *v, tl_tensor **grad);

/* Gradients of `loss` (one element, else TL_ESHAPE) are added to every parameter that it depends
 * on. Gradients of intermediate variables start from zero in each call, those of inputs and
 * parameters accumulate over calls: two losses, or one loss twice, add up. TL_EINVAL if the loss
 * has no node. */
tl_status tl_tape_backward(tl_tape *tape, tl_var *loss);

#ifdef __cplusplus
}
#endif
#endif
