/* optimizer.c: the optimisers of lab 5 over the flat parameters of a net (tl/train.h). */
#include "tl/train.h"

static tl_status check_options(const tl_optimizer *o) {
    const tl_sgd_options *s = &o->sgd;
    const tl_adam_options *a = &o->adam;
    if (o->kind == TL_OPTIMIZER_SGD) {
        TL_NEED(s->momentum >= 0 && s->momentum < 1, TL_EINVAL,
                "momentum %g: it must be at least 0 and below 1", s->momentum);
        TL_NEED(s->weight_decay >= 0, TL_EINVAL, "weight decay %g: it must not be negative",
                s->weight_decay);
        TL_NEED(!s->nesterov || s->momentum > 0, TL_EINVAL, "Nesterov needs a momentum above 0");
        return TL_OK;
    }
    TL_NEED(a->beta1 >= 0 && a->beta1 < 1 && a->beta2 >= 0 && a->beta2 < 1, TL_EINVAL,
            "Adam's betas %g and %g must be at least 0 and below 1", a->beta1, a->beta2);
    TL_NEED(a->eps > 0 && a->weight_decay >= 0, TL_EINVAL,
            "Adam needs eps above 0 (%g) and a weight decay of at least 0 (%g)", a->eps,
            a->weight_decay);
    return TL_OK;
}

tl_status tl_optimizer_init(tl_optimizer *o, const tl_params *p) {
    TL_TRY(check_options(o));
    o->state[0] = o->state[1] = NULL;
    o->states = o->kind == TL_OPTIMIZER_ADAM ? 2 : o->sgd.momentum > 0;
    for (int i = 0; i < o->states; i++) {
        size_t bytes = p->size * sizeof(tl_real);
        void *state;
        TL_TRY(tl_alloc_get(p->ctx->alloc, &state, bytes));
        o->state[i] = state;
        TL_TRY(p->ctx->ops->zero(p->ctx, state, bytes));
    }
    return TL_OK;
}

void tl_optimizer_release(tl_optimizer *o, tl_ctx *ctx) {
    for (int i = 0; i < 2; i++) {
        tl_alloc_put(ctx->alloc, o->state[i]);
        o->state[i] = NULL;
    }
}

tl_status tl_optimizer_step(tl_optimizer *o, tl_params *p) {
    const tl_backend *ops = p->ctx->ops;
    if (o->kind == TL_OPTIMIZER_SGD)
        return ops->sgd_step(p->ctx, p->value, o->state[0], p->grad, p->size, p->ctx->step,
                             &o->sgd);
    return ops->adam_step(p->ctx, p->value, o->state[0], o->state[1], p->grad, p->size,
                          p->ctx->step, &o->adam);
}
