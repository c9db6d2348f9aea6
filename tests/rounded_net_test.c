/* rounded_net_test.c: a net in TF32 or bfloat16 that is planned as a whole (kernels/net/02_tensor*)
 * computes what its modules compute, one by one, each rounding where tl/precision.h says.
 *
 * Of whole numbers whose sums are exact in float, in any order, all bits must be equal: results,
 * and the gradients of all parameters. Few weights are not 0, so that numbers stay small from layer
 * to layer; in each case one array has numbers of 13 bits, which both precisions have to round. */
#include "rounded.h"
#include "tl/device.h"
#include "tl/nets.h"
#include "tl/ops.h"

#ifndef TL_REAL_DOUBLE

static void ok(claim *c, tl_status status) { expect_true(c, status == TL_OK, "%s", tl_error()); }

/* clang-format off */
#define CONV(channels, pad) {TL_LAYER_CONV, channels, pad, 0}
#define RELU {TL_LAYER_RELU, 0, 0, 0}
#define POOL {TL_LAYER_POOL, 0, 0, 0}
#define DROPOUT(p) {TL_LAYER_DROPOUT, 0, 0, p}
#define FLATTEN {TL_LAYER_FLATTEN, 0, 0, 0}
#define LINEAR(features) {TL_LAYER_LINEAR, features, 0, 0}
#define END {TL_LAYER_END, 0, 0, 0}

/* Whatever may follow a product; channels and images off all slices and tiles. (p: scales are powers
 * of 2.) */
static const tl_layer usual[] = {CONV(17, 1), RELU, POOL, CONV(24, 0), RELU, FLATTEN, LINEAR(7),
                                 RELU, LINEAR(4), END};
static const tl_layer odd[] = {CONV(16, 2), POOL, RELU, CONV(40, 1), DROPOUT(0.5), RELU, RELU,
                               CONV(18, 0), POOL, DROPOUT(0.75), FLATTEN, LINEAR(5), RELU,
                               DROPOUT(0.5), LINEAR(3), END};
/* sums that several blocks share, before a pool and on the way back to one */
static const tl_layer deep[] = {CONV(72, 1), RELU, POOL, CONV(66, 1), RELU, POOL, CONV(33, 1),
                                FLATTEN, LINEAR(2), END};
static const tl_layer rows[] = {FLATTEN, LINEAR(40), DROPOUT(0.5), LINEAR(520), LINEAR(5), END};
static const tl_layer single[] = {FLATTEN, LINEAR(7), END};
/* tiles of 128 channels, of which there are many */
static const tl_layer many[] = {CONV(100, 1), RELU, POOL, CONV(2, 0), RELU, FLATTEN, LINEAR(1), END};
/* what is left to the modules: it is no chain of products, or ends in none */
static const tl_layer pools[] = {CONV(16, 1), POOL, POOL, FLATTEN, LINEAR(3), END};
static const tl_layer front[] = {RELU, CONV(16, 1), FLATTEN, LINEAR(3), END};
static const tl_layer behind[] = {CONV(16, 1), FLATTEN, LINEAR(3), RELU, END};
/* clang-format on */

static const tl_net_spec specs[] = {{.name = "usual", .c = 3, .h = 12, .w = 10, .layer = usual},
                                    {.name = "odd", .c = 2, .h = 11, .w = 13, .layer = odd},
                                    {.name = "deep", .c = 2, .h = 10, .w = 15, .layer = deep},
                                    {.name = "rows", .c = 1, .h = 4, .w = 33, .layer = rows},
                                    {.name = "single", .c = 2, .h = 3, .w = 5, .layer = single}};
static const tl_net_spec many_tiles = {.name = "many", .c = 1, .h = 54, .w = 54, .layer = many};
static const tl_net_spec others[] = {{.name = "pools", .c = 2, .h = 8, .w = 9, .layer = pools},
                                     {.name = "front", .c = 2, .h = 5, .w = 6, .layer = front},
                                     {.name = "behind", .c = 2, .h = 5, .w = 6, .layer = behind}};
enum { SPECS = 5, OTHERS = 3, IMAGES = 6, PASSES = 2, MOST = 1 << 17, SMALL = 3 };

/* ---- numbers ---------------------------------------------------------------------------------*/

typedef enum array { NO_ARRAY, OF_IMAGES, OF_GRADIENT, OF_PARAMETERS } array; /* and more */

/* Whole numbers, or any; `chance` in 1024: the others are 0. Wide ones have 13 bits. */
static void draw_numbers(claim *c, tl_real *to, size_t n, bool whole, bool wide, int chance) {
    for (size_t i = 0; i < n; i++) {
        int size = wide ? draw_int(c, 1 << 12, (1 << 13) - 1) : draw_int(c, 0, SMALL);
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
    tl_real *image, *dy, *parameter, *trace;
    size_t parameters, size; /* of the last two, so far */
} trial;

static trial new_trial(claim *c, const tl_net_spec *spec, bool training, bool whole, int wide) {
    trial t = {.c = c, .spec = spec, .training = training};
    size_t size = (size_t)IMAGES * (size_t)(spec->c * spec->h * spec->w), dy = 64;
    t.image = reals(c, size), t.dy = reals(c, dy);
    t.parameter = reals(c, MOST), t.trace = reals(c, 2 * MOST);
    draw_numbers(c, t.image, size, whole, wide == OF_IMAGES, 1024);
    draw_numbers(c, t.dy, dy, whole, wide == OF_GRADIENT, 1024);
    size_t at = 0, in = (size_t)spec->c;
    int array = OF_PARAMETERS, h = spec->h, w = spec->w;
    for (const tl_layer *l = spec->layer; l->kind != TL_LAYER_END; l++) {
        if (l->kind == TL_LAYER_FLATTEN) in *= (size_t)(h * w);
        if (l->kind == TL_LAYER_POOL) h /= 2, w /= 2;
        if (l->kind != TL_LAYER_CONV && l->kind != TL_LAYER_LINEAR) continue;
        bool conv = l->kind == TL_LAYER_CONV;
        size_t terms = conv ? 9 * in : in, k = (size_t)l->out;
        if (conv) h += 2 * l->pad - 2, w += 2 * l->pad - 2;
        if (at + k * (terms + 1) > MOST) claim_fail(c, "too many parameters");
        int few = 3 * 1024 / (int)terms + 1;
        draw_numbers(c, t.parameter + at, k * terms, whole, wide == array++, whole ? few : 1024);
        draw_numbers(c, t.parameter + at + k * terms, k, whole, wide == array++, 1024);
        at += k * (terms + 1), in = k;
    }
    return t;
}

static tl_status set_parameter(void *user, const char *name, tl_var *param, tl_tensor *buffer) {
    trial *t = user;
    (void)name, (void)buffer;
    TL_TRY(tl_tensor_from_host(param->value, t->parameter + t->parameters));
    t->parameters += param->value->size;
    return TL_OK;
}

static void note(trial *t, const tl_tensor *from) {
    expect_true(t->c, t->size + from->size <= 2 * MOST, "the trace is too short");
    ok(t->c, tl_tensor_to_host(from, t->trace + t->size));
    t->size += from->size;
}

static tl_status note_gradient(void *user, const char *name, tl_var *param, tl_tensor *buffer) {
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

static rig new_rig(trial *t, tl_ctx *ctx) {
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
static tl_status pass(rig *r, trial *t) {
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

static void end_rig(rig *r, trial *t) {
    if (t->training) ok(t->c, tl_module_visit(r->net, note_gradient, t));
    tl_tape_free(r->tape);
    tl_tensor_free(r->x);
    tl_tensor_free(r->dy);
    tl_module_free(r->net);
}

/* Twice: gradients add up. */
static void run(trial *t, tl_ctx *ctx) {
    rig r = new_rig(t, ctx);
    for (int i = 0; i < PASSES; i++) {
        ok(t->c, pass(&r, t));
        note(t, r.y->value);
    }
    end_rig(&r, t);
}

/* The second pass as a graph, which is recorded and then launched. */
static void run_captured(trial *t, tl_ctx *ctx) {
    void *graph;
    rig r = new_rig(t, ctx);
    ok(t->c, pass(&r, t));
    note(t, r.y->value);
    ok(t->c, ctx->ops->graph_begin(ctx));
    ok(t->c, pass(&r, t));
    ok(t->c, ctx->ops->graph_end(ctx, &graph));
    ok(t->c, ctx->ops->graph_launch(ctx, graph));
    note(t, r.y->value);
    end_rig(&r, t);
    ctx->ops->graph_free(ctx, graph);
}

static tl_ctx *open_in(claim *c, const call_target *t) {
    const tl_device_options options = {.rungs = t->rungs, .threads = t->threads};
    tl_ctx *ctx;
    ok(c, tl_device_open_in(&ctx, t->device, &options, t->precision));
    return ctx;
}

static void begin_case(claim *c, const call_target *t, const trial *u, const char *what) {
    claim_case(c, t, "net %s in %s, %s%s", u->spec->name, tl_precision_name(t->precision),
               u->training ? "training" : "evaluation", what);
}

/* The same without the plan. */
static void run_composed(trial *t, tl_ctx *ctx) {
    const tl_backend *with = ctx->ops;
    tl_backend without = *with;
    without.net_plan = NULL;
    ctx->ops = &without;
    run(t, ctx);
    ctx->ops = with;
}

static void expect_composed(claim *c, const call_target *t, tl_ctx *ctx, trial planned) {
    trial composed = planned;
    composed.trace = reals(c, 2 * MOST);
    begin_case(c, t, &planned, "");
    run(&planned, ctx);
    run_composed(&composed, ctx);
    expect_true(c, planned.planned, "the net was not planned");
    expect_true(c, planned.size == composed.size, "traces of different lengths");
    double *want = widen(c, composed.trace, composed.size);
    for (size_t i = 0; i < composed.size; i++)
        expect_true(c, fabs(want[i]) < 0x1p40, "number %zu is too large: %g", i, want[i]);
    expect_equal(c, "results and gradients", planned.trace, want, SHAPE((int)planned.size));
}

CLAIM(rounded_net, whole_numbers_are_those_of_the_modules) {
    FOR_ROUNDED_TARGETS(t) {
        tl_ctx *ctx = open_in(c, t);
        for (int i = 0; ctx->ops->net_plan && i < SPECS; i++)
            for (int wide = NO_ARRAY; wide <= OF_PARAMETERS + 3; wide++)
                expect_composed(c, t, ctx, new_trial(c, &specs[i], wide > 0, true, wide));
        tl_device_close(ctx);
    }
}

CLAIM(rounded_net, many_tiles_of_whole_numbers_are_those_of_the_modules) {
    FOR_ROUNDED_TARGETS(t) {
        tl_ctx *ctx = open_in(c, t);
        if (ctx->ops->net_plan)
            expect_composed(c, t, ctx, new_trial(c, &many_tiles, false, true, NO_ARRAY));
        tl_device_close(ctx);
    }
}

CLAIM(rounded_net, the_bits_are_the_same_in_every_run_captured_or_not) {
    FOR_ROUNDED_TARGETS(t) {
        tl_ctx *ctx = open_in(c, t);
        for (int i = 0; ctx->ops->net_plan && i < SPECS; i++) {
            trial first = new_trial(c, &specs[i], true, false, NO_ARRAY), second = first;
            second.trace = reals(c, 2 * MOST);
            begin_case(c, t, &first, " twice");
            run(&first, ctx);
            if (ctx->ops->graph_begin)
                run_captured(&second, ctx);
            else
                run(&second, ctx);
            expect_true(c, first.planned && second.planned, "the net was not planned");
            expect_same_bits(c, "results and gradients", first.trace, second.trace,
                             SHAPE((int)first.size));
        }
        tl_device_close(ctx);
    }
}

CLAIM(rounded_net, what_is_no_chain_of_products_is_left_to_the_modules) {
    FOR_ROUNDED_TARGETS(t) {
        tl_ctx *ctx = open_in(c, t);
        for (int i = 0; ctx->ops->net_plan && i <= OTHERS; i++) {
            const tl_net_spec *spec = i < OTHERS ? &others[i] : &specs[0];
            trial u = new_trial(c, spec, true, true, NO_ARRAY);
            u.wants_dx = i == OTHERS;
            begin_case(c, t, &u, u.wants_dx ? " with the gradient of the images" : "");
            run(&u, ctx);
            expect_true(c, !u.planned, "the net was planned");
        }
        tl_device_close(ctx);
    }
}
#endif
