/* 01_lanes.c: rung 1 of batchnorm on cpu: sums over sixteen lanes, in an order that is written out.
 *
 * Idea: the plain path's formulas (solution/lab3/batchnorm.c) by lanes16.h: pixel j of a plane is
 *   lane j modulo 16's, lanes are joined by halves, and each sum of a product is one fma.
 * Bound: memory: each pass reads the batch once.
 * Same bits: at any width of vectors and any number of threads: a channel is one thread's. */
#include "kernels/lanes16.h"
#include "kernels/rungs.h"

enum { PARALLEL_FROM = 1 << 14 };

/* Where the hw values of channel `channel` of image `i` start in x[n,c,hw]. */
static size_t plane_at(const tl_batchnorm_geom *g, int i, int channel) {
    return ((size_t)i * (size_t)g->c + (size_t)channel) * (size_t)g->hw;
}

typedef struct sums {
    double plain, product;
} sums;

/* The sums of d - d_shift and of (d - d_shift) * (x - x_shift) over one channel, in double: a float
 * has not enough digits for a sum of 100,000 values. */
static sums sums_of(const tl_real *d, double d_shift, const tl_real *x, double x_shift, int channel,
                    const tl_batchnorm_geom *g) {
    double plain[LANES] = {0}, product[LANES] = {0};
    for (int i = 0; i < g->n; i++) {
        const tl_real *d_plane = d + plane_at(g, i, channel),
                      *x_plane = x + plane_at(g, i, channel);
        int j = 0;
        for (; j + LANES <= g->hw; j += LANES) FOR_LANES(l) {
                double value = (double)d_plane[j + l] - d_shift;
                plain[l] += value;
                product[l] = __builtin_fma(value, (double)x_plane[j + l] - x_shift, product[l]);
            }
        for (int l = 0; l < g->hw - j; l++) {
            double value = (double)d_plane[j + l] - d_shift;
            plain[l] += value;
            product[l] = __builtin_fma(value, (double)x_plane[j + l] - x_shift, product[l]);
        }
    }
    return (sums){lanes_join(plain), lanes_join(product)};
}

/* y = (x - mean) * scale + shift over one channel. */
static void transform(tl_real *y, const tl_real *x, const tl_batchnorm_geom *g, int channel,
                      tl_real mean, tl_real scale, tl_real shift) {
    for (int i = 0; i < g->n; i++) {
        size_t at = plane_at(g, i, channel);
        for (size_t j = at; j < at + (size_t)g->hw; j++) y[j] = lane_fma(x[j] - mean, scale, shift);
    }
}

static tl_status batchnorm_fwd(tl_ctx *ctx, tl_real *y, tl_real *mean, tl_real *inv_std,
                               tl_real *running_mean, tl_real *running_var, const tl_real *x,
                               const tl_real *gamma, const tl_real *beta,
                               const tl_batchnorm_geom *g) {
    TL_NEED(ctx && y && mean && inv_std && running_mean && running_var && x && gamma && beta && g,
            TL_EINVAL,
            "batchnorm_fwd, rung 1: ctx, y, mean, inv_std, running_mean, running_var, x, gamma, "
            "beta or the geometry is NULL");
    TL_TRY(tl_batchnorm_check(g));
    double m = (double)g->n * g->hw, keep = 1 - g->momentum;
    TL_NEED(m >= 2, TL_EINVAL,
            "batch norm of one value per channel (n %d, hw %d): training needs 2", g->n, g->hw);
#pragma omp parallel for num_threads(ctx->threads) if (tl_batchnorm_size(g) >= PARALLEL_FROM)
    for (int c = 0; c < g->c; c++) {
        double average = sums_of(x, 0, x, 0, c, g).plain / m;
        double squares = sums_of(x, average, x, average, c, g).product;
        double unbiased = g->momentum * squares / (m - 1);
        mean[c] = TL_R(average);
        inv_std[c] = TL_R(1 / sqrt(squares / m + g->eps));
        running_mean[c] = TL_R(__builtin_fma(keep, (double)running_mean[c], g->momentum * average));
        running_var[c] = TL_R(__builtin_fma(keep, (double)running_var[c], unbiased));
        transform(y, x, g, c, mean[c], gamma[c] * inv_std[c], beta[c]);
    }
    return TL_OK;
}

static tl_status batchnorm_eval(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *gamma,
                                const tl_real *beta, const tl_real *running_mean,
                                const tl_real *running_var, const tl_batchnorm_geom *g) {
    TL_NEED(ctx && y && x && gamma && beta && running_mean && running_var && g, TL_EINVAL,
            "batchnorm_eval, rung 1: ctx, y, x, gamma, beta, running_mean, running_var or the "
            "geometry is NULL");
    TL_TRY(tl_batchnorm_check(g));
#pragma omp parallel for num_threads(ctx->threads) if (tl_batchnorm_size(g) >= PARALLEL_FROM)
    for (int c = 0; c < g->c; c++) {
        double inv_std = 1 / sqrt((double)running_var[c] + g->eps);
        transform(y, x, g, c, running_mean[c], TL_R((double)gamma[c] * inv_std), beta[c]);
    }
    return TL_OK;
}

/* dx of one channel from the two means over it. */
static void channel_bwd(tl_real *dx, const tl_real *dy, const tl_real *x, int channel, tl_real mean,
                        tl_real inv_std, tl_real gamma, tl_real mean_dy, tl_real mean_dy_xhat,
                        const tl_batchnorm_geom *g) {
    tl_real scale = gamma * inv_std;
    for (int i = 0; i < g->n; i++) {
        size_t at = plane_at(g, i, channel);
        for (size_t j = at; j < at + (size_t)g->hw; j++) {
            tl_real xhat = (x[j] - mean) * inv_std;
            tl_real rest = lane_fma(-xhat, mean_dy_xhat, dy[j] - mean_dy);
            dx[j] = lane_fma(scale, rest, dx[j]);
        }
    }
}

static tl_status batchnorm_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dgamma, tl_real *dbeta,
                               const tl_real *dy, const tl_real *x, const tl_real *gamma,
                               const tl_real *mean, const tl_real *inv_std,
                               const tl_batchnorm_geom *g) {
    TL_NEED(ctx && dx && dgamma && dbeta && dy && x && gamma && mean && inv_std && g, TL_EINVAL,
            "batchnorm_bwd, rung 1: ctx, dx, dgamma, dbeta, dy, x, gamma, mean, inv_std or the "
            "geometry is NULL");
    TL_TRY(tl_batchnorm_check(g));
    double m = (double)g->n * g->hw;
#pragma omp parallel for num_threads(ctx->threads) if (tl_batchnorm_size(g) >= PARALLEL_FROM)
    for (int c = 0; c < g->c; c++) {
        sums sum = sums_of(dy, 0, x, (double)mean[c], c, g);
        double sum_dy_xhat = sum.product * (double)inv_std[c];
        dgamma[c] += TL_R(sum_dy_xhat);
        dbeta[c] += TL_R(sum.plain);
        channel_bwd(dx, dy, x, c, mean[c], inv_std[c], gamma[c], TL_R(sum.plain / m),
                    TL_R(sum_dy_xhat / m), g);
    }
    return TL_OK;
}

void tl_rung_batchnorm_lanes(tl_backend *ops) {
    ops->batchnorm_fwd = batchnorm_fwd;
    ops->batchnorm_eval = batchnorm_eval;
    ops->batchnorm_bwd = batchnorm_bwd;
}
