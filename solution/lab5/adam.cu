/* adam.cu: Adam with weight decay added to the gradient, on a GPU. (tl/optim.h) */
#include "tl/cuda.h"
#include "tl/optim.h"

//@lab 5:
/* What one step needs, computed in double and rounded. */
typedef struct rates {
    tl_real decay;            /* lambda */
    tl_real take1;            /* 1 - beta1 */
    tl_real keep2, take2;     /* beta2, 1 - beta2 */
    tl_real step, root2, eps; /* lr / (1 - beta1^t), sqrt(1 - beta2^t) */
} rates;
//@end

//@lab 5:
/* Learning rate and step number change from step to step, and a captured step is replayed: so the
 * rates are made from *step when the kernel runs. m and v start at zero, and are too small by
 * 1 - beta^t after t steps. */
static __device__ rates make_rates(const tl_step *step, tl_adam_options o) {
    double t = (double)step->index + 1;
    double correction1 = 1 - pow(o.beta1, t), correction2 = 1 - pow(o.beta2, t);
    rates r;
    r.decay = TL_R(o.weight_decay);
    r.take1 = TL_R(1 - o.beta1);
    r.keep2 = TL_R(o.beta2);
    r.take2 = TL_R(1 - o.beta2);
    r.step = TL_R(step->lr / correction1);
    r.root2 = TL_R(sqrt(correction2));
    r.eps = TL_R(o.eps);
    return r;
}
//@end

//@lab 5:
/* One thread of each block makes the rates for all: most GPUs are slow in double. The order of
 * operations is that of torch.optim.Adam, so that two runs stay together for long: m moves towards
 * g, and sqrt(v / c) is sqrt(v) / sqrt(c). */
static __global__ void adam(tl_real *w, tl_real *m, tl_real *v, const tl_real *dw, size_t n,
                            const tl_step *step, tl_adam_options o) {
    __shared__ rates r;
    if (threadIdx.x == 0) r = make_rates(step, o);
    __syncthreads();
    for (size_t i = tl_thread(); i < n; i += tl_threads()) {
        tl_real g = dw[i] + r.decay * w[i];
        tl_real first = m[i] + r.take1 * (g - m[i]);
        tl_real second = r.keep2 * v[i] + r.take2 * g * g;
        m[i] = first;
        v[i] = second;
        w[i] -= r.step * first / (tl_sqrt(second) / r.root2 + r.eps);
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

    //@lab 5: A kernel and its launch for the formula of tl/optim.h, with t = step->index + 1. step
    //@  lies in device memory, and a captured step is replayed with other numbers in it: so
    //@  everything that follows from it is made in the kernel. pow in double is slow on most GPUs:
    //@  how often must a block compute it?
    adam<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(w, m, v, dw, n, step, *o);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
