/* adagrad.cu: Adagrad with weight decay, on a GPU. (tl/optim.h) */
#include "tl/cuda.h"
#include "tl/optim.h"

//@lab 5:
static __global__ void step_adagrad(tl_real *w, tl_real *s, const tl_real *dw, size_t n,
                                    const tl_step *step, tl_real decay, tl_real eps) {
    tl_real lr = TL_R(step->lr);
    for (size_t i = tl_thread(); i < n; i += tl_threads()) {
        tl_real g = dw[i] + decay * w[i], sum = s[i] + g * g;
        s[i] = sum;
        w[i] -= lr * g / (tl_sqrt(sum) + eps);
    }
}
//@end

tl_status tl_adagrad_step(tl_ctx *ctx, tl_real *w, tl_real *s, const tl_real *dw, size_t n,
                          const tl_step *step, const tl_adagrad_options *o) {
    TL_NEED(ctx && w && s && dw && step && o, TL_EINVAL,
            "tl_adagrad_step: ctx, w, s, dw, step or the options is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "tl_adagrad_step: n is 0, at least 1 is needed");
    TL_NEED(o->eps > 0, TL_EINVAL, "eps is %g: needs eps > 0", o->eps);
    TL_NEED(o->weight_decay >= 0, TL_EINVAL, "weight decay is %g: needs lambda >= 0",
            o->weight_decay);

    //@lab 5: A kernel and its launch for the formula of tl/optim.h: g = dw + lambda*w; s += g*g;
    //@  w -= lr * g / (sqrt(s) + eps). step lies in device memory: only a kernel may read it.
    step_adagrad<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(
        w, s, dw, n, step, TL_R(o->weight_decay), TL_R(o->eps));
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
