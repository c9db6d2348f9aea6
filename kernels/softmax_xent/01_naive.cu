/* 01_naive.cu: rung 1 of softmax_xent: a thread for each row, which walks over it three times.
 *
 * Idea: the formula. One walk finds the largest logit, one makes exponentials and their sum, one
 *   divides; then one thread adds the losses of all rows.
 * What is wrong: neighbours walk over rows `classes` apart: from 8 floats on, a sector for each
 *   number. The exponentials are stored, read and stored again. The mean is a chain of loads, one
 *   after the other. With 64 rows a GPU has 64 threads.
 * Bound: latency: three times `classes` loads, then `rows`.
 * Shapes: all. */
#include "kernels/softmax_xent/rows.h"

static __global__ void each_row_naively(loss_rows r) {
    for (size_t i = tl_thread(); i < (size_t)r.rows; i += tl_threads()) {
        const tl_real *x = r.logits + i * r.classes;
        tl_real *p = r.prob + i * r.classes, m = x[0];
        double sum = 0;
        for (int j = 1; j < r.classes; j++) m = tl_max(m, x[j]);
        for (int j = 0; j < r.classes; j++) sum += p[j] = tl_exp(x[j] - m);
        tl_real factor = TL_R(1 / sum);
        for (int j = 0; j < r.classes; j++) p[j] *= factor;
        put_loss(r, i, m, sum);
    }
}

static __global__ void mean_naively(tl_real *loss, const tl_real *row_loss, int rows) {
    double sum = 0;
    for (int i = 0; i < rows; i++) sum += row_loss[i];
    loss[0] = TL_R(sum / rows);
}

static tl_status each(tl_ctx *ctx, const loss_rows &r) {
    each_row_naively<<<tl_blocks((size_t)r.rows, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(r);
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status mean(tl_ctx *ctx, tl_real *loss, const loss_rows &r) {
    mean_naively<<<1, 1, 0, tl_stream(ctx)>>>(loss, r.row_loss, r.rows);
    TL_LAUNCHED();
    return TL_OK;
}

SOFTMAX_XENT_ENTRY(tl_rung_softmax_xent_naive, each, mean)
