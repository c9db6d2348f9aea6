/* softmax_xent.cu: softmax and cross-entropy in one, by log-sum-exp, on a GPU. (tl/layers.h)
 *
 * Labels lie in device memory, so the host cannot look at them without waiting for the device. A
 * label outside the classes is never used as an index: it makes the loss of its row, and so the
 * mean loss, NaN. */
#include "tl/cuda.h"
#include "tl/layers.h"

tl_status tl_softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                              const tl_real *logits, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && loss && row_loss && prob && logits && label, TL_EINVAL,
            "tl_softmax_xent_fwd: ctx, loss, row_loss, prob, logits or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    /* TODO(lab 3): Two kernels: one for prob and row_loss, a thread or, better, a warp per row; one
     * for the mean of row_loss, in one block. m = the largest logit of the row; lse = m + log(sum
     * of exp(x[j] - m)); prob[j] = exp(x[j] - lse); row_loss = lse - x[label]. A warp combines its
     * maxima and sums by __shfl_xor_sync in five steps, always in the same order; all 32 lanes must
     * take part in each. Traps: exp overflows without m; log of a probability that has rounded to
     * 0; a label outside of the classes (see above). */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_softmax_xent_bwd(tl_ctx *ctx, tl_real *dlogits, const tl_real *dloss,
                              const tl_real *prob, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && dlogits && dloss && prob && label, TL_EINVAL,
            "tl_softmax_xent_bwd: ctx, dlogits, dloss, prob or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    /* TODO(lab 3): dlogits += dloss[0] * (derivative of loss[0] by the logits): a kernel and its
     * launch. Derive it on paper from row_loss = lse - x[label]: it needs prob alone. dloss lies in
     * device memory: only the kernel may read it. The mean over rows is part of the loss: its
     * factor is taken once. */
    return TL_NOT_IMPLEMENTED();
}
