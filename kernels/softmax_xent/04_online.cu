/* 04_online.cu: rung 4 of softmax_xent: largest logit and sum in one walk, probabilities in
 * another.
 *
 * Idea: a sum of exp(x - m) that began with a smaller m is right again after one factor,
 *   exp(m - larger m). So a lane keeps both, corrects its sum when a larger logit comes, and lanes
 *   join theirs in the same way (Milakov and Gimelshein 2018, "Online normalizer calculation for
 *   softmax"). A second walk writes the probabilities.
 * Before: five numbers moved for each class; now two reads and one write.
 * What is wrong: two exponentials for each class, one in each walk; the logits are read twice.
 * Bound: memory for many classes, three numbers a class; launches for few.
 * Shapes: all. */
#include "kernels/softmax_xent/online.h"

static __global__ void each_row_online(loss_rows r) {
    size_t lane = threadIdx.x % WARP, classes = (size_t)r.classes;
    for (size_t i = tl_thread() / WARP; i < (size_t)r.rows; i += tl_threads() / WARP) {
        const tl_real *x = r.logits + i * classes;
        tl_real *p = r.prob + i * classes;
        online o = {-TL_R(INFINITY), 0};
        for (size_t j = lane; j < classes; j += WARP) o = joined(o, online{x[j], 1});
        o = joined_warp(o);
        tl_real factor = TL_R(1 / o.sum);
        for (size_t j = lane; j < classes; j += WARP) p[j] = tl_exp(x[j] - o.m) * factor;
        if (lane == 0) put_loss(r, i, o.m, o.sum);
    }
}

extern "C" tl_status tl_rung_softmax_xent_online_rows(tl_ctx *ctx, const loss_rows *r) {
    unsigned blocks = tl_blocks((size_t)r->rows * WARP, THREADS);
    each_row_online<<<blocks, THREADS, 0, tl_stream(ctx)>>>(*r);
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status each(tl_ctx *ctx, const loss_rows &r) {
    return tl_rung_softmax_xent_online_rows(ctx, &r);
}

SOFTMAX_XENT_ENTRY(tl_rung_softmax_xent_online, each, mean_by_a_block)
