/* 05_held.cu: rung 5 of softmax_xent: a row is read once and stays in registers.
 *
 * Idea: up to HELD logits a lane, all loads of a row on their way at once; then largest, sum and
 *   division without memory. Unrolled with a constant bound, so that the array is registers. GROUP
 *   lanes share a row: for up to 64 classes 8 lanes, and a warp has four rows.
 * Before: a row was read in both walks, each exponential made twice; ten classes filled 10 of 32
 *   lanes.
 * Bound: memory: a number is read once and written once. For a batch of a few hundred rows of ten
 *   classes launches: there one kernel for loss, mean and metrics is what is left (kernels/xent).
 * Shapes: all. Rows of more than 32 * HELD classes are rung 4's. */
#include "kernels/softmax_xent/online.h"

enum { HELD = 8 };

/* Over the GROUP lanes that share a row; the mask is the warp's, whose lanes all come here. */
template <int GROUP> static __device__ tl_real group_max(tl_real value) {
    for (int away = GROUP / 2; away > 0; away /= 2)
        value = tl_max(value, __shfl_xor_sync(0xffffffffu, value, away));
    return value;
}
template <int GROUP> static __device__ double group_sum(double value) {
    for (int away = GROUP / 2; away > 0; away /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, away);
    return value;
}

template <int GROUP> static __global__ void each_row_held(loss_rows r) {
    int lane = (int)threadIdx.x % GROUP;
    size_t row = tl_thread() / GROUP, rows = (size_t)r.rows;
    size_t i = row < rows ? row : rows - 1; /* a lane too many makes the last row as well */
    const tl_real *x = r.logits + i * r.classes;
    tl_real v[HELD], m = x[0];
#pragma unroll
    for (int h = 0; h < HELD; h++) {
        int j = lane + h * GROUP;
        v[h] = j < r.classes ? x[j] : m;
    }
#pragma unroll
    for (int h = 0; h < HELD; h++) m = tl_max(m, v[h]);
    m = group_max<GROUP>(m);
    double sum = 0;
#pragma unroll
    for (int h = 0; h < HELD; h++) {
        v[h] = tl_exp(v[h] - m);
        if (lane + h * GROUP < r.classes) sum += v[h];
    }
    sum = group_sum<GROUP>(sum);
    if (row >= rows) return;
    tl_real factor = TL_R(1 / sum), *p = r.prob + i * r.classes;
#pragma unroll
    for (int h = 0; h < HELD; h++)
        if (lane + h * GROUP < r.classes) p[lane + h * GROUP] = v[h] * factor;
    if (lane == 0) put_loss(r, i, m, sum);
}

static tl_status each(tl_ctx *ctx, const loss_rows &r) {
    if (r.classes > WARP * HELD) return tl_rung_softmax_xent_online_rows(ctx, &r);
    enum { FEW = 8 };
    int group = r.classes <= FEW * HELD ? (int)FEW : (int)WARP;
    size_t per_block = THREADS / group, blocks = ((size_t)r.rows - 1) / per_block + 1;
    auto kernel = group == FEW ? each_row_held<FEW> : each_row_held<WARP>;
    kernel<<<(unsigned)blocks, THREADS, 0, tl_stream(ctx)>>>(r);
    TL_LAUNCHED();
    return TL_OK;
}

SOFTMAX_XENT_ENTRY(tl_rung_softmax_xent_held, each, mean_by_a_block)
