/* metrics.c: sums of loss and hits on the cpu, and reading them on any device. (tl/metrics.h) */
#include "tl/metrics.h"

#include "tl/backend.h"

/* The smallest class with the largest score, as PyTorch's argmax. */
static int best_class(const tl_real *score, int classes) {
    int best = 0;
    for (int j = 1; j < classes; j++) {
        if (score[j] > score[best]) best = j;
    }
    return best;
}

/* One thread: a batch has a few hundred rows of a few classes, and the order of the additions is
 * that of the images, whatever ctx->threads says. */
tl_status tl_metrics_add(tl_ctx *ctx, tl_metric_sums *sums, const tl_real *row_loss,
                         const tl_real *score, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && sums && row_loss && score && label, TL_EINVAL,
            "tl_metrics_add: ctx, sums, row_loss, score or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "tl_metrics_add: score is [%d,%d], sizes must be at least 1", rows, classes);
    for (int i = 0; i < rows; i++) {
        sums->loss += (double)row_loss[i];
        sums->hits += best_class(score + (size_t)i * (size_t)classes, classes) == label[i];
    }
    sums->count += (uint64_t)rows;
    return TL_OK;
}

tl_status tl_metrics_read(tl_ctx *ctx, tl_metrics *result, const tl_metric_sums *sums) {
    tl_metric_sums host;
    TL_TRY(ctx->ops->sync(ctx));
    TL_TRY(ctx->ops->copy_out(ctx, &host, sums, sizeof host));

    *result = (tl_metrics){.count = host.count};
    if (host.count > 0) {
        result->loss = host.loss / (double)host.count;
        result->accuracy = (double)host.hits / (double)host.count;
    }
    return TL_OK;
}
