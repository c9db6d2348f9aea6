/* graph.h: autograd programs as rows of integers, so that a graph can cross to another process.
 *
 * An instruction is its code followed by the operands named beside it. Variables are numbered 0, 1,
 * … in the order in which instructions make them ("-> v"). Values of leaves are taken one after the
 * other from buffer 1, labels from buffer 2 (int32); what READ_* asks for is written one after the
 * other to buffer 0. Fractions cross as numerator and denominator, so that the row is integers
 * alone. */
#ifndef CALL_GRAPH_H
#define CALL_GRAPH_H

enum call_graph_code {
    /* shape: ndim d0 d1 d2 d3. A parameter has a gradient from the start and survives RESET; an
     * input belongs to the tape; a buffer is a bare tensor (running statistics) and survives too.
     */
    GRAPH_PARAMETER = 1, /* shape            -> v */
    GRAPH_INPUT,         /* needs_grad shape -> v */
    GRAPH_BUFFER,        /* shape            -> v */

    GRAPH_ADD,         /* a b            -> v */
    GRAPH_MUL,         /* a b            -> v */
    GRAPH_SCALE,       /* x num den      -> v */
    GRAPH_SUM,         /* x              -> v */
    GRAPH_MEAN,        /* x              -> v */
    GRAPH_MATMUL,      /* a b            -> v */
    GRAPH_RESHAPE,     /* x shape        -> v */
    GRAPH_RELU,        /* x              -> v */
    GRAPH_LINEAR,      /* x w b          -> v   (b -1: none) */
    GRAPH_LINEAR_RELU, /* x w b       -> v   (b -1: none) */
    GRAPH_OWN,         /* a b         -> v   (tl/own.h) */
    GRAPH_CONV2D,      /* x w b stride_h stride_w pad_h pad_w dil_h dil_w -> v */
    GRAPH_MAXPOOL2D,   /* x r s stride_h stride_w pad_h pad_w             -> v */
    GRAPH_SOFTMAX,     /* x              -> v   (mean cross-entropy; takes a label per row) */
    GRAPH_BATCHNORM,   /* x gamma beta mean var eps_num eps_den mom_num mom_den training -> v */
    GRAPH_DROPOUT,     /* x p_num p_den layer -> v */

    GRAPH_RECORDING, /* on */
    GRAPH_STEP,      /* seed index: what dropout draws by */
    GRAPH_BACKWARD,  /* v */
    GRAPH_ZERO_GRAD, /* v: a parameter */
    GRAPH_RESET,     /* the tape; variables that are no parameters or buffers become invalid */

    GRAPH_READ_VALUE, /* v: its elements */
    GRAPH_READ_GRAD,  /* v: as many; zeros if it has no gradient */
    GRAPH_READ_FLAGS, /* v: three elements: has a gradient, needs one, has a node */
    GRAPH_READ_SHAPE, /* v: five elements, ndim and dim of its gradient; zeros if none */
    GRAPH_READ_OP,    /* v: what its node calls the operation, as GRAPH_NAME character codes */

    /* One net per program: modules are appended to one sequential. */
    GRAPH_NET_CONV2D,    /* c k r s stride_h stride_w pad_h pad_w dil_h dil_w */
    GRAPH_NET_LINEAR,    /* in out */
    GRAPH_NET_MAXPOOL2D, /* r s stride_h stride_w pad_h pad_w */
    GRAPH_NET_RELU,
    GRAPH_NET_FLATTEN,
    GRAPH_NET_BATCHNORM2D, /* channels */
    GRAPH_NET_DROPOUT,     /* p_num p_den layer */
    GRAPH_NET_SEED,        /* seed of the weights of modules that follow; before the first */
    GRAPH_NET_FORWARD,     /* x training -> v */
    GRAPH_NET_PARAMETER,   /* index load -> v: the index-th parameter or buffer in order of visit;
                            * load 1 sets its value from buffer 1 */
    GRAPH_NET_COUNT,       /* two elements: parameters and buffers visited, parameters among them */
    GRAPH_NET_NAME,        /* index: the name of the index-th, as GRAPH_NAME character codes */
    GRAPH_NET_NEST,        /* the net so far becomes the first child of a new sequential */
    GRAPH_NET_BLOCK,       /* the same, of a block: a sequential with another forward function */
    GRAPH_CODES
};

enum { GRAPH_NAME = 48 };

#endif
