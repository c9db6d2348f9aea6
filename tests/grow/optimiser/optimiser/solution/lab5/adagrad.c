/* adagrad.c: Adagrad with weight decay. (tl/optim.h) */
#include "tl/optim.h"

/* Below this many parameters a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 14 };

tl_status tl_adagrad_step(tl_ctx *ctx, tl_real *w, tl_real *s, const tl_real *dw, size_t n,
                          const tl_step *step, const tl_adagrad_options *o) {
    TL_NEED(ctx && w && s && dw && step && o, TL_EINVAL,
            "tl_adagrad_step: ctx, w, s, dw, step or the options is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_adagrad_step: n is 0, at least 1 is needed");
    TL_NEED(o->eps > 0, TL_EINVAL, "eps is %g: needs eps > 0", o->eps);
    TL_NEED(o->weight_decay >= 0, TL_EINVAL, "weight decay is %g: needs lambda >= 0",
            o->weight_decay);

    //@lab 5: For every parameter the formula of tl/optim.h: g = dw + lambda*w; s += g*g; w -= lr *
    //@  g / (sqrt(s) + eps), with the new s. step->lr is the learning rate.
    tl_real lr = TL_R(step->lr), decay = TL_R(o->weight_decay), eps = TL_R(o->eps);
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) {
        tl_real g = dw[i] + decay * w[i];
        s[i] += g * g;
        w[i] -= lr * g / (tl_sqrt(s[i]) + eps);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
