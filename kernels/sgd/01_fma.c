/* 01_fma.c: rung 1 of sgd on cpu: gradient descent whose roundings are written out.
 *
 * Idea: each line of the formula (tl/optim.h) is one fma. The plain path leaves it to the compiler
 *   whether a product and a sum round once or twice.
 * Bound: memory: w and dw, and with momentum the velocity.
 * Same bits: at any width of vectors and any number of threads: each parameter is alone. */
#include "kernels/lanes16.h"
#include "kernels/rungs.h"

enum { PARALLEL_FROM = 1 << 14 };

typedef struct rates {
    tl_real lr, decay, mu;
    int nesterov;
} rates;

static void plain(tl_ctx *ctx, tl_real *w, const tl_real *dw, size_t n, const rates *r) {
    tl_real down = -r->lr, decay = r->decay;
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) w[i] = lane_fma(down, lane_fma(decay, w[i], dw[i]), w[i]);
}

static void with_momentum(tl_ctx *ctx, tl_real *w, tl_real *velocity, const tl_real *dw, size_t n,
                          const rates *r) {
    tl_real down = -r->lr, decay = r->decay, mu = r->mu;
    int nesterov = r->nesterov;
#pragma omp parallel for simd num_threads(ctx->threads) if (parallel : n >= PARALLEL_FROM)
    for (size_t i = 0; i < n; i++) {
        tl_real g = lane_fma(decay, w[i], dw[i]), v = lane_fma(mu, velocity[i], g);
        velocity[i] = v;
        w[i] = lane_fma(down, nesterov ? lane_fma(mu, v, g) : v, w[i]);
    }
}

static tl_status sgd_step(tl_ctx *ctx, tl_real *w, tl_real *velocity, const tl_real *dw, size_t n,
                          const tl_step *step, const tl_sgd_options *o) {
    TL_NEED(ctx && w && dw && step && o, TL_EINVAL,
            "sgd_step, rung 1: ctx, w, dw, step or the options is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "sgd_step, rung 1: n is 0, at least 1 is needed");
    TL_NEED(o->momentum >= 0 && o->momentum < 1, TL_EINVAL, "momentum is %g: needs 0 <= mu < 1",
            o->momentum);
    TL_NEED(o->weight_decay >= 0, TL_EINVAL, "weight decay is %g: needs lambda >= 0",
            o->weight_decay);
    TL_NEED(!o->nesterov || o->momentum > 0, TL_EINVAL, "nesterov needs a momentum above 0");
    TL_NEED(o->momentum == 0 || velocity, TL_EINVAL, "momentum %g needs a velocity array",
            o->momentum);
    rates r = {TL_R(step->lr), TL_R(o->weight_decay), TL_R(o->momentum), o->nesterov};
    if (o->momentum == 0)
        plain(ctx, w, dw, n, &r);
    else
        with_momentum(ctx, w, velocity, dw, n, &r);
    return TL_OK;
}

void tl_rung_sgd_fma(tl_backend *ops) { ops->sgd_step = sgd_step; }
