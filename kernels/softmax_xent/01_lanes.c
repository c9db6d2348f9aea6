/* 01_lanes.c: rung 1 of softmax_xent on cpu: sixteen exponentials at a time, which every machine
 * rounds alike.
 *
 * Idea: a row in groups of 16 classes, by lanes16.h: an exponential that is written out, and lane l
 *   adds classes l, l + 16, …
 * Before: a call of libm for each class. It is one number at a time, and its last bits are those of
 *   the glibc at hand.
 * What is wrong: rows of ten classes fill ten of 16 lanes.
 * Bound: multiply-adds: about 12 for an exponential, in double 18.
 * Same bits: prob, loss and gradient have the same bits at any width of vectors, at any number of
 *   threads; the logarithm of the loss is ours, too (tl/portable.h).
 * Shapes: all. */
#include "kernels/lanes16.h"
#include "kernels/rungs.h"
#include "tl/portable.h"

enum { PARALLEL_FROM = 1 << 11 };

static tl_real each_row(tl_real *p, const tl_real *x, int32_t label, size_t classes) {
    tl_real m = x[0];
    double sum[LANES] = {0};
    for (size_t j = 1; j < classes; j++) m = tl_max(m, x[j]);
    for (size_t j = 0; j < classes; j += LANES) {
        tl_real e[LANES];
        size_t count = classes - j < LANES ? classes - j : LANES;
        FOR_LANES(l) e[l] = (size_t)l < count ? x[j + (size_t)l] - m : 0;
        lanes_exp(e);
        FOR_LANES(l) sum[l] += (size_t)l < count ? (double)e[l] : 0;
        memcpy(p + j, e, count * sizeof *p);
    }
    double total = lanes_join(sum);
    tl_real factor = TL_R(1 / total);
    for (size_t j = 0; j < classes; j++) p[j] *= factor;
    return TL_R(tl_portable_log(total) - (double)(x[label] - m));
}

static tl_status check(const int32_t *label, int rows, int classes) {
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    for (int i = 0; i < rows; i++)
        TL_NEED(label[i] >= 0 && label[i] < classes, TL_EINVAL,
                "label of row %d is %d: labels run from 0 to %d", i, (int)label[i], classes - 1);
    return TL_OK;
}

static tl_status softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                                  const tl_real *logits, const int32_t *label, int rows,
                                  int classes) {
    TL_NEED(ctx && loss && row_loss && prob && logits && label, TL_EINVAL,
            "softmax_xent_fwd: ctx, loss, row_loss, prob, logits or label is NULL");
    TL_TRY(check(label, rows, classes));
    size_t width = (size_t)classes;
#pragma omp parallel for num_threads(ctx->threads) if ((size_t)rows * width >= PARALLEL_FROM)
    for (int i = 0; i < rows; i++) {
        size_t at = (size_t)i * width;
        row_loss[i] = each_row(prob + at, logits + at, label[i], width);
    }
    double sum = 0; /* in the order of the rows */
    for (int i = 0; i < rows; i++) sum += row_loss[i];
    loss[0] = TL_R(sum / rows);
    return TL_OK;
}

static tl_status softmax_xent_bwd(tl_ctx *ctx, tl_real *dlogits, const tl_real *dloss,
                                  const tl_real *prob, const int32_t *label, int rows,
                                  int classes) {
    TL_NEED(ctx && dlogits && dloss && prob && label, TL_EINVAL,
            "softmax_xent_bwd: ctx, dlogits, dloss, prob or label is NULL");
    TL_TRY(check(label, rows, classes));
    tl_real scale = TL_R((double)dloss[0] / rows);
    size_t width = (size_t)classes;
#pragma omp parallel for num_threads(ctx->threads) if ((size_t)rows * width >= PARALLEL_FROM)
    for (int i = 0; i < rows; i++) {
        tl_real *d = dlogits + (size_t)i * width;
        const tl_real *p = prob + (size_t)i * width;
        for (int j = 0; j < classes; j++)
            d[j] = lane_fma(scale, p[j] - (j == label[i] ? TL_R(1) : TL_R(0)), d[j]);
    }
    return TL_OK;
}

void tl_rung_softmax_xent_lanes(tl_backend *ops) {
    ops->softmax_xent_fwd = softmax_xent_fwd;
    ops->softmax_xent_bwd = softmax_xent_bwd;
}
