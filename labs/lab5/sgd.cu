/* sgd.cu: gradient descent with momentum, Nesterov's form and weight decay, on a GPU. (tl/optim.h)
 *
 * The learning rate is read from *step when the kernel runs: a captured step is replayed with
 * another rate, which an argument could not be. */
#include "tl/cuda.h"
#include "tl/optim.h"

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

    /* TODO(lab 5): Kernels and their launches for the formula of tl/optim.h: g = dw + lambda*w; v =
     * mu*v + g; w -= lr * (nesterov ? g + mu*v : v). Traps: step lies in device memory, so only a
     * kernel may read step->lr; without momentum velocity may be NULL. */
    return TL_NOT_IMPLEMENTED();
}
