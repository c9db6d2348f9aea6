/* rounded_net_test.c: a net in TF32 or bfloat16 that is planned as a whole (kernels/net/02_tensor*)
 * computes what its modules compute, one by one, each rounding where tl/precision.h says.
 *
 * Of whole numbers whose sums are exact in float, in any order, all bits must be equal: results,
 * and the gradients of all parameters. Few weights are not 0, so that numbers stay small from layer
 * to layer; in each case one array has numbers of 12 bits, which both precisions have to round. */
#include "rounded_net.h"

#ifndef TL_REAL_DOUBLE

/* clang-format off */
/* Whatever may follow a product; channels and images off all slices and tiles. (What dropout scales
 * by is a power of 2.) */
static const tl_layer usual[] = {CONV(17, 1), RELU, POOL, CONV(24, 0), RELU, FLATTEN, LINEAR(7),
                                 RELU, LINEAR(4), END};
static const tl_layer odd[] = {CONV(16, 2), POOL, RELU, CONV(40, 1), DROPOUT(0.5), RELU, RELU,
                               CONV(18, 0), POOL, DROPOUT(0.5), FLATTEN, LINEAR(5), RELU,
                               DROPOUT(0.5), LINEAR(3), END};
/* sums that several blocks share, before a pool and on the way back to one */
static const tl_layer deep[] = {CONV(72, 1), RELU, POOL, CONV(66, 1), RELU, POOL, CONV(33, 1),
                                FLATTEN, LINEAR(2), END};
static const tl_layer rows[] = {FLATTEN, LINEAR(40), DROPOUT(0.5), LINEAR(520), LINEAR(5), END};
static const tl_layer single[] = {FLATTEN, LINEAR(7), END};
/* squares of 8x8 outputs, which read patches: pooled, and on the way back to a pool */
static const tl_layer squares[] = {CONV(16, 1), RELU, POOL, CONV(16, 1), RELU, POOL, DROPOUT(0.5),
                                   FLATTEN, LINEAR(3), END};
/* what is left to the modules: it is no chain of products, or ends in none */
static const tl_layer pools[] = {CONV(16, 1), POOL, POOL, FLATTEN, LINEAR(3), END};
static const tl_layer front[] = {RELU, CONV(16, 1), FLATTEN, LINEAR(3), END};
static const tl_layer behind[] = {CONV(16, 1), FLATTEN, LINEAR(3), RELU, END};
/* clang-format on */

static const tl_net_spec specs[] = {
    {.name = "usual", .c = 3, .h = 12, .w = 10, .layer = usual},
    {.name = "odd", .c = 2, .h = 11, .w = 13, .layer = odd},
    {.name = "deep", .c = 2, .h = 9, .w = 11, .layer = deep},
    {.name = "rows", .c = 1, .h = 4, .w = 33, .layer = rows},
    {.name = "single", .c = 2, .h = 3, .w = 5, .layer = single},
    {.name = "squares", .c = 2, .h = 32, .w = 16, .layer = squares}};
static const tl_net_spec others[] = {{.name = "pools", .c = 2, .h = 8, .w = 9, .layer = pools},
                                     {.name = "front", .c = 2, .h = 5, .w = 6, .layer = front},
                                     {.name = "behind", .c = 2, .h = 5, .w = 6, .layer = behind}};
enum { SPECS = sizeof specs / sizeof *specs, OTHERS = sizeof others / sizeof *others };

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

static void expect_net(claim *c, const tl_net_spec *spec) {
    FOR_ROUNDED_TARGETS(t) {
        tl_ctx *ctx = open_in(c, t);
        for (int wide = NO_ARRAY; ctx->ops->net_plan && wide <= OF_PARAMETERS + 2; wide++)
            expect_composed(c, t, ctx, new_trial(c, spec, wide > 0, true, wide));
        tl_device_close(ctx);
    }
}

CLAIM(rounded_net, whole_numbers_of_a_usual_net_are_those_of_its_modules) {
    expect_net(c, &specs[0]);
}
CLAIM(rounded_net, whole_numbers_of_an_odd_net_are_those_of_its_modules) {
    expect_net(c, &specs[1]);
}
CLAIM(rounded_net, whole_numbers_of_a_deep_net_are_those_of_its_modules) {
    expect_net(c, &specs[2]);
}
CLAIM(rounded_net, whole_numbers_of_linear_layers_are_those_of_the_modules) {
    expect_net(c, &specs[3]);
    expect_net(c, &specs[4]);
}

CLAIM(rounded_net, whole_numbers_of_squares_are_those_of_the_modules) { expect_net(c, &specs[5]); }

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
