/* net_test.c: a net planned as a whole computes what its modules compute, to the bit, and keeps in
 * its memory apart what is needed at the same time (tl/net.h, kernels/net). */
#include "autograder/claim/expect.h"
#include "kernels/net/01_planned.h"
#include "net_layers.h"
#include "tl/device.h"
#include "tl/rng.h"

#include <math.h>
#include <string.h>

static void ok(claim *c, tl_status status) { expect_true(c, status == TL_OK, "%s", tl_error()); }

/* ---- the same bits -------------------------------------------------------------------------- */

/* clang-format off */

/* What a plan fuses, and what it must not: a pool before its ReLU, ReLU twice, first and last, and
 * dropout, which is not there in evaluation, between layers that would else be neighbours. */
static const tl_layer usual[] = {CONV(6, 1), RELU, POOL, CONV(5, 0), RELU, FLATTEN, LINEAR(7), RELU,
                                 LINEAR(4), END};
static const tl_layer odd[] = {RELU, CONV(3, 2), POOL, RELU, RELU, CONV(4, 0), DROPOUT(0.3),
                               RELU, POOL, CONV(2, 1), FLATTEN, DROPOUT(0.5), LINEAR(5),
                               DROPOUT(0.2), RELU, END};
static const tl_layer front[] = {RELU, POOL, CONV(3, 1), FLATTEN, LINEAR(3), END};
static const tl_layer rows[] = {FLATTEN, LINEAR(9), LINEAR(3), DROPOUT(0.4), END};
static const tl_layer linear[] = {CONV(8, 1), FLATTEN, LINEAR(2), END};
/* clang-format on */

static const tl_net_spec specs[] = {{.name = "usual", .c = 3, .h = 12, .w = 10, .layer = usual},
                                    {.name = "odd", .c = 2, .h = 11, .w = 14, .layer = odd},
                                    {.name = "front", .c = 2, .h = 8, .w = 6, .layer = front},
                                    {.name = "rows", .c = 1, .h = 4, .w = 3, .layer = rows},
                                    {.name = "linear", .c = 5, .h = 7, .w = 7, .layer = linear}};
enum { SPECS = sizeof specs / sizeof *specs, IMAGES = 6, PASSES = 2, MOST = 1 << 14 };

/* All that a pass leaves: the result, the gradients of the input and of every parameter. */
typedef struct trace {
    size_t size;
    tl_real value[MOST];
    bool planned;
} trace;

static void note(claim *c, trace *to, const tl_tensor *t) {
    expect_true(c, to->size + t->size <= MOST, "the trace is too short");
    ok(c, tl_tensor_to_host(t, to->value + to->size));
    to->size += t->size;
}

typedef struct noting {
    claim *c;
    trace *to;
} noting;

static tl_status note_gradient(void *user, const char *name, tl_var *param, tl_tensor *buffer) {
    (void)name, (void)buffer;
    const noting *n = user;
    note(n->c, n->to, param->grad);
    return TL_OK;
}

/* Forward, through the net twice, and in training backward from the sum of both results; and that
 * once more: gradients of input and parameters add up. */
static void run(claim *c, tl_ctx *ctx, const tl_net_spec *spec, const tl_real *image, bool training,
                bool wants_dx, trace *to) {
    tl_module *net;
    tl_tape *tape;
    tl_tensor *x;
    tl_step step = {.seed = 5, .index = 3};
    to->size = 0;
    ok(c, ctx->ops->step_set(ctx, &step));
    ok(c, tl_net_build(&net, ctx, spec, 17));
    ok(c, tl_tape_new(&tape, ctx));
    ok(c, tl_tensor_new(&x, ctx, 4, (int[]){IMAGES, spec->c, spec->h, spec->w}));
    ok(c, tl_tensor_from_host(x, image));
    for (int pass = 0; pass < PASSES; pass++) {
        tl_var *in, *y, *again, *both, *sum;
        tl_tape_reset(tape);
        tl_tape_set_recording(tape, training);
        ok(c, tl_tape_wrap(tape, &in, x, 4, x->dim, wants_dx));
        ok(c, tl_module_forward(net, tape, &y, in, training));
        note(c, to, y->value);
        ok(c, tl_module_forward(net, tape, &again, in, training));
        to->planned = !y->node || strcmp(y->node->op, "net") == 0;
        if (!training) continue;
        ok(c, tl_op_add(tape, &both, y, again));
        ok(c, tl_op_sum(tape, &sum, both));
        ok(c, tl_tape_backward(tape, sum));
        if (wants_dx) note(c, to, in->grad);
    }
    ok(c, tl_module_visit(net, note_gradient, &(noting){c, to}));
    tl_tape_free(tape);
    tl_tensor_free(x);
    tl_module_free(net);
}

CLAIM(net, planned_and_composed_give_the_same_bits) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        trace *planned = claim_memory(c, 2, sizeof *planned), *composed = planned + 1;
        ok(c, tl_device_open(&ctx, t->device, t->rungs, t->threads));
        const tl_backend *with = ctx->ops;
        tl_backend without = *with;
        without.net_plan = NULL;
        for (int i = 0; with->net_plan && i < 4 * SPECS; i++) {
            const tl_net_spec *spec = &specs[i / 4];
            bool training = i % 4 > 0, wants_dx = i % 4 == 2;
            size_t size = (size_t)IMAGES * (size_t)(spec->c * spec->h * spec->w);
            tl_real *image = draw_reals(c, size);
            claim_case(c, t, "net %s, %s%s", spec->name, training ? "training" : "evaluation",
                       wants_dx ? " with the gradient of the images" : "");
            ctx->ops = with;
            run(c, ctx, spec, image, training, wants_dx, planned);
            ctx->ops = &without;
            run(c, ctx, spec, image, training, wants_dx, composed);
            ctx->ops = with;
            expect_true(c, planned->planned, "the net was not planned");
            expect_true(c, planned->size == composed->size, "traces of different lengths");
            expect_same_bits(c, "results and gradients", planned->value, composed->value,
                             SHAPE((int)planned->size));
        }
        if (strcmp(t->rungs, "all") == 0) expect_true(c, with->net_plan, "rung 1 is not there");
        tl_device_close(ctx);
    }
}

/* ---- places --------------------------------------------------------------------------------- */

CLAIM(net, what_is_needed_at_the_same_time_lies_apart) {
    enum { STEPS = 60, TRIALS = 200 };
    tl_net_plan *plan = claim_memory(c, 1, sizeof *plan);
    for (int trial = 0; trial < TRIALS; trial++) {
        size_t live[STEPS] = {0}, most = 0;
        plan->buffers = draw_int(c, 1, 60);
        for (int i = 0; i < plan->buffers; i++) {
            tl_net_buffer *b = &plan->buffer[i];
            int first = draw_int(c, 0, STEPS - 1), last = draw_int(c, first, STEPS - 1);
            *b = (tl_net_buffer){.first = (short)first, .last = (short)last};
            b->bytes = (size_t)draw_int(c, 1, trial % 2 ? 40 : 4000) * (trial % 3 ? 256 : 100);
            for (int s = first; s <= last; s++) live[s] += (b->bytes + 255) / 256 * 256;
        }
        tl_rung_net_place(plan);
        for (int s = 0; s < STEPS; s++) most = live[s] > most ? live[s] : most;
        expect_true(c, plan->bytes >= most && plan->bytes <= most + most / 2,
                    "trial %d: %zu bytes for %zu that are needed at once", trial, plan->bytes,
                    most);
        for (int i = 0; i < plan->buffers; i++) {
            const tl_net_buffer *a = &plan->buffer[i];
            expect_true(c, a->offset % 256 == 0 && a->offset + a->bytes <= plan->bytes,
                        "trial %d: buffer %d at %zu of %zu", trial, i, a->offset, plan->bytes);
            for (int k = 0; k < i; k++) {
                const tl_net_buffer *b = &plan->buffer[k];
                bool meet = a->first <= b->last && b->first <= a->last;
                bool apart = a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
                expect_true(c, !meet || apart, "trial %d: buffers %d and %d overlap", trial, k, i);
            }
        }
    }
}
