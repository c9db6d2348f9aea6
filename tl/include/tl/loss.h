/* tl/loss.h: the end of a net: loss and metrics of a batch. Given code. */
#ifndef TL_LOSS_H
#define TL_LOSS_H

#include "tl/metrics.h"
#include "tl/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tl_op_softmax_xent, and metrics_add into *sums, in one kernel where the device has it. All arrays
 * lie in device memory and stay the caller's; label and prob must stay until backward. */
tl_status tl_loss_head(tl_tape *t, tl_var **loss, tl_var *logits, const int32_t *label,
                       tl_real *row_loss, tl_real *prob, tl_metric_sums *sums);

#ifdef __cplusplus
}
#endif
#endif
