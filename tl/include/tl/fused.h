/* tl/fused.h: layers in one kernel each, where a device has such kernels.
 *
 * A block is a convolution or a linear layer with what follows it. The entries of OP_FUSED
 * (tl/ops.def) may be NULL: then tl/block.c composes the plain operations on the same
 * device, and the results agree within the bounds of a float sum. As everywhere, fwd overwrites and
 * bwd adds; but `fresh` says that nothing is in dx yet, and spares zeroing it first. */
#ifndef TL_FUSED_H
#define TL_FUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tl/context.h"
#include "tl/geometry.h"
#include "tl/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = relu(conv(x, w) + b), and with pool its maximum over 2x2 windows (floor of p/2 by q/2). */
typedef struct tl_conv2d_block {
    tl_conv2d_geom conv;
    bool pool;
} tl_conv2d_block;
static inline size_t tl_conv2d_block_y_size(const tl_conv2d_block *g) {
    int shrink = g->pool ? 2 : 1;
    return (size_t)g->conv.n * (size_t)g->conv.k * (size_t)(g->conv.p / shrink) *
           (size_t)(g->conv.q / shrink);
}

/* One byte per element of y: which pixel of the window won (row*2 + column; 0 without pool), or
 * TL_CODE_OFF where y <= 0, so that no gradient goes back. */
enum { TL_CODE_OFF = 4 };

/* conv2d_relu_fwd: y = relu(conv(x, w) + b). conv2d_relu_bwd_input: dx is the gradient of a
 * convolution's input, taken back through the ReLU that made x: 0 where x is not positive. Unlike
 * others it overwrites. x may be NULL: then no ReLU made it. */

/* pool_relu_*: of each of `planes` planes of h x w pixels, y = relu of the maximum over 2x2 windows
 * that do not overlap (a last odd row or column is in none), and one byte per element of y, as
 * above. bwd, unlike others, overwrites dx: each dy goes to its winner, and 0 everywhere else.
 * relu_mask: dy becomes 0 where y is not positive: the gradient of a ReLU, in place. */

/* Scratch of the backward pass: partial sums of the weights' gradients over chunks of images. The
 * cut into chunks depends on the geometry alone. */
enum { TL_FUSED_CHUNKS = 256 };
static inline size_t tl_conv2d_block_work_bytes(const tl_conv2d_block *g) {
    size_t chunks = (size_t)(g->conv.n < TL_FUSED_CHUNKS ? g->conv.n : TL_FUSED_CHUNKS);
    return chunks * (tl_conv2d_w_size(&g->conv) + (size_t)g->conv.k) * sizeof(tl_real);
}

/* Scratch of a linear layer: products over pieces of `in`, at most this many. */
enum { TL_FUSED_SPLITS = 16 };
static inline size_t tl_linear_block_work_bytes(const tl_linear_geom *g) {
    return (size_t)TL_FUSED_SPLITS * (size_t)g->n * (size_t)g->out * sizeof(tl_real);
}

#ifdef __cplusplus
}
#endif
#endif
