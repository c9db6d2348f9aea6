/* adam.c: Adam with weight decay added to the gradient. (tl/optim.h) */
#include "tl/optim.h"

//@lab 5:
/* Parameters that one thread updates at a time. The blocks depend on n alone: where a compiler
 * rounds the vector part of a loop otherwise than its tail, each element still meets the same code
 * at any number of threads. */
enum { BLOCK = 1 << 12 };
//@end

//@lab 5:
/* What one step needs, computed once in double and rounded. */
typedef struct rates {
    tl_real decay;            /* lambda */
    tl_real take1;            /* 1 - beta1 */
    tl_real keep2, take2;     /* beta2, 1 - beta2 */
    tl_real step, root2, eps; /* lr / (1 - beta1^t), sqrt(1 - beta2^t) */
} rates;
//@end

//@lab 5:
/* The order of operations is that of torch.optim.Adam, so that two runs stay together for long:
 * m moves towards g, and sqrt(v / c) is sqrt(v) / sqrt(c). */
static void update(tl_real *restrict w, tl_real *restrict m, tl_real *restrict v,
                   const tl_real *restrict dw, size_t n, const rates *r) {
    tl_real decay = r->decay, take1 = r->take1, keep2 = r->keep2, take2 = r->take2;
    tl_real step = r->step, root2 = r->root2, eps = r->eps;
    for (size_t i = 0; i < n; i++) {
        tl_real g = dw[i] + decay * w[i];
        m[i] += take1 * (g - m[i]);
        v[i] = keep2 * v[i] + take2 * g * g;
        w[i] -= step * m[i] / (tl_sqrt(v[i]) / root2 + eps);
    }
}
//@end

tl_status tl_adam_step(tl_ctx *ctx, tl_real *w, tl_real *m, tl_real *v, const tl_real *dw, size_t n,
                       const tl_step *step, const tl_adam_options *o) {
    TL_NEED(ctx && w && m && v && dw && step && o, TL_EINVAL,
            "tl_adam_step: ctx, w, m, v, dw, step or the options is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_adam_step: n is 0, at least 1 is needed");
    TL_NEED(o->beta1 >= 0 && o->beta1 < 1, TL_EINVAL, "beta1 is %g: needs 0 <= beta < 1", o->beta1);
    TL_NEED(o->beta2 >= 0 && o->beta2 < 1, TL_EINVAL, "beta2 is %g: needs 0 <= beta < 1", o->beta2);
    TL_NEED(o->eps > 0, TL_EINVAL, "eps is %g: needs eps > 0", o->eps);
    TL_NEED(o->weight_decay >= 0, TL_EINVAL, "weight decay is %g: needs lambda >= 0",
            o->weight_decay);

    //@lab 5: For every parameter the formula of tl/optim.h, with t = step->index + 1. m and v
    //@  start at zero and are too small at first: the factors 1 - beta^t correct for that. They
    //@  are the same for all parameters, so form them once, in double. Traps: t starts at 1, or
    //@  there is a division by zero; eps is added to the root, not put under it; the bits must not
    //@  depend on the number of threads.
    /* m and v start at zero, and are too small by these factors after t steps. */
    double t = (double)step->index + 1;
    double correction1 = 1 - pow(o->beta1, t), correction2 = 1 - pow(o->beta2, t);
    rates r = {.decay = TL_R(o->weight_decay),
               .take1 = TL_R(1 - o->beta1),
               .keep2 = TL_R(o->beta2),
               .take2 = TL_R(1 - o->beta2),
               .step = TL_R(step->lr / correction1),
               .root2 = TL_R(sqrt(correction2)),
               .eps = TL_R(o->eps)};

#pragma omp parallel for num_threads(ctx->threads) if (n > BLOCK)
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t count = n - from < BLOCK ? n - from : BLOCK;
        update(w + from, m + from, v + from, dw + from, count, &r);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
