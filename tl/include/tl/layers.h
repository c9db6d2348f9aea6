/* tl/layers.h: pooling, linear, ReLU, loss, batch norm, dropout on raw device pointers. (lab 3)
 *
 * fwd overwrites its outputs; bwd adds to gradients, which the caller has zeroed when it wants only
 * this one. Outputs never overlap inputs unless said. Nothing here allocates or synchronises.
 *
 * All return TL_EINVAL, with a line that says so, for a pointer that is NULL and need not be, for
 * geometry that its check refuses, for n, rows or classes below 1 and for options outside of their
 * range (tl/context.h says what holds for every operation). */
#ifndef TL_LAYERS_H
#define TL_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "tl/context.h"
#include "tl/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Max pooling. y[n,c,p,q] is the largest x in the window, argmax[n,c,p,q] its offset h*W + w within
 * the image plane; of equal values the first in row-major order wins, a NaN wins over numbers, and
 * of several NaN the first.
 */
tl_status tl_maxpool2d_fwd(tl_ctx *ctx, tl_real *y, int32_t *argmax, const tl_real *x,
                           const tl_pool2d_geom *g);
/* dx[n,c,argmax] += dy: each dy goes to the one saved winner, also where windows overlap. */
tl_status tl_maxpool2d_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const int32_t *argmax,
                           const tl_pool2d_geom *g);

/* y[n,out] = x[n,in] · wᵀ + b[out], w[out,in]; b may be NULL. */
tl_status tl_linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_linear_geom *g);
tl_status tl_linear_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_linear_geom *g); /* dx[n,in] += dy · w */
tl_status tl_linear_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_linear_geom *g); /* dw[out,in] += dyᵀ · x */
tl_status tl_linear_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy,
                             const tl_linear_geom *g); /* db[out] += sum over n of dy */

/* y = max(x, 0); y may be x. NaN stays NaN. dx += dy where y > 0, nothing elsewhere (0 at x = 0,
 * and where y is NaN, which is not above 0). */
tl_status tl_relu_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n);
tl_status tl_relu_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *y, size_t n);

/* Softmax cross-entropy of logits[rows,classes] against label[rows] (0 <= label < classes):
 *   prob[i,j]   = exp(logit[i,j] - lse[i]),  lse[i] = max_j + log sum_j exp(logit[i,j] - max_j)
 *   row_loss[i] = lse[i] - logit[i,label[i]];   loss[0] = mean over i of row_loss[i]
 * Stable for logits of any size (Goodfellow, Bengio, Courville, "Deep Learning", 4.1); where all
 * are large and alike, row_loss keeps the digits that an lse rounded to tl_real would cost it. A
 * label out of range is TL_EINVAL on the cpu; on a GPU, where the host cannot look, it makes the
 * loss NaN. */
tl_status tl_softmax_xent_fwd(tl_ctx *ctx, tl_real *loss, tl_real *row_loss, tl_real *prob,
                              const tl_real *logits, const int32_t *label, int rows, int classes);
/* dlogits[i,j] += dloss[0] / rows * (prob[i,j] - [j == label[i]]); the mean is taken here, once.
 * dloss lies in device memory. */
tl_status tl_softmax_xent_bwd(tl_ctx *ctx, tl_real *dlogits, const tl_real *dloss,
                              const tl_real *prob, const int32_t *label, int rows, int classes);

/* Batch normalisation over N,H,W of x[n,c,hw] (Ioffe, Szegedy 2015, algorithm 1):
 *   mean[c], var[c] of this batch (biased: divided by m = n*hw);  inv_std[c] = 1/sqrt(var + eps)
 *   y = gamma[c] * (x - mean[c]) * inv_std[c] + beta[c]
 *   running = (1 - momentum) * running + momentum * batch, the variance unbiased (m/(m-1)) there.
 * mean and inv_std are outputs that bwd needs. fwd needs n*hw >= 2. */
typedef struct tl_batchnorm_geom {
    int n, c, hw;
    double eps;      /* at least 0 */
    double momentum; /* from 0 to 1 */
} tl_batchnorm_geom;
/* As the checks of tl/geometry.h: TL_EINVAL, with a line that names the offending number. */
tl_status tl_batchnorm_check(const tl_batchnorm_geom *g);
static inline size_t tl_batchnorm_size(const tl_batchnorm_geom *g) {
    return (size_t)g->n * (size_t)g->c * (size_t)g->hw;
}
tl_status tl_batchnorm_fwd(tl_ctx *ctx, tl_real *y, tl_real *mean, tl_real *inv_std,
                           tl_real *running_mean, tl_real *running_var, const tl_real *x,
                           const tl_real *gamma, const tl_real *beta, const tl_batchnorm_geom *g);
/* The same formula with the running statistics, which stay as they are. */
tl_status tl_batchnorm_eval(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *gamma,
                            const tl_real *beta, const tl_real *running_mean,
                            const tl_real *running_var, const tl_batchnorm_geom *g);
/* dgamma[c] += sum dy*xhat, dbeta[c] += sum dy,
 * dx += gamma*inv_std * (dy - mean(dy) - xhat * mean(dy*xhat)), means over n,hw. */
tl_status tl_batchnorm_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dgamma, tl_real *dbeta,
                           const tl_real *dy, const tl_real *x, const tl_real *gamma,
                           const tl_real *mean, const tl_real *inv_std, const tl_batchnorm_geom *g);

/* Inverted dropout (Srivastava et al. 2014): y = x / (1-p) where element i is kept, else 0; kept is
 * tl_rng_keep(step->seed, step->index, layer, i, threshold of p). 0 <= p < 1. bwd makes the same
 * draws again: no mask is stored. step lies in device memory. */
typedef struct tl_dropout_geom {
    size_t n;
    double p;
    uint32_t layer; /* which dropout layer of the net, from 0, below 65536 */
} tl_dropout_geom;
uint32_t tl_dropout_threshold(double p); /* given: floor(p * 2^32) */
tl_status tl_dropout_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_step *step,
                         const tl_dropout_geom *g);
tl_status tl_dropout_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_step *step,
                         const tl_dropout_geom *g);

#ifdef __cplusplus
}
#endif
#endif
