/* oracle.h: what every operation means, in double, as loops that read like the formula.
 *
 * Written from the contracts in tl/ alone; shares no code with an implementation. Slow on purpose.
 * Where a result is a sum, `scale` (may be NULL) receives the sum of the absolute values of its
 * terms per element: the unit in which rounding errors of that sum are bounded (tests/bound.h).
 * Functions named _bwd write the gradient itself; a test of accumulation adds what was there
 * before. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "tl/geometry.h"

/* ---- sums and products: oracle_matrix.c ---- */

double oracle_sum(const double *x, size_t n, size_t stride, double *scale);
void oracle_sum_rows(double *y, double *scale, const double *x, int rows, int cols);
void oracle_sum_cols(double *y, double *scale, const double *x, int rows, int cols);
int oracle_argmax(const double *x, int n); /* the first of equal ones */
/* C = op(A) · op(B); g->accumulate is not looked at */
void oracle_matmul(double *C, double *scale, const double *A, const double *B,
                   const tl_matmul_geom *g);
void oracle_transpose(double *y, const double *x, int rows, int cols);
void oracle_linear_fwd(double *y, double *scale, const double *x, const double *w, const double *b,
                       const tl_linear_geom *g);
void oracle_linear_bwd_input(double *dx, double *scale, const double *dy, const double *w,
                             const tl_linear_geom *g);
void oracle_linear_bwd_weight(double *dw, double *scale, const double *dy, const double *x,
                              const tl_linear_geom *g);
void oracle_linear_bwd_bias(double *db, double *scale, const double *dy, const tl_linear_geom *g);

/* ---- convolution: oracle_conv2d.c ---- */

void oracle_im2col(double *col, const double *x, int images, const tl_conv2d_geom *g);
void oracle_col2im(double *dx, double *scale, const double *col, int images,
                   const tl_conv2d_geom *g);
void oracle_conv2d_fwd(double *y, double *scale, const double *x, const double *w, const double *b,
                       const tl_conv2d_geom *g);
void oracle_conv2d_bwd_input(double *dx, double *scale, const double *dy, const double *w,
                             const tl_conv2d_geom *g);
void oracle_conv2d_bwd_weight(double *dw, double *scale, const double *dy, const double *x,
                              const tl_conv2d_geom *g);
void oracle_conv2d_bwd_bias(double *db, double *scale, const double *dy, const tl_conv2d_geom *g);

/* ---- pooling, loss, normalisation, dropout: oracle_layers.c ---- */

void oracle_maxpool2d_fwd(double *y, int32_t *argmax, const double *x, const tl_pool2d_geom *g);
void oracle_maxpool2d_bwd(double *dx, double *scale, const double *dy, const int32_t *argmax,
                          const tl_pool2d_geom *g);
/* returns the mean loss */
double oracle_softmax_xent(double *row_loss, double *prob, const double *logits,
                           const int32_t *label, int rows, int classes);
void oracle_softmax_xent_bwd(double *dlogits, double *scale, double dloss, const double *prob,
                             const int32_t *label, int rows, int classes);

/* One channel's statistics over n and hw of x[n,c,hw]. */
typedef struct oracle_moments {
    double mean, var;  /* var biased */
    double mean_scale; /* mean of |x| */
} oracle_moments;
oracle_moments oracle_channel_moments(const double *x, int n, int c, int hw, int channel);
/* y = gamma * (x - mean) * inv_std + beta; scale: |gamma| (|x| + |mean|) inv_std + |beta| */
void oracle_normalise(double *y, double *scale, const double *x, const double *gamma,
                      const double *beta, const double *mean, const double *inv_std, int n, int c,
                      int hw);
/* All gradients; the scales take xhat as (|x| + |mean|) inv_std. Each may be NULL. */
typedef struct oracle_batchnorm_grad {
    double *dx, *dgamma, *dbeta;
    double *dx_scale, *dgamma_scale, *dbeta_scale;
} oracle_batchnorm_grad;
void oracle_batchnorm_bwd(const oracle_batchnorm_grad *grad, const double *dy, const double *x,
                          const double *gamma, const double *mean, const double *inv_std, int n,
                          int c, int hw);
/* keep[i] is 1 where element i survives, by the draws of tl/rng.h. */
void oracle_dropout_keep(uint8_t *keep, size_t n, double p, uint32_t layer, uint64_t seed,
                         uint64_t step);

/* ---- training: oracle_train.c ---- */

typedef struct oracle_sgd {
    double lr, momentum, weight_decay;
    int nesterov;
} oracle_sgd;
/* One element; the scales bound what is rounded on the way. */
void oracle_sgd_step(double *w, double *v, double dw, const oracle_sgd *o, double *w_scale,
                     double *v_scale);

typedef struct oracle_adam {
    double lr, beta1, beta2, eps, weight_decay;
    uint64_t t; /* 1 in the first step */
} oracle_adam;
void oracle_adam_step(double *w, double *m, double *v, double dw, const oracle_adam *o);

/* kinds in the order of tl_schedule_kind */
enum { ORACLE_CONSTANT, ORACLE_STEP, ORACLE_COSINE, ORACLE_TRIANGULAR };
double oracle_schedule(int kind, double base, double factor, uint64_t turn, uint64_t total,
                       uint64_t i);

/* Which image stands at a position, and which byte of it (or the black border, 0) at a pixel. */
typedef struct oracle_batch {
    int n, shuffle, augment, pad;
    int count, c, h, w;
    uint64_t seed;
    uint32_t epoch, first;
} oracle_batch;
int oracle_batch_image(const oracle_batch *b, int i);
uint8_t oracle_batch_byte(const oracle_batch *b, const uint8_t *images, int i, int ch, int row,
                          int col);

#endif
