/* batchnorm.cu: batch normalisation on a GPU, a block per channel. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"

//@lab 3:
/* Adds one number of each thread of the block as a tree; all threads get the sum. */
static __device__ double block_sum(double value) {
    __shared__ double part[TL_BLOCK];
    __syncthreads(); /* the sum of an earlier call may still be being read */
    part[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = TL_BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}
//@end

//@lab 3:
typedef struct sums {
    double plain, product;
} sums;
//@end

//@lab 3:
/* Sums of d - d_shift and of (d - d_shift) * (x - x_shift) over channel `c`, for all threads of the
 * block. Kept in double: a channel has n*hw values, often 100,000, and a float would lose the last
 * digits of numbers that enter every output. Which thread adds what depends on the sizes alone. */
static __device__ sums sums_of(const tl_real *d, double d_shift, const tl_real *x, double x_shift,
                               size_t c, tl_batchnorm_geom g) {
    size_t hw = (size_t)g.hw;
    double plain = 0, product = 0;
    for (size_t t = threadIdx.x; t < g.n * hw; t += TL_BLOCK) {
        size_t at = (t / hw * g.c + c) * hw + t % hw;
        double value = d[at] - d_shift;
        plain += value;
        product += value * (x[at] - x_shift);
    }
    sums total;
    total.plain = block_sum(plain);
    total.product = block_sum(product);
    return total;
}
//@end

//@lab 3:
/* The variance takes a second pass over x - mean: E[x²] - E[x]² in one pass would cancel where the
 * mean is large beside the deviation. */
static __global__ void statistics(tl_real *mean, tl_real *inv_std, tl_real *running_mean,
                                  tl_real *running_var, const tl_real *x, tl_batchnorm_geom g) {
    size_t c = blockIdx.x;
    double m = (double)g.n * g.hw, keep = 1 - g.momentum;
    double average = sums_of(x, 0, x, 0, c, g).plain / m;
    double squares = sums_of(x, average, x, average, c, g).product;
    if (threadIdx.x != 0) return;
    mean[c] = TL_R(average);
    inv_std[c] = TL_R(1 / sqrt(squares / m + g.eps));
    running_mean[c] = TL_R(keep * running_mean[c] + g.momentum * average);
    running_var[c] = TL_R(keep * running_var[c] + g.momentum * squares / (m - 1));
}
//@end

//@lab 3:
/* y = (x - mean) * scale + shift over one plane: three numbers carry the whole formula. */
static __device__ void transform(tl_real *y, const tl_real *x, size_t hw, tl_real mean,
                                 tl_real scale, tl_real shift) {
    for (size_t j = threadIdx.x; j < hw; j += TL_BLOCK) y[j] = (x[j] - mean) * scale + shift;
}
//@end

//@lab 3:
/* A block per plane of the batch: far more blocks than channels. */
static __global__ void normalise(tl_real *y, const tl_real *x, const tl_real *gamma,
                                 const tl_real *beta, const tl_real *mean, const tl_real *inv_std,
                                 size_t planes, size_t channels, size_t hw) {
    for (size_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
        size_t c = plane % channels, at = plane * hw;
        transform(y + at, x + at, hw, mean[c], gamma[c] * inv_std[c], beta[c]);
    }
}
//@end

tl_status tl_batchnorm_fwd(tl_ctx *ctx, tl_real *y, tl_real *mean, tl_real *inv_std,
                           tl_real *running_mean, tl_real *running_var, const tl_real *x,
                           const tl_real *gamma, const tl_real *beta, const tl_batchnorm_geom *g) {
    TL_NEED(ctx && y && mean && inv_std && running_mean && running_var && x && gamma && beta && g,
            TL_EINVAL,
            "tl_batchnorm_fwd: ctx, y, mean, inv_std, running_mean, running_var, x, gamma, beta or "
            "the geometry is NULL");
    TL_TRY(tl_batchnorm_check(g));
    TL_NEED((double)g->n * g->hw >= 2, TL_EINVAL,
            "batch norm of one value per channel (n %d, hw %d): training needs 2", g->n, g->hw);
    //@lab 3: Extra credit. A kernel with a block per channel for mean, inv_std and the running
    //@  statistics, and one that normalises. Biased variance for y, unbiased (m - 1) for
    //@  running_var. Traps: E[x²] - E[x]² cancels, so go over x - mean a second time; sums in
    //@  double; shared memory that a second sum overwrites while some threads still read the
    //@  first; who may write running_mean[c]?
    size_t channels = (size_t)g->c, planes = (size_t)g->n * channels;
    statistics<<<(unsigned)g->c, TL_BLOCK, 0, tl_stream(ctx)>>>(mean, inv_std, running_mean,
                                                                running_var, x, *g);
    TL_LAUNCHED();
    normalise<<<tl_blocks(planes, 1), TL_BLOCK, 0, tl_stream(ctx)>>>(
        y, x, gamma, beta, mean, inv_std, planes, channels, (size_t)g->hw);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
static __global__ void evaluate(tl_real *y, const tl_real *x, const tl_real *gamma,
                                const tl_real *beta, const tl_real *running_mean,
                                const tl_real *running_var, size_t planes, tl_batchnorm_geom g) {
    for (size_t plane = blockIdx.x; plane < planes; plane += gridDim.x) {
        size_t c = plane % g.c, at = plane * g.hw;
        double inv_std = 1 / sqrt(running_var[c] + g.eps);
        transform(y + at, x + at, g.hw, running_mean[c], TL_R(gamma[c] * inv_std), beta[c]);
    }
}
//@end

tl_status tl_batchnorm_eval(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *gamma,
                            const tl_real *beta, const tl_real *running_mean,
                            const tl_real *running_var, const tl_batchnorm_geom *g) {
    TL_NEED(ctx && y && x && gamma && beta && running_mean && running_var && g, TL_EINVAL,
            "tl_batchnorm_eval: ctx, y, x, gamma, beta, running_mean, running_var or the geometry "
            "is NULL");
    TL_TRY(tl_batchnorm_check(g));

    //@lab 3: Extra credit. y = gamma * (x - running_mean) / sqrt(running_var + eps) + beta, for
    //@  all planes.
    size_t planes = (size_t)g->n * (size_t)g->c;
    evaluate<<<tl_blocks(planes, 1), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, gamma, beta, running_mean,
                                                                    running_var, planes, *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* Every x moves mean and variance too, and so every other output: that is what the two subtracted
 * terms account for. One kernel, because the sums of a channel are needed by its own block only. */
static __global__ void backward(tl_real *dx, tl_real *dgamma, tl_real *dbeta, const tl_real *dy,
                                const tl_real *x, const tl_real *gamma, const tl_real *mean,
                                const tl_real *inv_std, tl_batchnorm_geom g) {
    size_t c = blockIdx.x, hw = (size_t)g.hw;
    double m = (double)g.n * g.hw;
    sums sum = sums_of(dy, 0, x, mean[c], c, g);
    double sum_dy = sum.plain, sum_dy_xhat = sum.product * inv_std[c];
    if (threadIdx.x == 0) {
        dgamma[c] += TL_R(sum_dy_xhat);
        dbeta[c] += TL_R(sum_dy);
    }
    tl_real scale = gamma[c] * inv_std[c];
    tl_real mean_dy = TL_R(sum_dy / m), mean_dy_xhat = TL_R(sum_dy_xhat / m);
    for (size_t t = threadIdx.x; t < g.n * hw; t += TL_BLOCK) {
        size_t at = (t / hw * g.c + c) * hw + t % hw;
        tl_real xhat = (x[at] - mean[c]) * inv_std[c];
        dx[at] += scale * (dy[at] - mean_dy - xhat * mean_dy_xhat);
    }
}
//@end

tl_status tl_batchnorm_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dgamma, tl_real *dbeta,
                           const tl_real *dy, const tl_real *x, const tl_real *gamma,
                           const tl_real *mean, const tl_real *inv_std,
                           const tl_batchnorm_geom *g) {
    TL_NEED(ctx && dx && dgamma && dbeta && dy && x && gamma && mean && inv_std && g, TL_EINVAL,
            "tl_batchnorm_bwd: ctx, dx, dgamma, dbeta, dy, x, gamma, mean, inv_std or the geometry "
            "is NULL");
    TL_TRY(tl_batchnorm_check(g));

    //@lab 3: Extra credit. With xhat = (x - mean) * inv_std, made again: dgamma += sum of dy*xhat,
    //@  dbeta += sum of dy, and dx by the formula of tl/layers.h; a block per channel can do all
    //@  of it, for the two sums of a channel are needed by its own x alone.
    backward<<<(unsigned)g->c, TL_BLOCK, 0, tl_stream(ctx)>>>(dx, dgamma, dbeta, dy, x, gamma, mean,
                                                              inv_std, *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
