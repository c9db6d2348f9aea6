/* rows.h: what the rungs of softmax_xent share: a row's loss, the mean, and the entry. */
#ifndef SOFTMAX_XENT_ROWS_H
#define SOFTMAX_XENT_ROWS_H

#include "kernels/rungs.h"
#include "tl/cuda.h"

/* Of row i: prob[i,j] = exp(x[j] - m) / sum of them, m the largest; the loss is log(sum) less
 * x[label] - m. With m taken off, no exponential overflows and the largest is 1. The sum is kept in
 * double, as on the plain path. */
typedef struct loss_rows {
    tl_real *row_loss, *prob;
    const tl_real *logits;
    const int32_t *label;
    int rows, classes;
} loss_rows;

/* A label outside of the classes is no index: it makes the loss NaN. */
static inline __device__ void put_loss(const loss_rows &r, size_t i, tl_real m, double sum) {
    int label = r.label[i];
    bool valid = label >= 0 && label < r.classes;
    const tl_real *x = r.logits + i * r.classes;
    r.row_loss[i] = valid ? TL_R(log(sum) - (double)(x[label] - m)) : TL_R(NAN);
}

/* The mean by one block: thread t adds rows t, t + TL_BLOCK, …, then a tree (kernels/reduce). */
static __global__ void mean_of_rows(tl_real *loss, const tl_real *row_loss, int rows) {
    __shared__ double part[TL_BLOCK];
    double mine = 0;
    for (size_t i = threadIdx.x; i < (size_t)rows; i += TL_BLOCK) mine += row_loss[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = TL_BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) loss[0] = TL_R(part[0] / (double)rows);
}
static inline tl_status mean_by_a_block(tl_ctx *ctx, tl_real *loss, const loss_rows &r) {
    mean_of_rows<<<1, TL_BLOCK, 0, tl_stream(ctx)>>>(loss, r.row_loss, r.rows);
    TL_LAUNCHED();
    return TL_OK;
}

/* The entry: rows by each(ctx, r), then their mean by mean(ctx, loss, r). */
#define SOFTMAX_XENT_ENTRY(rung, each, mean)                                                       \
    static tl_status softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss,               \
                                      tl_real *prob, const tl_real *logits, const int32_t *label,  \
                                      int rows, int classes) {                                     \
        TL_NEED(ctx &&loss &&row_loss &&prob &&logits &&label, TL_EINVAL,                          \
                "softmax_xent_fwd: ctx, loss, row_loss, prob, logits or label is NULL");           \
        TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,                                              \
                "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);    \
        const loss_rows r = {row_loss, prob, logits, label, rows, classes};                        \
        TL_TRY(each(ctx, r));                                                                      \
        return mean(ctx, loss, r);                                                                 \
    }                                                                                              \
    extern "C" void rung(tl_backend *ops) { ops->softmax_xent_fwd = softmax_xent_fwd; }

#endif
