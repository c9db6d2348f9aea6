/* sgd.c: gradient descent with momentum, Nesterov's form and weight decay. (tl/optim.h) */
#include "tl/optim.h"

/* Below this many parameters a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 14 };

//@lab 5:
/* Without momentum there is no state, and velocity may be NULL. Each line is one multiply-add,
 * which rounds alike in the vector part of a loop and in its tail: threads may cut the array
 * anywhere. */
static void step_plain(tl_ctx *ctx, tl_real *w, const tl_real *dw, size_t n, tl_real lr,
                       tl_real decay) {
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) {
        tl_real g = dw[i] + decay * w[i];
        w[i] -= lr * g;
    }
}
//@end

//@lab 5:
/* The velocity starts as zeros, so the first step sets it to the gradient, as PyTorch does.
 * Nesterov looks ahead: it moves by where the velocity will be after one more decay. */
static void step_momentum(tl_ctx *ctx, tl_real *w, tl_real *velocity, const tl_real *dw, size_t n,
                          tl_real lr, tl_real decay, tl_real mu, int nesterov) {
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) {
        tl_real g = dw[i] + decay * w[i];
        tl_real v = mu * velocity[i] + g;
        velocity[i] = v;
        w[i] -= lr * (nesterov ? g + mu * v : v);
    }
}
//@end

tl_status tl_sgd_step(tl_ctx *ctx, tl_real *w, tl_real *velocity, const tl_real *dw, size_t n,
                      const tl_step *step, const tl_sgd_options *o) {
    TL_NEED(ctx && w && dw && step && o, TL_EINVAL,
            "tl_sgd_step: ctx, w, dw, step or the options is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_sgd_step: n is 0, at least 1 is needed");
    TL_NEED(o->momentum >= 0 && o->momentum < 1, TL_EINVAL, "momentum is %g: needs 0 <= mu < 1",
            o->momentum);
    TL_NEED(o->weight_decay >= 0, TL_EINVAL, "weight decay is %g: needs lambda >= 0",
            o->weight_decay);
    TL_NEED(!o->nesterov || o->momentum > 0, TL_EINVAL, "nesterov needs a momentum above 0");
    TL_NEED(o->momentum == 0 || velocity, TL_EINVAL, "momentum %g needs a velocity array",
            o->momentum);

    //@lab 5: For every parameter the formula of tl/optim.h: g = dw + lambda*w; v = mu*v + g; w -=
    //@  lr * (nesterov ? g + mu*v : v). step->lr is the learning rate. Traps: without momentum
    //@  velocity may be NULL, and stays untouched; g is needed twice, and w changes in between;
    //@  weight decay enters the velocity, too.
    if (o->momentum == 0) {
        step_plain(ctx, w, dw, n, TL_R(step->lr), TL_R(o->weight_decay));
    } else {
        step_momentum(ctx, w, velocity, dw, n, TL_R(step->lr), TL_R(o->weight_decay),
                      TL_R(o->momentum), o->nesterov);
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
