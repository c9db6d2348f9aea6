/* oracle_layers.c: pooling, softmax cross-entropy, batch norm and dropout by definition. */
#include "oracle.h"

#include <math.h>

#include "tl/rng.h"

/* The winner of one window: largest, first of equal ones, a NaN above numbers. */
static int winner(const double *plane, const tl_pool2d_geom *g, int p, int q) {
    int best = -1;
    for (int r = 0; r < g->r; r++)
        for (int s = 0; s < g->s; s++) {
            int row = p * g->stride_h - g->pad_h + r, col = q * g->stride_w - g->pad_w + s;
            if (row < 0 || row >= g->h || col < 0 || col >= g->w) continue;
            int at = row * g->w + col;
            if (best < 0 || plane[at] > plane[best]) best = at;
            if (isnan(plane[at])) return at;
        }
    return best;
}

/* y is a copy of the winner, argmax its offset in the plane: row * w + column. */
void oracle_maxpool2d_fwd(double *y, int32_t *argmax, const double *x, const tl_pool2d_geom *g) {
    size_t plane = (size_t)g->h * (size_t)g->w, out = 0;
    for (int map = 0; map < g->n * g->c; map++)
        for (int p = 0; p < g->p; p++)
            for (int q = 0; q < g->q; q++, out++) {
                argmax[out] = winner(x + (size_t)map * plane, g, p, q);
                y[out] = x[(size_t)map * plane + (size_t)argmax[out]];
            }
}

/* dx[winner] += dy: what the argument of each output says, whatever the values were. */
void oracle_maxpool2d_bwd(double *dx, double *scale, const double *dy, const int32_t *argmax,
                          const tl_pool2d_geom *g) {
    size_t plane = (size_t)g->h * (size_t)g->w, outs = (size_t)g->p * (size_t)g->q;
    for (size_t i = 0; i < tl_pool2d_x_size(g); i++) dx[i] = 0;
    for (size_t i = 0; scale && i < tl_pool2d_x_size(g); i++) scale[i] = 0;
    for (size_t i = 0; i < tl_pool2d_y_size(g); i++) {
        size_t at = i / outs * plane + (size_t)argmax[i];
        dx[at] += dy[i];
        if (scale) scale[at] += fabs(dy[i]);
    }
}

/* row_loss = log sum_j exp(x_j) - x_label with the largest x taken off, or exp would overflow. */
double oracle_softmax_xent(double *row_loss, double *prob, const double *logits,
                           const int32_t *label, int rows, int classes) {
    double mean = 0;
    for (int i = 0; i < rows; i++) {
        const double *x = logits + (size_t)i * (size_t)classes;
        double largest = x[oracle_argmax(x, classes)], sum = 0;
        for (int j = 0; j < classes; j++) sum += exp(x[j] - largest);
        for (int j = 0; j < classes; j++)
            prob[(size_t)i * (size_t)classes + (size_t)j] = exp(x[j] - largest) / sum;
        row_loss[i] = (largest - x[label[i]]) + log(sum); /* lse - x, without cancellation */
        mean += row_loss[i] / rows;
    }
    return mean;
}

/* d mean / d x[i,j] = (prob[i,j] - [j is the label]) / rows, times dloss. */
void oracle_softmax_xent_bwd(double *dlogits, double *scale, double dloss, const double *prob,
                             const int32_t *label, int rows, int classes) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < classes; j++) {
            size_t at = (size_t)i * (size_t)classes + (size_t)j;
            double hit = j == label[i];
            dlogits[at] = dloss / rows * (prob[at] - hit);
            if (scale) scale[at] = fabs(dloss / rows) * (prob[at] + hit);
        }
}

/* Runs the statement after it with `at` over all elements of a channel. */
#define FOR_CHANNEL(at, n, c, hw, channel)                                                         \
    for (size_t image_ = 0; image_ < (size_t)(n); image_++)                                        \
        for (size_t at = (image_ * (size_t)(c) + (size_t)(channel)) * (size_t)(hw),                \
                    end_ = at + (size_t)(hw);                                                      \
             at < end_; at++)

/* Mean first, then the mean of squared differences: two passes keep the digits. */
oracle_moments oracle_channel_moments(const double *x, int n, int c, int hw, int channel) {
    oracle_moments m = {0, 0, 0};
    double count = (double)n * hw;
    FOR_CHANNEL(at, n, c, hw, channel) {
        m.mean += x[at] / count;
        m.mean_scale += fabs(x[at]) / count;
    }
    FOR_CHANNEL(at, n, c, hw, channel) m.var += (x[at] - m.mean) * (x[at] - m.mean) / count;
    return m;
}

/* Training and evaluation differ only in whose mean and inv_std these are. */
void oracle_normalise(double *y, double *scale, const double *x, const double *gamma,
                      const double *beta, const double *mean, const double *inv_std, int n, int c,
                      int hw) {
    for (int k = 0; k < c; k++) FOR_CHANNEL(at, n, c, hw, k) {
            y[at] = gamma[k] * (x[at] - mean[k]) * inv_std[k] + beta[k];
            if (scale)
                scale[at] =
                    fabs(gamma[k]) * (fabs(x[at]) + fabs(mean[k])) * inv_std[k] + fabs(beta[k]);
        }
}

/* The derivative with mean and variance as functions of x (Ioffe, Szegedy 2015, section 3). */
static void batchnorm_channel(const oracle_batchnorm_grad *grad, const double *dy, const double *x,
                              double gamma, double mean, double inv_std, int n, int c, int hw,
                              int k) {
    double sum = 0, sum_scale = 0, dot = 0, dot_scale = 0, count = (double)n * hw;
    FOR_CHANNEL(at, n, c, hw, k) {
        sum += dy[at];
        sum_scale += fabs(dy[at]);
        dot += dy[at] * (x[at] - mean) * inv_std;
        dot_scale += fabs(dy[at]) * (fabs(x[at]) + fabs(mean)) * inv_std;
    }
    if (grad->dbeta) grad->dbeta[k] = sum;
    if (grad->dbeta_scale) grad->dbeta_scale[k] = sum_scale;
    if (grad->dgamma) grad->dgamma[k] = dot;
    if (grad->dgamma_scale) grad->dgamma_scale[k] = dot_scale;
    FOR_CHANNEL(at, n, c, hw, k) {
        double xhat = (x[at] - mean) * inv_std;
        double xhat_scale = (fabs(x[at]) + fabs(mean)) * inv_std;
        if (grad->dx) grad->dx[at] = gamma * inv_std * (dy[at] - sum / count - xhat * dot / count);
        if (grad->dx_scale)
            grad->dx_scale[at] =
                fabs(gamma) * inv_std *
                (fabs(dy[at]) + sum_scale / count + xhat_scale * dot_scale / count);
    }
}

void oracle_batchnorm_bwd(const oracle_batchnorm_grad *grad, const double *dy, const double *x,
                          const double *gamma, const double *mean, const double *inv_std, int n,
                          int c, int hw) {
    for (int k = 0; k < c; k++)
        batchnorm_channel(grad, dy, x, gamma[k], mean[k], inv_std[k], n, c, hw, k);
}

/* The draws are those of the given header, tl/rng.h: they are the contract. */
void oracle_dropout_keep(uint8_t *keep, size_t n, double p, uint32_t layer, uint64_t seed,
                         uint64_t step) {
    uint32_t threshold = (uint32_t)floor(p * 4294967296.0);
    for (size_t i = 0; i < n; i++)
        keep[i] = (uint8_t)tl_rng_keep(seed, step, layer, (uint64_t)i, threshold);
}
