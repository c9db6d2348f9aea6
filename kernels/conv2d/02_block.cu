/* 02_block.cu: 3x3 convolution, bias, ReLU and 2x2 pool in one kernel; backward in two.
 * (tl/fused.h)
 *
 * For the small nets of the course, whose layers a GPU finishes in a microsecond or two: what
 * counts is how often a kernel starts and how often a number goes through memory. No column matrix,
 * no full-size activation before the pool, no unpooled gradient: the winners' places are a byte per
 * output. Every sum has one order, given by the geometry: the same bits in every run.
 *
 *   02_block_forward.cu    y and the winners' bytes
 *   02_block_backward.cu   dx, dw and db
 *   02_block_window.h      the loop over a 2x2 window, which forward and dx share
 *   02_block_tile.h        images, gradients and weights in shared memory
 *
 * Here: which layers these kernels take. */
#include "kernels/conv2d/02_block.h"

static bool fits(const tl_conv2d_block *block) {
    const tl_conv2d_geom *g = &block->conv;
    if (g->r != 3 || g->s != 3 || g->stride_h != 1 || g->stride_w != 1) return false;
    if (g->dil_h != 1 || g->dil_w != 1 || g->pad_h > 2 || g->pad_h != g->pad_w) return false;
    if (block->pool && (g->p < 2 || g->q < 2)) return false;
    if ((g->p + 1) / 2 * ((g->q + 1) / 2) > MOST_WINDOWS) return false;
    /* what is divided by multiplication */
    enum { MOST = 1 << 16 };
    if (g->c * g->h * g->w >= MOST || g->k * g->p * g->q >= MOST || g->k * g->c * TAPS >= MOST)
        return false;
    if ((g->h + 1) / 2 * ((g->w + 1) / 2) > MOST_WINDOWS || g->c > THREADS) return false;
    return tl_rung_conv2d_block_fwd_shared(block) <= SHARED_BYTES &&
           tl_rung_conv2d_block_bwd_shared(block) <= SHARED_BYTES;
}

extern "C" void tl_rung_conv2d_block(tl_backend *ops) {
    ops->conv2d_block_fits = fits;
    ops->conv2d_block_fwd = tl_rung_conv2d_block_fwd;
    ops->conv2d_block_bwd = tl_rung_conv2d_block_bwd;
}
