/* softmax_xent.cu: softmax and cross-entropy in one, by log-sum-exp, on a GPU. (tl/layers.h)
 *
 * Labels lie in device memory, so the host cannot look at them without waiting for the device. A
 * label outside the classes is never used as an index: it makes the loss of its row, and so the
 * mean loss, NaN. */
#include "tl/cuda.h"
#include "tl/layers.h"

//@lab 3:
enum { WARP = 32 };
//@end

//@lab 3:
/* Largest value and sum over the 32 threads of a warp, for all of them: in each of five steps a
 * thread combines its number with that of a thread 16, 8, 4, 2, 1 places away. The order is always
 * the same, and because a + b is b + a all threads get the same bits. */
static __device__ tl_real warp_max(tl_real value) {
    for (int away = WARP / 2; away > 0; away /= 2)
        value = tl_max(value, __shfl_xor_sync(0xffffffffu, value, away));
    return value;
}
//@end

//@lab 3:
static __device__ double warp_sum(double value) {
    for (int away = WARP / 2; away > 0; away /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, away);
    return value;
}
//@end

//@lab 3:
/* A warp per row. With the maximum m taken off, no exp overflows and the largest is exactly 1, so
 * the sum lies in [1, classes] and its logarithm is finite: exp(x - lse) = exp(x - m) / sum, and
 * lse - x[label] = log(sum) - (x[label] - m). The sum is kept in double: for thousands of classes
 * its rounding would otherwise be the largest error of the loss. */
static __global__ void forward(tl_real *row_loss, tl_real *prob, const tl_real *logits,
                               const int32_t *label, size_t rows, int classes) {
    int lane = (int)threadIdx.x % WARP;
    /* i is the same for all threads of a warp: they leave the loop together, as shuffles need */
    for (size_t i = tl_thread() / WARP; i < rows; i += tl_threads() / WARP) {
        const tl_real *x = logits + i * classes;
        tl_real *p = prob + i * classes;
        tl_real m = x[0];
        for (int j = lane; j < classes; j += WARP) m = tl_max(m, x[j]);
        m = warp_max(m);

        double sum = 0;
        for (int j = lane; j < classes; j += WARP) {
            p[j] = tl_exp(x[j] - m);
            sum += p[j];
        }
        sum = warp_sum(sum);
        tl_real factor = TL_R(1 / sum);
        for (int j = lane; j < classes; j += WARP) p[j] *= factor;
        bool valid = label[i] >= 0 && label[i] < classes;
        if (lane == 0) row_loss[i] = valid ? TL_R(log(sum) - (double)(x[label[i]] - m)) : TL_R(NAN);
    }
}
//@end

//@lab 3:
/* One block: each thread adds every TL_BLOCK-th row, then they are combined as a tree. */
static __global__ void mean(tl_real *loss, const tl_real *row_loss, size_t rows) {
    __shared__ double part[TL_BLOCK];
    double mine = 0;
    for (size_t i = threadIdx.x; i < rows; i += TL_BLOCK) mine += row_loss[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = TL_BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) loss[0] = TL_R(part[0] / (double)rows);
}
//@end

tl_status tl_softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                              const tl_real *logits, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && loss && row_loss && prob && logits && label, TL_EINVAL,
            "tl_softmax_xent_fwd: ctx, loss, row_loss, prob, logits or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    //@lab 3: Two kernels: one for prob and row_loss, a thread or, better, a warp per row; one for
    //@  the mean of row_loss, in one block. m = the largest logit of the row; lse = m + log(sum of
    //@  exp(x[j] - m)); prob[j] = exp(x[j] - lse); row_loss = lse - x[label]. A warp combines its
    //@  maxima and sums by __shfl_xor_sync in five steps, always in the same order; all 32 lanes
    //@  must take part in each. Traps: exp overflows without m; log of a probability that has
    //@  rounded to 0; a label outside of the classes (see above).
    enum { THREADS = 4 * WARP };
    size_t n = (size_t)rows;
    forward<<<tl_blocks(n * WARP, THREADS), THREADS, 0, tl_stream(ctx)>>>(row_loss, prob, logits,
                                                                          label, n, classes);
    TL_LAUNCHED();
    mean<<<1, TL_BLOCK, 0, tl_stream(ctx)>>>(loss, row_loss, n);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* The derivative of the loss by a logit is the probability, less 1 at the label (Goodfellow et al.,
 * 6.2.2.3); 1/rows is the derivative of the mean. One thread per logit. */
static __global__ void backward(tl_real *dlogits, const tl_real *dloss, const tl_real *prob,
                                const int32_t *label, size_t rows, size_t classes) {
    tl_real factor = TL_R((double)dloss[0] / (double)rows);
    for (size_t t = tl_thread(); t < rows * classes; t += tl_threads()) {
        bool is_label = (int32_t)(t % classes) == label[t / classes];
        dlogits[t] += factor * (prob[t] - (is_label ? TL_R(1) : TL_R(0)));
    }
}
//@end

tl_status tl_softmax_xent_bwd(tl_ctx *ctx, tl_real *dlogits, const tl_real *dloss,
                              const tl_real *prob, const int32_t *label, int rows, int classes) {
    TL_NEED(ctx && dlogits && dloss && prob && label, TL_EINVAL,
            "tl_softmax_xent_bwd: ctx, dlogits, dloss, prob or label is NULL");
    TL_NEED(rows >= 1 && classes >= 1, TL_EINVAL,
            "softmax of %d rows, %d classes: at least 1 of each is needed", rows, classes);
    //@lab 3: dlogits += dloss[0] * (derivative of loss[0] by the logits): a kernel and its launch.
    //@  Derive it on paper from row_loss = lse - x[label]: it needs prob alone. dloss lies in
    //@  device memory: only the kernel may read it. The mean over rows is part of the loss: its
    //@  factor is taken once.
    size_t n = (size_t)rows, size = n * (size_t)classes;
    backward<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dlogits, dloss, prob,
                                                                         label, n, (size_t)classes);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
