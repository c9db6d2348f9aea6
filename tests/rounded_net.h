/* rounded_net.h: nets in another precision than float's, given numbers of a claim's own: what
 * suites of such nets share. */
#ifndef TESTS_ROUNDED_NET_H
#define TESTS_ROUNDED_NET_H

#include "net_layers.h"
#include "rounded.h"
#include "tl/device.h"
#include "tl/ops.h"

enum { IMAGES = 6, PASSES = 2, MOST = 1 << 17, SMALL = 2 };

static inline void ok(claim *c, tl_status status) {
    expect_true(c, status == TL_OK, "%s", tl_error());
}

/* ---- numbers ---------------------------------------------------------------------------------*/

/* Which array has wide numbers: from OF_PARAMETERS on weights or a bias. ALL_SMALL: none, and all
 * weights may be other than 0. */
enum { ALL_SMALL = -1, NO_ARRAY, OF_IMAGES, OF_GRADIENT, OF_PARAMETERS };

/* Whole numbers, or any; `chance` in 1024: the others are 0. Wide ones have 12 bits. */
static inline void draw_numbers(claim *c, tl_real *to, size_t n, bool whole, bool wide,
                                int chance) {
    for (size_t i = 0; i < n; i++) {
        int size = wide ? draw_int(c, 1 << 11, (1 << 12) - 1) : draw_int(c, 0, SMALL);
        tl_real number = (tl_real)(draw_int(c, 0, 1) ? size : -size);
        if (!whole) number = (tl_real)draw_uniform(c, -1, 1);
        to[i] = draw_int(c, 0, 1023) < chance ? number : 0;
    }
}

/* All that a net is given, and all that comes out. */
typedef struct trial {
    claim *c;
    const tl_net_spec *spec;
    bool training, wants_dx, planned;
    int passes;
    tl_real *image, *dy, *parameter, *trace;
    size_t parameters, size; /* of the last two, so far */
} trial;

static inline trial new_trial(claim *c, const tl_net_spec *spec, bool training, bool whole,
                              int wide) {
    trial t = {.c = c, .spec = spec, .training = training, .passes = PASSES};
    size_t size = (size_t)IMAGES * (size_t)(spec->c * spec->h * spec->w), dy = 64;
    t.image = reals(c, size), t.dy = reals(c, dy);
    t.parameter = reals(c, MOST), t.trace = reals(c, 2 * MOST);
    draw_numbers(c, t.image, size, whole, wide == OF_IMAGES, 512);
    draw_numbers(c, t.dy, dy, whole, wide == OF_GRADIENT, 512);
    size_t at = 0, in = (size_t)spec->c;
    int drawn = OF_PARAMETERS, h = spec->h, w = spec->w;
    for (const tl_layer *l = spec->layer; l->kind != TL_LAYER_END; l++) {
        if (l->kind == TL_LAYER_FLATTEN) in *= (size_t)(h * w);
        if (l->kind == TL_LAYER_POOL) h /= 2, w /= 2;
        if (l->kind != TL_LAYER_CONV && l->kind != TL_LAYER_LINEAR) continue;
        bool conv = l->kind == TL_LAYER_CONV;
        size_t terms = conv ? 9 * in : in, k = (size_t)l->out;
        if (conv) h += 2 * l->pad - 2, w += 2 * l->pad - 2;
        if (at + k * (terms + 1) > MOST) claim_fail(c, "too many parameters");
        int few = wide == ALL_SMALL ? 1024 : 2 * 1024 / (int)terms + 1;
        draw_numbers(c, t.parameter + at, k * terms, whole, wide == drawn++, few);
        draw_numbers(c, t.parameter + at + k * terms, k, whole, wide == drawn++, 1024);
        at += k * (terms + 1), in = k;
    }
    return t;
}

static inline tl_status set_parameter(void *user, const char *name, tl_var *param,
                                      tl_tensor *buffer) {
    trial *t = user;
    (void)name, (void)buffer;
    TL_TRY(tl_tensor_from_host(param->value, t->parameter + t->parameters));
    t->parameters += param->value->size;
    return TL_OK;
}

static inline void note(trial *t, const tl_tensor *from) {
    expect_true(t->c, t->size + from->size <= 2 * MOST, "the trace is too short");
    ok(t->c, tl_tensor_to_host(from, t->trace + t->size));
    t->size += from->size;
}

static inline tl_status note_gradient(void *user, const char *name, tl_var *param,
                                      tl_tensor *buffer) {
    (void)name, (void)buffer;
    note(user, param->grad);
    return TL_OK;
}

/* ---- runs ------------------------------------------------------------------------------------*/

typedef struct rig {
    tl_ctx *ctx;
    tl_module *net;
    tl_tape *tape;
    tl_tensor *x, *dy;
    tl_var *y; /* the last result */
} rig;

static inline rig new_rig(trial *t, tl_ctx *ctx) {
    rig r = {.ctx = ctx};
    tl_step step = {.seed = 5, .index = 3};
    ok(t->c, ctx->ops->step_set(ctx, &step));
    ok(t->c, tl_net_build(&r.net, ctx, t->spec, 17));
    t->parameters = t->size = 0;
    ok(t->c, tl_module_visit(r.net, set_parameter, t));
    ok(t->c, tl_tape_new(&r.tape, ctx));
    ok(t->c, tl_tensor_new(&r.x, ctx, 4, (int[]){IMAGES, t->spec->c, t->spec->h, t->spec->w}));
    ok(t->c, tl_tensor_from_host(r.x, t->image));
    return r;
}

/* Forward, and in training backward from the sum of result * dy. */
static inline tl_status pass(rig *r, trial *t) {
    tl_var *in, *dy, *product, *sum;
    tl_tape_reset(r->tape);
    tl_tape_set_recording(r->tape, t->training);
    TL_TRY(tl_tape_wrap(r->tape, &in, r->x, 4, r->x->dim, t->wants_dx));
    TL_TRY(tl_module_forward(r->net, r->tape, &r->y, in, t->training));
    t->planned = !r->y->node || strcmp(r->y->node->op, "net") == 0;
    if (!t->training) return TL_OK;
    const tl_tensor *y = r->y->value;
    if (!r->dy) {
        TL_TRY(tl_tensor_new(&r->dy, r->ctx, y->ndim, y->dim));
        TL_TRY(tl_tensor_from_host(r->dy, t->dy));
    }
    TL_TRY(tl_tape_wrap(r->tape, &dy, r->dy, y->ndim, y->dim, false));
    TL_TRY(tl_op_mul(r->tape, &product, r->y, dy));
    TL_TRY(tl_op_sum(r->tape, &sum, product));
    return tl_tape_backward(r->tape, sum);
}

static inline void end_rig(rig *r, trial *t) {
    if (t->training) ok(t->c, tl_module_visit(r->net, note_gradient, t));
    tl_tape_free(r->tape);
    tl_tensor_free(r->x);
    tl_tensor_free(r->dy);
    tl_module_free(r->net);
}

/* Twice: gradients add up. */
static inline void run(trial *t, tl_ctx *ctx) {
    rig r = new_rig(t, ctx);
    for (int i = 0; i < t->passes; i++) {
        ok(t->c, pass(&r, t));
        note(t, r.y->value);
    }
    end_rig(&r, t);
}

/* (net_plan is NULL where the rungs of the target have none) */
static inline tl_ctx *open_in(claim *c, const call_target *t) {
    const tl_device_options options = {.rungs = t->rungs, .threads = t->threads};
    tl_ctx *ctx;
    ok(c, tl_device_open_in(&ctx, t->device, &options, t->precision));
    bool asked = strncmp(t->rungs, "net:", 4) == 0;
    expect_true(c, ctx->ops->net_plan || !asked, "%s is not there", t->rungs);
    return ctx;
}

static inline void begin_case(claim *c, const call_target *t, const trial *u, const char *what) {
    claim_case(c, t, "net %s in %s, %s%s", u->spec->name, tl_precision_name(t->precision),
               u->training ? "training" : "evaluation", what);
}

/* ---- beside the modules ----------------------------------------------------------------------*/

/* The same without the plan. */
static inline void run_composed(trial *t, tl_ctx *ctx) {
    const tl_backend *with = ctx->ops;
    tl_backend without = *with;
    without.net_plan = NULL;
    ctx->ops = &without;
    run(t, ctx);
    ctx->ops = with;
}

static inline void expect_composed(claim *c, const call_target *t, tl_ctx *ctx, trial planned) {
    trial composed = planned;
    composed.trace = reals(c, 2 * MOST);
    begin_case(c, t, &planned, "");
    run(&planned, ctx);
    run_composed(&composed, ctx);
    expect_true(c, planned.planned, "the net was not planned");
    expect_true(c, planned.size == composed.size, "traces of different lengths");
    double *want = widen(c, composed.trace, composed.size);
    for (size_t i = 0; i < composed.size; i++) /* (tensor cores cut off what is below a float) */
        expect_true(c, fabs(want[i]) < 0x1p24, "number %zu is too large: %g", i, want[i]);
    expect_equal(c, "results and gradients", planned.trace, want, SHAPE((int)planned.size));
}

#endif
