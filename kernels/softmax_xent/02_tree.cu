/* 02_tree.cu: rung 2 of softmax_xent: a block for each row, largest and sum as trees in shared
 * memory.
 *
 * Idea: as rung 2 of reduce, twice for each row: once with max in the place of +. The losses of the
 *   rows are added by one block in the same way (rows.h).
 * Before: a thread read its row alone. Now neighbours read neighbours, and a row of many classes
 *   has many loads on their way.
 * What is wrong: ten classes leave 118 of 128 threads nothing to do but wait at 16 barriers.
 * Bound: barriers for few classes; for many, latency.
 * Banks: neighbours touch neighbours in each step: no conflict.
 * Shapes: all. */
#include "kernels/softmax_xent/rows.h"

enum { THREADS = 128 };

static __global__ void each_row_by_a_block(loss_rows r) {
    __shared__ tl_real largest[THREADS];
    __shared__ double part[THREADS];
    unsigned t = threadIdx.x;
    size_t i = blockIdx.x;
    const tl_real *x = r.logits + i * r.classes;
    tl_real *p = r.prob + i * r.classes, m = x[0];
    for (size_t j = t; j < (size_t)r.classes; j += THREADS) m = tl_max(m, x[j]);
    largest[t] = m;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) largest[t] = tl_max(largest[t], largest[t + half]);
        __syncthreads();
    }
    m = largest[0];
    double sum = 0;
    for (size_t j = t; j < (size_t)r.classes; j += THREADS) sum += p[j] = tl_exp(x[j] - m);
    part[t] = sum;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    tl_real factor = TL_R(1 / part[0]);
    for (size_t j = t; j < (size_t)r.classes; j += THREADS) p[j] *= factor;
    if (t == 0) put_loss(r, i, m, part[0]);
}

static tl_status each(tl_ctx *ctx, const loss_rows &r) {
    each_row_by_a_block<<<(unsigned)r.rows, THREADS, 0, tl_stream(ctx)>>>(r);
    TL_LAUNCHED();
    return TL_OK;
}

SOFTMAX_XENT_ENTRY(tl_rung_softmax_xent_tree, each, mean_by_a_block)
