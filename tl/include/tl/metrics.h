/* tl/metrics.h: loss and hits of many batches, summed on the device, read once per epoch. */
#ifndef TL_METRICS_H
#define TL_METRICS_H

#include <stdint.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lies in device memory; zero it before the first batch. */
typedef struct tl_metric_sums {
    double loss;   /* sum over images of their loss, added in image order */
    uint64_t hits; /* images whose largest score is that of their label (ties: smallest class) */
    uint64_t count;
} tl_metric_sums;

/* Adds a batch: row_loss[rows] and score[rows,classes] (logits or probabilities) against label.
 * TL_EINVAL if a pointer is NULL, or rows or classes below 1. */
tl_status tl_metrics_add(tl_ctx *ctx, tl_metric_sums *sums, const tl_real *row_loss,
                         const tl_real *score, const int32_t *label, int rows, int classes);

typedef struct tl_metrics {
    double loss;     /* mean over images */
    double accuracy; /* fraction 0..1 */
    uint64_t count;
} tl_metrics;

/* Waits for the device and reads the sums; a count of 0 gives zeros. */
tl_status tl_metrics_read(tl_ctx *ctx, tl_metrics *result, const tl_metric_sums *sums);

#ifdef __cplusplus
}
#endif
#endif
