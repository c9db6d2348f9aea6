/* adam.c: Adam with weight decay added to the gradient. (tl/optim.h) */
#include "tl/optim.h"

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

    /* TODO(lab 5): For every parameter the formula of tl/optim.h, with t = step->index + 1. m and v
     * start at zero and are too small at first: the factors 1 - beta^t correct for that. They are
     * the same for all parameters, so form them once, in double. Traps: t starts at 1, or there is
     * a division by zero; eps is added to the root, not put under it; the bits must not depend on
     * the number of threads. */
    return TL_NOT_IMPLEMENTED();
}
