/* tl/optim.h: optimisers over one flat array of parameters, and learning-rate schedules. (lab 5)
 *
 * Learning rate and step number come from *step, which lies in device memory, so that a captured
 * step can be replayed with others. All four arrays are device pointers to n >= 1 elements. The
 * formulas are those of torch.optim.SGD and torch.optim.Adam (weight decay is added to the
 * gradient).
 *
 * Steps return TL_EINVAL, with a line that names it, for a pointer that is NULL and need not be,
 * for n = 0 and for options outside of their range, NaN included. What *step holds is not looked
 * at. A gradient may be any number, NaN too: the formula says what becomes of it. */
#ifndef TL_OPTIM_H
#define TL_OPTIM_H

#include <stddef.h>
#include <stdint.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_sgd_options {
    double momentum;     /* mu, 0 <= mu < 1 */
    double weight_decay; /* lambda >= 0 */
    int nesterov;        /* needs mu > 0 */
} tl_sgd_options;

/* g = dw + lambda*w;  v = mu*v + g;  w -= lr * (nesterov ? g + mu*v : v).
 * (Sutskever et al. 2013 in PyTorch's form.) velocity starts as zeros; with mu = 0 it is neither
 * read nor written and may be NULL. */
tl_status tl_sgd_step(tl_ctx *ctx, tl_real *w, tl_real *velocity, const tl_real *dw, size_t n,
                      const tl_step *step, const tl_sgd_options *o);

typedef struct tl_adam_options {
    double beta1, beta2; /* 0 <= beta < 1 */
    double eps;          /* > 0 */
    double weight_decay; /* lambda >= 0 */
} tl_adam_options;

/* g = dw + lambda*w;  m = b1*m + (1-b1)*g;  v = b2*v + (1-b2)*g²;  t = step->index + 1;
 * w -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps).  (Kingma, Ba 2015, algorithm 1.) */
tl_status tl_adam_step(tl_ctx *ctx, tl_real *w, tl_real *m, tl_real *v, const tl_real *dw, size_t n,
                       const tl_step *step, const tl_adam_options *o);

typedef enum tl_schedule_kind {
    TL_SCHEDULE_CONSTANT,
    TL_SCHEDULE_STEP,   /* base * factor^(number of turns reached), turns at turn, 2*turn, … */
    TL_SCHEDULE_COSINE, /* base * (1 + cos(pi * i / total)) / 2  (Loshchilov, Hutter 2017) */
    /* linear from 0 up to base at `turn`, then down to 0 at `total`; up alone if turn >= total */
    TL_SCHEDULE_TRIANGULAR
} tl_schedule_kind;

typedef struct tl_schedule {
    tl_schedule_kind kind;
    double base;    /* learning rate, > 0 */
    double factor;  /* STEP only */
    uint64_t turn;  /* STEP and TRIANGULAR, in optimiser steps, >= 1 */
    uint64_t total; /* COSINE and TRIANGULAR: steps of the whole run, >= 1 */
} tl_schedule;

/* The learning rate of step i = 0 .. total-1, in double. NaN, and a line in tl_error, if schedule
 * is NULL, its kind none of the above, or a number that the kind reads is 0 and must not be. */
double tl_schedule_lr(const tl_schedule *schedule, uint64_t i);

#ifdef __cplusplus
}
#endif
#endif
