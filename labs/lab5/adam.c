/* adam.c: Adam with weight decay added to the gradient. (tl/optim.h) */
#include "tl/optim.h"

tl_status tl_adam_step(tl_ctx *ctx, tl_real *w, tl_real *m, tl_real *v, const tl_real *dw, size_t n,
                       const tl_step *step, const tl_adam_options *o) {
    TL_NEED(o->beta1 >= 0 && o->beta1 < 1, TL_EINVAL, "beta1 is %g: needs 0 <= beta < 1", o->beta1);
    TL_NEED(o->beta2 >= 0 && o->beta2 < 1, TL_EINVAL, "beta2 is %g: needs 0 <= beta < 1", o->beta2);
    /* TODO(lab 5): For every parameter the formula of tl/optim.h, with t = step->index + 1. m and v
     * start at zero and are too small at first: the factors 1 - beta^t correct for that. They are
     * the same for all parameters, so form them once, in double. Traps: t starts at 1, or there is
     * a division by zero; eps is added to the root, not put under it; the bits must not depend on
     * the number of threads. */
    (void)ctx, (void)w, (void)m, (void)v, (void)dw, (void)n, (void)step;
    return TL_NOT_IMPLEMENTED();
}
