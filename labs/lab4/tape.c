/* tape.c: recording operations and carrying gradients back through them (tl/tape.h). */
#include "tl/tape.h"

#include <stdlib.h>
#include <string.h>

#include "tl/backend.h"

/* Host memory for nodes, variables and tensor headers: pieces that tl_tape_reset makes free again
 * all at once, so that a training step calls malloc only while the first one grows the tape. */
enum { PIECE_BYTES = 1 << 16, ALIGNMENT = 16 };
typedef struct piece {
    struct piece *next;
    size_t used, size;
    _Alignas(ALIGNMENT) char bytes[];
} piece;

struct tl_tape {
    tl_ctx *ctx;
    piece *pieces; /* all of them; memory is taken from `filling` on */
    piece *filling;
    tl_node *latest; /* the nodes, latest first */
    struct held {    /* device memory to give back at reset, latest first */
        void *block;
        struct held *next;
    } * held;
    bool recording;
    unsigned visits; /* backward passes so far; marks the nodes that the current one reaches */
};

static piece *piece_new(size_t size) {
    piece *p = malloc(sizeof *p + size);
    if (p) *p = (piece){.size = size};
    return p;
}

/* Zeroed host memory that lives until reset; NULL if there is none. */
static void *take(tl_tape *tape, size_t bytes) {
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    while (tape->filling && tape->filling->size - tape->filling->used < bytes) {
        if (!tape->filling->next)
            tape->filling->next = piece_new(bytes > PIECE_BYTES ? bytes : PIECE_BYTES);
        tape->filling = tape->filling->next;
    }
    if (!tape->filling) { /* out of memory: start over from the first piece next time */
        tape->filling = tape->pieces;
        return NULL;
    }
    void *memory = tape->filling->bytes + tape->filling->used;
    tape->filling->used += bytes;
    return memset(memory, 0, bytes);
}

tl_status tl_tape_new(tl_tape **tape, tl_ctx *ctx) {
    *tape = calloc(1, sizeof **tape);
    TL_NEED(*tape, TL_ENOMEM, "no memory for a tape");
    **tape = (tl_tape){.ctx = ctx, .recording = true, .pieces = piece_new(PIECE_BYTES)};
    (*tape)->filling = (*tape)->pieces;
    if (!(*tape)->pieces) {
        free(*tape);
        *tape = NULL;
        return TL_FAIL(TL_ENOMEM, "no memory for a tape");
    }
    return TL_OK;
}

void tl_tape_reset(tl_tape *tape) {
    for (struct held *h = tape->held; h; h = h->next) tl_alloc_put(tape->ctx->alloc, h->block);
    for (piece *p = tape->pieces; p; p = p->next) p->used = 0;
    tape->held = NULL;
    tape->latest = NULL;
    tape->filling = tape->pieces;
}

void tl_tape_free(tl_tape *tape) {
    if (!tape) return;
    tl_tape_reset(tape);
    while (tape->pieces) {
        piece *next = tape->pieces->next;
        free(tape->pieces);
        tape->pieces = next;
    }
    free(tape);
}

tl_ctx *tl_tape_ctx(const tl_tape *tape) { return tape->ctx; }

bool tl_tape_set_recording(tl_tape *tape, bool on) {
    bool before = tape->recording;
    tape->recording = on;
    return before;
}

tl_status tl_tape_scratch(tl_tape *tape, void **scratch, size_t bytes) {
    struct held *h = take(tape, sizeof *h);
    TL_NEED(h, TL_ENOMEM, "no host memory for the tape");
    TL_TRY(tl_alloc_get(tape->ctx->alloc, &h->block, bytes));
    h->next = tape->held;
    tape->held = h;
    *scratch = h->block;
    return TL_OK;
}

/* A tensor header of the tape over `data`, or over new device memory if data is NULL. */
static tl_status tape_tensor(tl_tape *tape, tl_tensor **t, tl_real *data, int ndim,
                             const int dim[]) {
    TL_NEED(ndim >= 1 && ndim <= TL_MAX_DIMS, TL_EINVAL, "a tensor has 1 to 4 dimensions, not %d",
            ndim);
    *t = take(tape, sizeof **t);
    TL_NEED(*t, TL_ENOMEM, "no host memory for the tape");
    **t = (tl_tensor){.ctx = tape->ctx, .ndim = ndim, .size = 1, .dim = {1, 1, 1, 1}};
    for (int i = 0; i < ndim; i++) {
        TL_NEED(dim[i] >= 1, TL_EINVAL, "dimension %d is %d; it must be at least 1", i, dim[i]);
        (*t)->dim[i] = dim[i];
        (*t)->size *= (size_t)dim[i];
    }
    void *memory = data;
    if (!data) TL_TRY(tl_tape_scratch(tape, &memory, (*t)->size * sizeof(tl_real)));
    (*t)->data = memory;
    return TL_OK;
}

static tl_status new_var(tl_tape *tape, tl_var **v, tl_real *data, int ndim, const int dim[],
                         bool needs_grad) {
    *v = take(tape, sizeof **v);
    TL_NEED(*v, TL_ENOMEM, "no host memory for the tape");
    (*v)->needs_grad = needs_grad;
    return tape_tensor(tape, &(*v)->value, data, ndim, dim);
}

tl_status tl_tape_value(tl_tape *tape, tl_var **v, int ndim, const int dim[]) {
    return new_var(tape, v, NULL, ndim, dim, false);
}

tl_status tl_tape_wrap(tl_tape *tape, tl_var **v, const tl_tensor *value, int ndim, const int dim[],
                       bool needs_grad) {
    TL_TRY(new_var(tape, v, value->data, ndim, dim, needs_grad));
    char wanted[TL_SHAPE_TEXT], there[TL_SHAPE_TEXT];
    TL_NEED((*v)->value->size == value->size, TL_ESHAPE, "shape %s has not as many elements as %s",
            tl_shape_text(wanted, ndim, dim), tl_shape_text(there, value->ndim, value->dim));
    return TL_OK;
}

bool tl_tape_wants(const tl_tape *tape, tl_var *const input[], int inputs) {
    /* TODO(lab 4): true if the tape is recording and at least one input needs a gradient. An input
     * may be NULL (a layer without bias). What would it cost to record an operation whose result
     * nobody differentiates? */
    (void)tape, (void)input, (void)inputs;
    (void)TL_NOT_IMPLEMENTED();
    return true;
}

tl_status tl_tape_record(tl_tape *tape, tl_node **node, const char *op, tl_backward_fn backward,
                         tl_var *output, tl_var *const input[], int inputs, const void *saved,
                         size_t saved_bytes) {
    /* TODO(lab 4): A node for the operation that made `output`: memory for it, and for a copy of
     * the saved_bytes, from take(), which gives zeroed memory or NULL. Fill in op, backward,
     * output, the inputs and the copy; put the node before tape->latest, and tell `output` that
     * this node made it and that it needs a gradient now. *node is for the caller, who may pass
     * NULL. Why must what is saved be copied? */
    (void)tape, (void)node, (void)op, (void)backward, (void)output, (void)input, (void)inputs;
    (void)saved, (void)saved_bytes;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_tape_grad(tl_tape *tape, tl_var *v, tl_tensor **grad) {
    /* TODO(lab 4): The gradient of v, for whoever adds to it. If there is none yet, make one of v's
     * shape (tape_tensor) and set it to zeros; if there is one, leave what is in it. */
    (void)tape, (void)v;
    *grad = NULL;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_tape_backward(tl_tape *tape, tl_var *loss) {
    char shape[TL_SHAPE_TEXT];
    TL_NEED(loss->value->size == 1, TL_ESHAPE,
            "backward starts from one number, but the loss has shape %s",
            tl_shape_text(shape, loss->value->ndim, loss->value->dim));
    TL_NEED(loss->node, TL_EINVAL,
            "the loss depends on nothing that needs a gradient, or recording was off");
    /* TODO(lab 4): Carry the gradient from the loss to all that it depends on. (1) Find the nodes
     * that the loss depends on; `visit` can hold the number of the pass that saw a node, so that
     * nothing has to be cleared. (2) Gradients of their outputs may be left from an earlier pass:
     * set them to zero. Gradients of inputs and parameters are left alone, they accumulate. (3) The
     * derivative of the loss by itself is 1. (4) Call backward of each of these nodes, each after
     * all nodes that use its output: in which order did the tape come about, and what does that
     * say? Traps: a node that two others use is visited once; a result that the loss does not use
     * sends nothing; a chain of 10,000 nodes must not need a stack as deep. */
    (void)tape;
    return TL_NOT_IMPLEMENTED();
}
