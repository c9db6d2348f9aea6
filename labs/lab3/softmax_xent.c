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

tl_status tl_softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                              const tl_real *logits, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && loss && row_loss && prob && logits && label, TL_EINVAL,
            "tl_softmax_xent_fwd: ctx, loss, row_loss, prob, logits or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    TL_TRY(check_labels(label, rows, classes));
    /* TODO(lab 3): For each row of logits: m = the largest; lse = m + log(sum of exp(x[j] - m));
     * prob[j] = exp(x[j] - lse); row_loss = lse - x[label]. Then loss[0] = the mean of row_loss.
     * Traps: exp of a logit of 100 overflows a float, hence m; log(prob[label]) is -inf where prob
     * has rounded to 0; lse itself loses digits if m is large, so see how m can be kept out of what
     * you write; the sum of many rows in float. The order of all sums must not depend on the number
     * of threads. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_softmax_xent_bwd(tl_ctx *ctx, tl_real *dlogits, const tl_real *dloss,
                              const tl_real *prob, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && dlogits && dloss && prob && label, TL_EINVAL,
            "tl_softmax_xent_bwd: ctx, dlogits, dloss, prob or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    TL_TRY(check_labels(label, rows, classes));
    /* TODO(lab 3): dlogits += dloss[0] * (derivative of loss[0] by the logits). Derive it on paper
     * from row_loss = lse - x[label]: it comes out simple, and needs prob alone. The mean over rows
     * is part of the loss: its factor is taken once. */
    return TL_NOT_IMPLEMENTED();
}
