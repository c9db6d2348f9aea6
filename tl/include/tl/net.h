/* tl/net.h: a net whose layers follow each other, planned as a whole.
 *
 * Such a net needs no tape inside: which operations run, forward and backward, and where in one
 * piece of memory each result lies, is known before the first of them. A device offers it by three
 * optional entries of its table (tl/backend.h); the nets of tl/nets.h use them where they are
 * there, and are else composed module by module, with results of the same bits unless a plan says
 * otherwise. Given code. */
#ifndef TL_NET_H
#define TL_NET_H

#include <stdbool.h>

#include "tl/fused.h"
#include "tl/layers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tl_net_kind {
    TL_NET_CONV2D,
    TL_NET_RELU,
    TL_NET_MAXPOOL2D,
    TL_NET_DROPOUT,
    TL_NET_LINEAR,
    TL_NET_CONV2D_BLOCK, /* conv2d, relu[, maxpool2d 2x2]: made by a plan */
    TL_NET_LINEAR_BLOCK, /* linear[, relu]: made by a plan */
    TL_NET_POOL_RELU,    /* maxpool2d 2x2 and relu: made by a plan */
    TL_NET_CONV2D_RELU,  /* conv2d, relu: made by a plan */
    TL_NET_PRODUCT       /* conv2d or linear, and what follows it: made by a plan */
} tl_net_kind;

/* A convolution or linear layer with all that follows it up to the next one, for devices whose nets
 * keep the channels of a pixel side by side. A linear layer is a convolution of images of one
 * pixel; and so is, pixel by pixel, the first of a net, whose taps are laid out as channels. */
typedef struct tl_net_product {
    tl_conv2d_geom conv;      /* as it is multiplied */
    tl_conv2d_geom image;     /* the net's first: as it was */
    int channels, taps;       /* of the weights [conv.k][channels][taps] */
    bool linear, first, last; /* ... of the net */
    bool relu, pool, drops;   /* what follows: the pool over 2x2 windows */
    tl_dropout_geom dropout;
    size_t forward, backward; /* where the plan keeps the weights for either, */
    size_t columns;           /* and sums of the gradient of its result */
} tl_net_product;

/* One layer: its checked geometry for the batch at hand, and where its parameters and their
 * gradients lie on the device; NULL where it has none. (A flatten moves no number and is none.) */
typedef struct tl_net_layer {
    tl_net_kind kind;
    union {
        tl_conv2d_geom conv2d;
        tl_pool2d_geom maxpool2d;
        tl_dropout_geom dropout;
        tl_linear_geom linear;
        tl_conv2d_block conv2d_block;
        struct {
            tl_linear_geom linear;
            bool relu;
        } linear_block;
        tl_net_product product;
    } of;
    size_t x_size, y_size; /* elements that go in, and come out */
    const tl_real *w, *b;
    tl_real *dw, *db;
    bool fresh; /* nothing is in dx yet: set by a plan */
} tl_net_layer;

enum {
    TL_NET_LAYERS = 48,
    TL_NET_OPERANDS = 5,
    TL_NET_BUFFERS = 6 * TL_NET_LAYERS, /* a layer: result, winners, scratch; gradient, scratch */
    TL_NET_STEPS = 6 * TL_NET_LAYERS    /* forward; bias, weight, zero, input */
};

/* Where an operand of a step lies: one of the caller's arrays, or a buffer of the plan. */
enum { TL_NET_X, TL_NET_Y, TL_NET_DY, TL_NET_DX, TL_NET_GIVEN };

/* A call of an operation: run(ctx, layer, operands). */
typedef struct tl_net_step {
    tl_status (*run)(tl_ctx *ctx, const tl_net_layer *layer, void *const operand[]);
    short layer;
    short operand[TL_NET_OPERANDS]; /* -1: none; >= TL_NET_GIVEN: a buffer */
} tl_net_step;

/* A result or scratch, needed from step `first` to step `last`, at `offset` of the memory. */
typedef struct tl_net_buffer {
    size_t bytes, offset;
    short first, last;
} tl_net_buffer;

/* Plain data without an owner: it may be copied. */
typedef struct tl_net_plan {
    bool training; /* dropout draws */
    bool backward; /* gradients will be asked for */
    bool wants_dx; /* ... that of the input, too */
    int layers;
    tl_net_layer layer[TL_NET_LAYERS];

    size_t bytes; /* of device memory, from the start of forward to the end of backward */
    int buffers, steps, forward_steps;
    tl_net_buffer buffer[TL_NET_BUFFERS];
    tl_net_step step[TL_NET_STEPS];
} tl_net_plan;

/* The entries' types.
 *
 * net_plan: from layers and the three flags, the rest; layers may be fused and change places.
 * False: this net is not one for the plan, and is to be composed.
 * net_fwd: y = net(x); `memory` (plan->bytes, aligned as tl_alloc_get's) is kept for net_bwd.
 * net_bwd: adds to the gradients of the parameters, and to dx (NULL unless wants_dx). */
typedef bool (*tl_net_plan_fn)(const tl_ctx *ctx, tl_net_plan *plan);
typedef tl_status (*tl_net_fwd_fn)(tl_ctx *ctx, const tl_net_plan *plan, tl_real *y,
                                   const tl_real *x, void *memory);
typedef tl_status (*tl_net_bwd_fn)(tl_ctx *ctx, const tl_net_plan *plan, tl_real *dx,
                                   const tl_real *dy, const tl_real *x, const tl_real *y,
                                   void *memory);

#ifdef __cplusplus
}
#endif
#endif
