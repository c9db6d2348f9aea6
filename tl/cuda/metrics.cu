/* metrics.cu: sums of loss and hits on a GPU. (tl/metrics.h) */
#include "tl/metrics.h"

#include "tl/cuda.h"

/* The smallest class with the largest score, as PyTorch's argmax. */
static __device__ int best_class(const tl_real *score, int classes) {
    int best = 0;
    for (int j = 1; j < classes; j++)
        if (score[j] > score[best]) best = j;
    return best;
}

/* One block. Its threads look at TL_BLOCK rows at a time; one thread then adds them in the order of
 * the images, so that the sum has the same bits as on every device. */
static __global__ void add_batch(tl_metric_sums *sums, const tl_real *row_loss,
                                 const tl_real *score, const int32_t *label, size_t rows,
                                 int classes) {
    __shared__ double loss[TL_BLOCK];
    __shared__ int hit[TL_BLOCK];
    for (size_t first = 0; first < rows; first += TL_BLOCK) {
        size_t i = first + threadIdx.x;
        if (i < rows) {
            loss[threadIdx.x] = row_loss[i];
            hit[threadIdx.x] = best_class(score + i * classes, classes) == label[i];
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            size_t count = rows - first < TL_BLOCK ? rows - first : (size_t)TL_BLOCK;
            double loss_sum = sums->loss;
            uint64_t hits = sums->hits;
            for (size_t k = 0; k < count; k++) {
                loss_sum += loss[k];
                hits += (uint64_t)hit[k];
            }
            sums->loss = loss_sum;
            sums->hits = hits;
            sums->count += count;
        }
        __syncthreads(); /* the next rows are written only when these are added */
    }
}

tl_status tl_metrics_add(tl_ctx *ctx, tl_metric_sums *sums, const tl_real *row_loss,
                         const tl_real *score, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && sums && row_loss && score && label, TL_EINVAL,
            "tl_metrics_add: ctx, sums, row_loss, score or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "tl_metrics_add: score is [%d,%d], sizes must be at least 1", rows, classes);
    add_batch<<<1, TL_BLOCK, 0, tl_stream(ctx)>>>(sums, row_loss, score, label, (size_t)rows,
                                                  classes);
    TL_LAUNCHED();
    return TL_OK;
}
