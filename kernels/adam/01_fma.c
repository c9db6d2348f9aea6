/* 01_fma.c: rung 1 of adam on cpu: Adam whose roundings are written out.
 *
 * Idea: each sum of a product is one fma; the corrections 1 - beta^t are made by squaring
 *   (tl/portable.h), in the place of libm's pow. Root and quotient are IEEE 754's.
 * Bound: the root and two quotients of each parameter; then memory.
 * Same bits: at any width of vectors and any number of threads: each parameter is alone. */
#include "kernels/lanes16.h"
#include "kernels/rungs.h"
#include "tl/portable.h"

enum { PARALLEL_FROM = 1 << 12 };

static tl_status check(const tl_adam_options *o, size_t n) {
    TL_NEED(n >= 1, TL_EINVAL, "adam_step, rung 1: n is 0, at least 1 is needed");
    TL_NEED(o->beta1 >= 0 && o->beta1 < 1, TL_EINVAL, "beta1 is %g: needs 0 <= beta < 1", o->beta1);
    TL_NEED(o->beta2 >= 0 && o->beta2 < 1, TL_EINVAL, "beta2 is %g: needs 0 <= beta < 1", o->beta2);
    TL_NEED(o->eps > 0, TL_EINVAL, "eps is %g: needs eps > 0", o->eps);
    TL_NEED(o->weight_decay >= 0, TL_EINVAL, "weight decay is %g: needs lambda >= 0",
            o->weight_decay);
    return TL_OK;
}

/* The order of operations is the plain path's (solution/lab5/adam.c). */
static tl_status adam_step(tl_ctx *ctx, tl_real *w, tl_real *m, tl_real *v, const tl_real *dw,
                           size_t n, const tl_step *step, const tl_adam_options *o) {
    TL_NEED(ctx && w && m && v && dw && step && o, TL_EINVAL,
            "adam_step, rung 1: ctx, w, m, v, dw, step or the options is NULL");
    TL_TRY(check(o, n));
    uint64_t t = step->index + 1;
    double correction1 = 1 - tl_portable_power(o->beta1, t);
    double correction2 = 1 - tl_portable_power(o->beta2, t);
    tl_real decay = TL_R(o->weight_decay), take1 = TL_R(1 - o->beta1), keep2 = TL_R(o->beta2);
    tl_real take2 = TL_R(1 - o->beta2), down = TL_R(-step->lr / correction1);
    tl_real root2 = TL_R(sqrt(correction2)), eps = TL_R(o->eps);
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) {
        tl_real g = lane_fma(decay, w[i], dw[i]);
        m[i] = lane_fma(take1, g - m[i], m[i]);
        v[i] = lane_fma(keep2, v[i], take2 * g * g);
        w[i] += down * m[i] / (tl_sqrt(v[i]) / root2 + eps);
    }
    return TL_OK;
}

void tl_rung_adam_fma(tl_backend *ops) { ops->adam_step = adam_step; }
