/* 03_warp.cu: rung 3 of softmax_xent: a warp for each row, combined by shuffles.
 *
 * Idea: 32 threads are enough for a row, and they hand each other their numbers without shared
 *   memory and without a barrier. A block has four rows. (This is what lab 3's solution does.)
 * Before: 128 threads and 16 barriers for a row of ten classes.
 * What is wrong: three walks over a row: logits are read twice, the exponentials written, read and
 *   written again. Ten classes still leave 22 of 32 lanes empty.
 * Bound: launches for a batch of few rows; for many classes memory, of which it moves five numbers
 *   a class instead of two.
 * Shapes: all. */
#include "kernels/softmax_xent/rows.h"

enum { WARP = 32, THREADS = 4 * WARP };

static __device__ tl_real warp_max(tl_real value) {
    for (int away = WARP / 2; away > 0; away /= 2)
        value = tl_max(value, __shfl_xor_sync(0xffffffffu, value, away));
    return value;
}
static __device__ double warp_sum(double value) {
    for (int away = WARP / 2; away > 0; away /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, away);
    return value;
}

static __global__ void each_row_by_a_warp(loss_rows r) {
    size_t lane = threadIdx.x % WARP, classes = (size_t)r.classes;
    /* i is the same for all of a warp: they leave the loop together, as shuffles need */
    for (size_t i = tl_thread() / WARP; i < (size_t)r.rows; i += tl_threads() / WARP) {
        const tl_real *x = r.logits + i * classes;
        tl_real *p = r.prob + i * classes, m = x[0];
        double sum = 0;
        for (size_t j = lane; j < classes; j += WARP) m = tl_max(m, x[j]);
        m = warp_max(m);
        for (size_t j = lane; j < classes; j += WARP) sum += p[j] = tl_exp(x[j] - m);
        sum = warp_sum(sum);
        tl_real factor = TL_R(1 / sum);
        for (size_t j = lane; j < classes; j += WARP) p[j] *= factor;
        if (lane == 0) put_loss(r, i, m, sum);
    }
}

static tl_status each(tl_ctx *ctx, const loss_rows &r) {
    unsigned blocks = tl_blocks((size_t)r.rows * WARP, THREADS);
    each_row_by_a_warp<<<blocks, THREADS, 0, tl_stream(ctx)>>>(r);
    TL_LAUNCHED();
    return TL_OK;
}

SOFTMAX_XENT_ENTRY(tl_rung_softmax_xent_warp, each, mean_by_a_block)
