/* 01_head.cu: softmax, cross-entropy and the metrics of a batch in one kernel. (tl/fused.h)
 *
 * One block: a batch has a few hundred rows of ten classes, and a second kernel would take longer
 * to start than this one to run. A thread per row, with the formulas of the plain path. */
#include "kernels/rungs.h"
#include "tl/cuda.h"
#include "tl/layers.h"
#include "tl/metrics.h"

enum {
    HELD = 16, /* logits that a thread keeps in registers */
    ROWS = 512 /* that the block takes at a time */
};

/* Loss and probabilities of one row, and the smallest class with the largest logit. A label outside
 * the classes is never used as an index: it makes the loss NaN. */
static __device__ tl_real row(tl_real *__restrict__ prob, int *best, const tl_real *__restrict__ x,
                              int label, int classes) {
    tl_real v[HELD];
#pragma unroll
    for (int j = 0; j < HELD; j++) v[j] = j < classes ? x[j] : TL_R(0);
    tl_real m = v[0], top = v[0], own = v[0];
    int at = 0;
#pragma unroll
    for (int j = 1; j < HELD; j++)
        if (j < classes) {
            if (v[j] > top) top = v[j], at = j;
            if (j == label) own = v[j];
            m = tl_max(m, v[j]);
        }
    for (int j = HELD; j < classes; j++) {
        if (x[j] > top) top = x[j], at = j;
        if (j == label) own = x[j];
        m = tl_max(m, x[j]);
    }
    *best = at;
    double sum = 0;
#pragma unroll
    for (int j = 0; j < HELD; j++)
        if (j < classes) sum += v[j] = tl_exp(v[j] - m);
    for (int j = HELD; j < classes; j++) sum += tl_exp(x[j] - m);
    tl_real factor = TL_R(1 / sum);
#pragma unroll
    for (int j = 0; j < HELD; j++)
        if (j < classes) prob[j] = v[j] * factor;
    for (int j = HELD; j < classes; j++) prob[j] = tl_exp(x[j] - m) * factor;
    if (label < 0 || label >= classes) return TL_R(NAN);
    return TL_R(log(sum) - (double)(own - m));
}

/* The threads of one block take ROWS rows at a time; one of them adds their losses in the order
 * of the images, so that the sums have the bits of every other device. sums may be NULL. */
static __global__ void head(tl_real *loss, tl_real *row_loss, tl_real *prob, tl_metric_sums *sums,
                            const tl_real *logits, const int32_t *label, int rows, int classes) {
    __shared__ double part[ROWS];
    double batch = 0, total = 0;
    uint64_t hits = 0;
    if (threadIdx.x == 0 && sums) total = sums->loss, hits = sums->hits;
    for (int first = 0; first < rows; first += ROWS) {
        int i = first + (int)threadIdx.x, best = 0;
        bool hit = false;
        if (i < rows) {
            size_t at = (size_t)i * classes;
            tl_real mine = row(prob + at, &best, logits + at, label[i], classes);
            row_loss[i] = mine;
            part[threadIdx.x] = mine;
            hit = best == label[i];
        }
        hits += (uint64_t)__syncthreads_count(hit);
        if (threadIdx.x == 0) {
            int count = rows - first < ROWS ? rows - first : (int)ROWS;
#pragma unroll 32 /* loads of many at once: the sums wait for each other long enough */
            for (int k = 0; k < count; k++) {
                batch += part[k];
                total += part[k];
            }
        }
        __syncthreads(); /* the next rows are written only when these are added */
    }
    if (threadIdx.x > 0) return;
    loss[0] = TL_R(batch / (double)rows);
    if (!sums) return;
    sums->loss = total;
    sums->hits = hits;
    sums->count += (uint64_t)rows;
}

static tl_status head_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                          tl_metric_sums *sums, const tl_real *logits, const int32_t *label,
                          int rows, int classes) {
    TL_NEED(ctx && loss && row_loss && prob && logits && label, TL_EINVAL,
            "xent_head_fwd, rung 1: ctx, loss, row_loss, prob, logits or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    head<<<1, ROWS, 0, tl_stream(ctx)>>>(loss, row_loss, prob, sums, logits, label, rows, classes);
    TL_LAUNCHED();
    return TL_OK;
}

/* The same bits without the metrics. */
static tl_status softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                                  const tl_real *logits, const int32_t *label, int rows,
                                  int classes) {
    /* a thread per row is slow over many classes */
    enum { MOST_CLASSES = 64 };
    if (classes > MOST_CLASSES)
        return tl_softmax_xent_fwd(ctx, loss, row_loss, prob, logits, label, rows, classes);
    return head_fwd(ctx, loss, row_loss, prob, NULL, logits, label, rows, classes);
}

/* As the plain path, but overwriting. */
static __global__ void gradient(tl_real *dlogits, const tl_real *dloss, const tl_real *prob,
                                const int32_t *label, size_t rows, size_t classes) {
    tl_real factor = TL_R((double)dloss[0] / (double)rows);
    for (size_t t = tl_thread(); t < rows * classes; t += tl_threads()) {
        bool is_label = (int32_t)(t % classes) == label[t / classes];
        dlogits[t] = factor * (prob[t] - (is_label ? TL_R(1) : TL_R(0)));
    }
}

static tl_status head_bwd(tl_ctx *ctx, tl_real *dlogits, const tl_real *dloss, const tl_real *prob,
                          const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && dlogits && dloss && prob && label, TL_EINVAL,
            "xent_head_bwd, rung 1: ctx, dlogits, dloss, prob or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    size_t n = (size_t)rows, size = n * (size_t)classes;
    gradient<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dlogits, dloss, prob,
                                                                         label, n, (size_t)classes);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_xent_head(tl_backend *ops) {
    ops->softmax_xent_fwd = softmax_xent_fwd;
    ops->xent_head_fwd = head_fwd;
    ops->xent_head_bwd = head_bwd;
}
