/* softmax_xent.c: softmax and cross-entropy in one, by log-sum-exp. (tl/layers.h) */
#include "tl/layers.h"

/* Below this many logits a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 11 };

/* Every label is looked at before anything is written: one outside the classes would read and write
 * beyond its row. */
static tl_status check_labels(const int32_t *label, int rows, int classes) {
    for (int i = 0; i < rows; i++) {
        TL_NEED(label[i] >= 0 && label[i] < classes, TL_EINVAL,
                "label of row %d is %d: labels run from 0 to %d", i, (int)label[i], classes - 1);
    }
    return TL_OK;
}

//@lab 3:
/* Writes the probabilities of one row and returns its loss. With the maximum m taken off, no exp
 * overflows and the largest is exactly 1, so the sum lies in [1, classes] and its logarithm is
 * finite: exp(x - lse) = exp(x - m) / sum, and lse - x[label] = log(sum) - (x[label] - m). Both
 * forms also keep the digits that lse itself would lose where m is large. The sum is kept in
 * double: for thousands of classes its rounding would otherwise be the largest error of the loss.
 */
static tl_real row_forward(tl_real *prob, const tl_real *x, int32_t label, int classes) {
    tl_real m = x[0];
    for (int j = 1; j < classes; j++) m = tl_max(m, x[j]);

    double sum = 0;
    for (int j = 0; j < classes; j++) {
        prob[j] = tl_exp(x[j] - m);
        sum += prob[j];
    }
    tl_real scale = TL_R(1 / sum);
    for (int j = 0; j < classes; j++) prob[j] *= scale;
    return TL_R(log(sum) - (double)(x[label] - m));
}
//@end

tl_status tl_softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                              const tl_real *logits, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && loss && row_loss && prob && logits && label, TL_EINVAL,
            "tl_softmax_xent_fwd: ctx, loss, row_loss, prob, logits or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    TL_TRY(check_labels(label, rows, classes));
    //@lab 3: For each row of logits: m = the largest; lse = m + log(sum of exp(x[j] - m)); prob[j]
    //@  = exp(x[j] - lse); row_loss = lse - x[label]. Then loss[0] = the mean of row_loss. Traps:
    //@  exp of a logit of 100 overflows a float, hence m; log(prob[label]) is -inf where prob has
    //@  rounded to 0; lse itself loses digits if m is large, so see how m can be kept out of what
    //@  you write; the sum of many rows in float. The order of all sums must not depend on the
    //@  number of threads.
    size_t size = (size_t)rows * (size_t)classes;

#pragma omp parallel for num_threads(ctx->threads) if (size >= PARALLEL_FROM)
    for (int i = 0; i < rows; i++) {
        size_t at = (size_t)i * (size_t)classes;
        row_loss[i] = row_forward(prob + at, logits + at, label[i], classes);
    }

    /* One thread, in row order: the same bits at any number of threads. */
    double sum = 0;
    for (int i = 0; i < rows; i++) sum += row_loss[i];
    loss[0] = TL_R(sum / rows);
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* The derivative of the loss by a logit is the probability, less 1 at the label (Goodfellow et al.,
 * 6.2.2.3); 1/rows is the derivative of the mean. */
//@end
tl_status tl_softmax_xent_bwd(tl_ctx *ctx, tl_real *dlogits, const tl_real *dloss,
                              const tl_real *prob, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && dlogits && dloss && prob && label, TL_EINVAL,
            "tl_softmax_xent_bwd: ctx, dlogits, dloss, prob or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    TL_TRY(check_labels(label, rows, classes));
    //@lab 3: dlogits += dloss[0] * (derivative of loss[0] by the logits). Derive it on paper from
    //@  row_loss = lse - x[label]: it comes out simple, and needs prob alone. The mean over rows
    //@  is part of the loss: its factor is taken once.
    tl_real scale = TL_R((double)dloss[0] / rows);
    size_t size = (size_t)rows * (size_t)classes;

#pragma omp parallel for num_threads(ctx->threads) if (size >= PARALLEL_FROM)
    for (int i = 0; i < rows; i++) {
        tl_real *d = dlogits + (size_t)i * (size_t)classes;
        const tl_real *p = prob + (size_t)i * (size_t)classes;
        for (int j = 0; j < classes; j++) d[j] += scale * (p[j] - (j == label[i] ? 1 : 0));
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
