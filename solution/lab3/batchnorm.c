/* batchnorm.c: batch normalisation, one channel at a time. (tl/layers.h) */
#include "tl/layers.h"

/* Below this many elements a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 14 };
//@lab 3:
/* Partial sums side by side: enough for vectors, and for one addition not to wait for the last. */
enum { LANES = 64 };
//@end

//@lab 3:
static size_t size_of(const tl_batchnorm_geom *g) {
    return (size_t)g->n * (size_t)g->c * (size_t)g->hw;
}
//@end

//@lab 3:
/* Where the hw values of channel `channel` of image `i` start in x[n,c,hw]. */
static size_t plane_at(const tl_batchnorm_geom *g, int i, int channel) {
    return ((size_t)i * (size_t)g->c + (size_t)channel) * (size_t)g->hw;
}
//@end

//@lab 3:
typedef struct sums {
    double plain, product;
} sums;
//@end

//@lab 3:
/* Sums of d - d_shift and of (d - d_shift) * (x - x_shift) over one channel. Kept in double: a
 * channel has n*hw values, often 100,000, and a float would lose the last digits of numbers that
 * enter every output. Which value goes to which lane, and the order in which lanes are combined,
 * depend on the sizes alone. */
static sums sums_of(const tl_real *d, double d_shift, const tl_real *x, double x_shift, int channel,
                    const tl_batchnorm_geom *g) {
    double plain[LANES] = {0}, product[LANES] = {0};
    for (int i = 0; i < g->n; i++) {
        const tl_real *d_plane = d + plane_at(g, i, channel);
        const tl_real *x_plane = x + plane_at(g, i, channel);
        for (int j = 0; j < g->hw; j += LANES) {
            int count = g->hw - j < LANES ? g->hw - j : LANES;
            for (int lane = 0; lane < count; lane++) {
                double value = d_plane[j + lane] - d_shift;
                plain[lane] += value;
                product[lane] += value * (x_plane[j + lane] - x_shift);
            }
        }
    }
    sums total = {0, 0};
    for (int lane = 0; lane < LANES; lane++) {
        total.plain += plain[lane];
        total.product += product[lane];
    }
    return total;
}
//@end

//@lab 3:
/* y = (x - mean) * scale + shift over one channel: three numbers carry the whole formula. */
static void transform(tl_real *y, const tl_real *x, const tl_batchnorm_geom *g, int channel,
                      tl_real mean, tl_real scale, tl_real shift) {
    for (int i = 0; i < g->n; i++) {
        size_t at = plane_at(g, i, channel);
        for (size_t j = at; j < at + (size_t)g->hw; j++) y[j] = (x[j] - mean) * scale + shift;
    }
}
//@end

//@lab 3:
/* The variance takes a second pass over x - mean: E[x²] - E[x]² in one pass would cancel where the
 * mean is large beside the deviation. */
//@end
tl_status tl_batchnorm_fwd(tl_ctx *ctx, tl_real *y, tl_real *mean, tl_real *inv_std,
                           tl_real *running_mean, tl_real *running_var, const tl_real *x,
                           const tl_real *gamma, const tl_real *beta, const tl_batchnorm_geom *g) {
    TL_NEED(ctx && y && mean && inv_std && running_mean && running_var && x && gamma && beta && g,
            TL_EINVAL,
            "tl_batchnorm_fwd: ctx, y, mean, inv_std, running_mean, running_var, x, gamma, beta or "
            "the geometry is NULL");
    TL_TRY(tl_batchnorm_check(g));
    double m = (double)g->n * g->hw, keep = 1 - g->momentum;
    TL_NEED(m >= 2, TL_EINVAL,
            "batch norm of one value per channel (n %d, hw %d): training needs 2", g->n, g->hw);

    //@lab 3: Extra credit. For each channel, over its m = n*hw values: mean and biased variance of
    //@  this batch, mean[c], inv_std[c] = 1/sqrt(var + eps), y = gamma * (x - mean) * inv_std +
    //@  beta; then the running statistics by the formula of tl/layers.h, whose variance is
    //@  unbiased (divided by m - 1). Traps: E[x²] - E[x]² cancels where the mean is large beside
    //@  the deviation, so go over x - mean a second time; a float has not enough digits for a sum
    //@  of 100,000 values.
#pragma omp parallel for num_threads(ctx->threads) if (size_of(g) >= PARALLEL_FROM)
    for (int c = 0; c < g->c; c++) {
        double average = sums_of(x, 0, x, 0, c, g).plain / m;
        double squares = sums_of(x, average, x, average, c, g).product;
        mean[c] = TL_R(average);
        inv_std[c] = TL_R(1 / sqrt(squares / m + g->eps));
        running_mean[c] = TL_R(keep * running_mean[c] + g->momentum * average);
        running_var[c] = TL_R(keep * running_var[c] + g->momentum * squares / (m - 1));
        transform(y, x, g, c, mean[c], gamma[c] * inv_std[c], beta[c]);
    }
    return TL_OK;
    //@skeleton
    // (void)keep;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_batchnorm_eval(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *gamma,
                            const tl_real *beta, const tl_real *running_mean,
                            const tl_real *running_var, const tl_batchnorm_geom *g) {
    TL_NEED(ctx && y && x && gamma && beta && running_mean && running_var && g, TL_EINVAL,
            "tl_batchnorm_eval: ctx, y, x, gamma, beta, running_mean, running_var or the geometry "
            "is NULL");
    TL_TRY(tl_batchnorm_check(g));

    //@lab 3: Extra credit. y = gamma * (x - running_mean) / sqrt(running_var + eps) + beta. The
    //@  running statistics stay as they are.
#pragma omp parallel for num_threads(ctx->threads) if (size_of(g) >= PARALLEL_FROM)
    for (int c = 0; c < g->c; c++) {
        double inv_std = 1 / sqrt(running_var[c] + g->eps);
        transform(y, x, g, c, running_mean[c], TL_R(gamma[c] * inv_std), beta[c]);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* dx of one channel from the two means over it. Every x moves mean and variance too, and so every
 * other output: that is what the two subtracted terms account for. */
static void channel_bwd(tl_real *dx, const tl_real *dy, const tl_real *x, int channel, tl_real mean,
                        tl_real inv_std, tl_real gamma, tl_real mean_dy, tl_real mean_dy_xhat,
                        const tl_batchnorm_geom *g) {
    tl_real scale = gamma * inv_std;
    for (int i = 0; i < g->n; i++) {
        size_t at = plane_at(g, i, channel);
        for (size_t j = at; j < at + (size_t)g->hw; j++) {
            tl_real xhat = (x[j] - mean) * inv_std;
            dx[j] += scale * (dy[j] - mean_dy - xhat * mean_dy_xhat);
        }
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
    //@  dbeta += sum of dy, and dx by the formula of tl/layers.h. Derive it on paper once: every x
    //@  moves mean and variance of its channel too, and so every other output. All three add to
    //@  what is there.
    double m = (double)g->n * g->hw;

#pragma omp parallel for num_threads(ctx->threads) if (size_of(g) >= PARALLEL_FROM)
    for (int c = 0; c < g->c; c++) {
        sums sum = sums_of(dy, 0, x, mean[c], c, g);
        double sum_dy = sum.plain, sum_dy_xhat = sum.product * inv_std[c];
        dgamma[c] += TL_R(sum_dy_xhat);
        dbeta[c] += TL_R(sum_dy);
        channel_bwd(dx, dy, x, c, mean[c], inv_std[c], gamma[c], TL_R(sum_dy / m),
                    TL_R(sum_dy_xhat / m), g);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
