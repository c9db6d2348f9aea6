/* 02_tensor.h: rungs 2 and 3 of nets: a whole net by tensor cores, without float between layers.
 *
 * Rung 2 in TF32 and rung 3 in bfloat16 are one source: T is float or bf16. A net is a chain of
 * products (tl_net_product): convolutions and linear layers, each with the ReLU, pool and dropout
 * that follow it. What lies in memory between two of them, and its gradient, is T, with the
 * channels of a pixel side by side (kernels/tensor_conv.h): what the next product reads. All that
 * follows a product is done to its sums, in float, before they are rounded to T and stored; so the
 * points of rounding are those of tl/precision.h.
 *
 *   02_tensor.cu          which nets are taken; the steps of the plan
 *   02_tensor_steps.cu    what each step launches
 *   02_tensor_pack.cu     images, the last gradient and all weights, rounded into their places
 *   02_tensor_end.h       what becomes of sums
 *   02_tensor_sums.cu     the products forward and of dx
 *   02_tensor_bias.cu     the gradients of all biases
 *
 * (dw is that of kernels/conv2d/04_tensor_weight.cu.) */
#ifndef NET_TENSOR_H
#define NET_TENSOR_H

#include "kernels/net/01_planned.h"
#include "kernels/tensor_conv.h"

/* dropout; step NULL: none. Its numbers are counted as in [n][channels][plane]. */
typedef struct tensor_drop {
    const tl_step *step;
    uint32_t layer, threshold;
    float scale;
    int channels, plane;
} tensor_drop;

/* What becomes of the sums of [rows] x [channels], on their way to memory. (02_tensor_end.h) */
typedef struct tensor_end {
    float *sums;          /* NULL; or [share][rows][channels], which are to be added first */
    int rows, channels;   /* channels: padded */
    void *to;             /* T [rows][channels]; of a pool: see below */
    float *plain;         /* in its place for a net's result: float [rows][out] */
    int out;              /* channels that are none of the padding */
    const float *bias;    /* forward: [out], or NULL */
    bool relu;            /* forward; dx: 0 where `held` is not positive */
    const void *held;     /* dx: what the ReLU made, as `to` */
    float *columns;       /* dx: [part][channels], sums of parts of the rows; or NULL */
    int pixels, of_pixel; /* a row is so many pixels of so many channels */
    /* of images of high x wide pixels windows of 2x2 are pooled. Forward, four rows are a window
     * and `to` has a row for each; dx has a row for each window, and `to` all pixels. */
    bool pool;
    int high, wide;
    uint8_t *winner; /* [windows][of_pixel]: which pixel, or TL_CODE_OFF; forward NULL: unwanted */
    tensor_drop drop;
} tensor_end;

enum {
    TENSOR_END_ROWS = 32,          /* of a block that adds shares */
    TENSOR_SHARES_ROOM = 64 << 20, /* bytes of what shares of dw leave, at most */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks that share a sum of g's product (input: dx) forward, where its tiles alone leave a GPU
 * idle: by the geometry alone. */
int tl_rung_net_tensor_shares(const tl_conv2d_geom *g, bool input, tl_precision precision);

/* Parts of the rows of dx that `columns` has. */
int tl_rung_net_tensor_parts(const tl_conv2d_geom *g, tl_precision precision);

/* Sums of a product, and what becomes of them. `from` and `weights` as in kernels/tensor_pixels.h;
 * end->rows and `sums` follow from g. */
tl_status tl_rung_net_tensor_sums(tl_ctx *ctx, const tl_conv2d_geom *g, bool input,
                                  const void *from, const void *weights, const tensor_end *end,
                                  tl_precision precision);

/* to[n][p][q][...] = the c * r * s numbers that each output of g reads, channel by channel,
 * rounded; zeros behind them up to whole slices. */
tl_status tl_rung_net_tensor_pack(tl_ctx *ctx, void *to, const float *from, const tl_conv2d_geom *g,
                                  tl_precision precision);
/* The weights of all products from `layer` on, to kept + their offsets, rounded: forward as
 * [k][taps][channels], backward as [channels][taps][k], but of linear layers as
 * [taps][channels][k]. What is side by side is filled up with zeros to whole slices. */
tl_status tl_rung_net_tensor_weights(tl_ctx *ctx, void *kept, const tl_net_layer *layer,
                                     bool backward, tl_precision precision);
/* db of all products from `layer` on, from their columns; the last's from dy. */
tl_status tl_rung_net_tensor_biases(tl_ctx *ctx, const void *kept, const float *dy,
                                    const tl_net_layer *layer, tl_precision precision);

/* What the steps of the plan run, for layers that are products. Operands, in their order: */
typedef tl_status tl_net_run(tl_ctx *ctx, const tl_net_layer *l, void *const at[]);
tl_net_run tl_rung_net_tensor_begin;   /* columns, x, kept: of the first layer, and all weights */
tl_net_run tl_rung_net_tensor_train;   /* the same, and the weights for dx */
tl_net_run tl_rung_net_tensor_forward; /* y, winner, x, kept, sums */
tl_net_run tl_rung_net_tensor_turn;    /* dy in T, dy: of the last layer */
tl_net_run tl_rung_net_tensor_weight;  /* dy, x, sums */
tl_net_run tl_rung_net_tensor_input;   /* dy of the layer below, dy, held or winner, kept, sums */
tl_net_run tl_rung_net_tensor_bias;    /* kept, dy: of the first layer, all biases */

#ifdef __cplusplus
}
#endif
#endif
