/* sgd.cu: gradient descent with momentum, Nesterov's form and weight decay, on a GPU. (tl/optim.h)
 *
 * The learning rate is read from *step when the kernel runs: a captured step is replayed with
 * another rate, which an argument could not be. */
#include "tl/cuda.h"
#include "tl/optim.h"

//@lab 5:
/* Without momentum there is no state, and velocity may be NULL. */
static __global__ void step_plain(tl_real *w, const tl_real *dw, size_t n, const tl_step *step,
                                  tl_real decay) {
    tl_real lr = TL_R(step->lr);
    for (size_t i = tl_thread(); i < n; i += tl_threads()) {
        tl_real g = dw[i] + decay * w[i];
        w[i] -= lr * g;
    }
}
//@end

//@lab 5:
/* The velocity starts as zeros, so the first step sets it to the gradient, as PyTorch does.
 * Nesterov looks ahead: it moves by where the velocity will be after one more decay. */
static __global__ void step_momentum(tl_real *w, tl_real *velocity, const tl_real *dw, size_t n,
                                     const tl_step *step, tl_real decay, tl_real mu, int nesterov) {
    tl_real lr = TL_R(step->lr);
    for (size_t i = tl_thread(); i < n; i += tl_threads()) {
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

    //@lab 5: Kernels and their launches for the formula of tl/optim.h: g = dw + lambda*w; v = mu*v
    //@  + g; w -= lr * (nesterov ? g + mu*v : v). Traps: step lies in device memory, so only a
    //@  kernel may read step->lr; without momentum velocity may be NULL.
    unsigned blocks = tl_blocks(n, TL_BLOCK);
    tl_real decay = TL_R(o->weight_decay), mu = TL_R(o->momentum);
    if (o->momentum == 0)
        step_plain<<<blocks, TL_BLOCK, 0, tl_stream(ctx)>>>(w, dw, n, step, decay);
    else
        step_momentum<<<blocks, TL_BLOCK, 0, tl_stream(ctx)>>>(w, velocity, dw, n, step, decay, mu,
                                                               o->nesterov);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
