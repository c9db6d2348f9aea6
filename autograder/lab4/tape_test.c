/* tape_test.c: what the tape does with gradients, on graphs of whole numbers.
 *
 * Where it can be, a graph is one of sums and scaling of single elements: their rules are given,
 * and what is wrong then is the tape's. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

#include <stdio.h>

bool expect_leaf_gradients(graph *g, const call_target *t, const char *what, int loss,
                           const int leaf[], int leaves, double times) {
    double *want[8];
    for (int i = 0; i < leaves; i++) {
        want[i] = doubles(g->c, g->variable[leaf[i]].size);
        if (!graph_gradient(g, want[i], loss, leaf[i])) return false;
        for (size_t k = 0; k < g->variable[leaf[i]].size; k++) want[i][k] *= times;
    }
    call_report r;
    graph_run(g, t, &r, what);
    expect_ok(g->c, &r);
    for (int i = 0; i < leaves; i++) {
        char name[32];
        snprintf(name, sizeof name, "gradient of variable %d", leaf[i]);
        expect_equal(g->c, name, graph_result(g, leaf[i]), want[i], graph_shape(g, leaf[i]));
    }
    return true;
}

static void must(claim *c, bool told) {
    if (!told) claim_fail(c, "the test's own numbers do not allow one right answer");
}

/* relu(2x + 1): an odd number is never at the kink. */
static int odd_relu(graph *g, int x) {
    expect_shape shape = graph_shape(g, x);
    tl_real *one = reals(g->c, g->variable[x].size);
    for (size_t i = 0; i < g->variable[x].size; i++) one[i] = 1;
    int ones = graph_input_of(g, shape, one, false), twice = GRAPH(g, shape, GRAPH_SCALE, x, 2, 1);
    int odd = GRAPH(g, shape, GRAPH_ADD, twice, ones);
    return GRAPH(g, shape, GRAPH_RELU, odd);
}

/* A random graph over four leaves [2,2]: every operation takes any two earlier variables, so nodes
 * are shared, and some are never used. */
static bool expect_random_graph(claim *c, const call_target *t) {
    expect_shape square = SHAPE(2, 2), flat = SHAPE(4);
    graph g = graph_new(c, 200, 400);
    int leaf[4], made[16], count = 0;
    for (int i = 0; i < 4; i++) made[count++] = leaf[i] = graph_parameter(&g, square, 2);
    for (int i = 0; i < 8; i++) {
        int a = made[draw_int(c, 0, count - 1)], b = made[draw_int(c, 0, count - 1)], y = a;
        switch (draw_int(c, 0, 5)) {
        case 0:
            y = GRAPH(&g, square, GRAPH_ADD, a, b);
            break;
        case 1:
            y = GRAPH(&g, square, GRAPH_MUL, a, b);
            break;
        case 2:
            y = GRAPH(&g, square, GRAPH_MATMUL, a, b);
            break;
        case 3:
            y = odd_relu(&g, a);
            break;
        case 4:
            y = GRAPH(&g, square, GRAPH_SCALE, a, -3, 1);
            break;
        case 5:
            y = GRAPH(&g, flat, GRAPH_RESHAPE, a, 1, 4, 1, 1, 1);
            y = GRAPH(&g, square, GRAPH_RESHAPE, y, 2, 2, 2, 1, 1);
            break;
        }
        made[count++] = y;
    }
    /* the last variable and one chosen blindly; a leaf among them keeps backward legal */
    int last = GRAPH(&g, square, GRAPH_ADD, made[count - 1], made[draw_int(c, 0, count - 1)]);
    int loss = graph_weigh(&g, last, 3);
    DO(&g, GRAPH_BACKWARD, loss);
    for (int i = 0; i < 4; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    return expect_leaf_gradients(&g, t, "a random graph", loss, leaf, 4, 1);
}

/* Two products of one element: no node of them has anything saved. */
static void expect_products_alone(claim *c, const call_target *t) {
    const tl_real numbers[] = {2, -3, 5};
    graph g = graph_new(c, 20, 10);
    int x = graph_parameter_of(&g, SHAPE(1), &numbers[0]);
    int w = graph_parameter_of(&g, SHAPE(1), &numbers[1]);
    int five = graph_input_of(&g, SHAPE(1), &numbers[2], false);
    int xw = GRAPH(&g, SHAPE(1), GRAPH_MUL, x, w), loss = GRAPH(&g, SHAPE(1), GRAPH_MUL, xw, five);
    DO(&g, GRAPH_BACKWARD, loss);
    graph_read(&g, GRAPH_READ_GRAD, x);
    must(c, expect_leaf_gradients(&g, t, "products of single elements, x * w * 5", loss, &x, 1, 1));
}

/* The third input of a node is a result, too. */
static void expect_a_made_bias(claim *c, const call_target *t) {
    graph g = graph_new(c, 40, 60);
    int x = graph_parameter(&g, SHAPE(2, 3), 3), w = graph_parameter(&g, SHAPE(4, 3), 3);
    int b = graph_parameter(&g, SHAPE(4), 3), leaf[] = {x, w, b};
    int bias = GRAPH(&g, SHAPE(4), GRAPH_SCALE, b, -2, 1);
    int loss = graph_weigh(&g, GRAPH(&g, SHAPE(2, 4), GRAPH_LINEAR, x, w, bias), 3);
    DO(&g, GRAPH_BACKWARD, loss);
    for (int i = 0; i < 3; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    must(c, expect_leaf_gradients(&g, t, "a linear layer whose bias is -2 b", loss, leaf, 3, 1));
}

CLAIM(lab4_tape, random_graphs_match_numeric) {
    FOR_TARGETS (t) {
        expect_products_alone(c, t);
        expect_a_made_bias(c, t);
        int told = 0;
        for (int i = 0; i < 60; i++) told += expect_random_graph(c, t);
        expect_true(c, told >= 20, "only %d of 60 drawn graphs could be judged", told);
    }
}

/* x feeds both sides of a product and of a sum: y = (x*x + x) * x has dy/dx = 3x^2 + 2x. */
CLAIM(lab4_tape, a_diamond_adds_the_gradients_of_both_sides) {
    FOR_TARGETS (t) {
        expect_shape s = SHAPE(3, 4);
        graph g = graph_new(c, 40, 100);
        int x = graph_parameter(&g, s, 5);
        int square = GRAPH(&g, s, GRAPH_MUL, x, x), sum = GRAPH(&g, s, GRAPH_ADD, square, x);
        int y = GRAPH(&g, s, GRAPH_MUL, sum, x), loss = graph_weigh(&g, y, 4);
        DO(&g, GRAPH_BACKWARD, loss);
        graph_read(&g, GRAPH_READ_GRAD, x);
        must(c, expect_leaf_gradients(&g, t, "(x*x + x) * x", loss, &x, 1, 1));
    }
}

/* A node must wait for all users of its output, the late ones too: x -> a -> b -> d, all summed. A
 * walk that calls itself takes the inputs of a node from left to right, or from right to left: the
 * shorter way to b and a is once the second input of a sum, and once the first. */
CLAIM(lab4_tape, a_node_waits_for_all_users_of_its_output) {
    FOR_TARGETS (t)
        for (int mirrored = 0; mirrored < 2; mirrored++) {
            expect_shape s = SHAPE(1);
            graph g = graph_new(c, 20, 10);
            int x = graph_parameter(&g, s, 3), a = GRAPH(&g, s, GRAPH_SCALE, x, 2, 1);
            int b = GRAPH(&g, s, GRAPH_SCALE, a, 3, 1), b5 = GRAPH(&g, s, GRAPH_SCALE, b, 5, 1);
            int d = GRAPH(&g, s, GRAPH_ADD, b5, x);
            int ad = mirrored ? GRAPH(&g, s, GRAPH_ADD, a, d) : GRAPH(&g, s, GRAPH_ADD, d, a);
            int all = mirrored ? GRAPH(&g, s, GRAPH_ADD, b, ad) : GRAPH(&g, s, GRAPH_ADD, ad, b);
            DO(&g, GRAPH_BACKWARD, all);
            graph_read(&g, GRAPH_READ_GRAD, x);
            must(c,
                 expect_leaf_gradients(&g, t,
                                       mirrored ? "b + (a + d), where a = 2x, b = 3a, d = 5b + x"
                                                : "(d + a) + b, where a = 2x, b = 3a, d = 5b + x",
                                       all, &x, 1, 1));
        }
}

CLAIM(lab4_tape, results_that_the_loss_does_not_use_send_nothing) {
    FOR_TARGETS (t) {
        expect_shape s = SHAPE(1);
        graph g = graph_new(c, 20, 10);
        int x = graph_parameter(&g, s, 3), idle = graph_parameter(&g, s, 3), leaf[] = {x, idle};
        int used = GRAPH(&g, s, GRAPH_SCALE, x, 3, 1);
        int unused = GRAPH(&g, s, GRAPH_ADD, x, idle);
        int beyond = GRAPH(&g, s, GRAPH_ADD, used, unused); /* uses what the loss uses, later */
        int loss = GRAPH(&g, s, GRAPH_SCALE, used, 2, 1);
        (void)GRAPH(&g, s, GRAPH_SCALE, beyond, 7, 1);
        DO(&g, GRAPH_BACKWARD, loss);
        for (int i = 0; i < 2; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
        must(c, expect_leaf_gradients(&g, t, "an unused branch", loss, leaf, 2, 1));
    }
}

CLAIM(lab4_tape, a_chain_of_10000_nodes_goes_through) {
    FOR_TARGETS (t) {
        enum { LENGTH = 10000 };
        expect_shape s = SHAPE(1);
        graph g = graph_new(c, LENGTH + 20, 20);
        int x = graph_parameter(&g, s, 3), y = x;
        for (int i = 0; i < LENGTH; i++) y = GRAPH(&g, s, GRAPH_SCALE, y, -1, 1);
        DO(&g, GRAPH_BACKWARD, y);
        graph_read(&g, GRAPH_READ_GRAD, x);
        call_report r;
        graph_run(&g, t, &r, "a chain of 10000 changes of sign");
        expect_ok(c, &r);
        const double want = 1;
        expect_equal(c, "gradient", graph_result(&g, x), &want, s);
    }
}

/* Twice through a diamond of 40 links has 2^40 paths: only a walk that visits a node once ends. */
CLAIM(lab4_tape, every_node_is_visited_once) {
    FOR_TARGETS (t) {
        expect_shape s = SHAPE(1);
        graph g = graph_new(c, 200, 20);
        const tl_real one = 1;
        int x = graph_parameter_of(&g, s, &one), y = x;
        for (int i = 0; i < 40; i++) {
            int twice = GRAPH(&g, s, GRAPH_ADD, y, y);
            y = GRAPH(&g, s, GRAPH_SCALE, twice, 1, 2);
        }
        DO(&g, GRAPH_BACKWARD, y);
        graph_read(&g, GRAPH_READ_GRAD, x);
        call_report r;
        graph_run(&g, t, &r, "40 diamonds in a row");
        expect_ok(c, &r);
        const double want = 1;
        expect_equal(c, "gradient", graph_result(&g, x), &want, s);
    }
}

/* Parameters and inputs add up over calls; intermediate gradients start from zero in each. */
CLAIM(lab4_tape, a_second_backward_adds_to_leaves_alone) {
    FOR_TARGETS (t) {
        expect_shape s = SHAPE(2, 3);
        graph g = graph_new(c, 60, 100);
        int x = graph_parameter(&g, s, 3), in = graph_input(&g, s, 3, true), leaf[] = {x, in};
        int mid = GRAPH(&g, s, GRAPH_MUL, x, in), y = GRAPH(&g, s, GRAPH_MUL, mid, in);
        int loss = graph_weigh(&g, y, 3);
        DO(&g, GRAPH_BACKWARD, loss);
        graph_read(&g, GRAPH_READ_GRAD, mid);
        size_t first = g.variable[mid].read_at;
        DO(&g, GRAPH_BACKWARD, loss);
        graph_read(&g, GRAPH_READ_GRAD, mid);
        for (int i = 0; i < 2; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
        must(c, expect_leaf_gradients(&g, t, "backward twice", loss, leaf, 2, 2));
        expect_same_bits(c, "gradient of an intermediate result", graph_result(&g, mid),
                         g.out + first, s);
    }
}

/* The gradient that the tape made has its value's shape, too, and a node is named. */
CLAIM(lab4_tape, two_losses_add_up) {
    FOR_TARGETS (t) {
        expect_shape s = SHAPE(2, 2);
        const double shape[] = {2, 2, 2, 1, 1};
        graph g = graph_new(c, 60, 100);
        char by[GRAPH_NAME];
        int x = graph_parameter(&g, s, 3), w = graph_parameter(&g, s, 3), leaf[] = {x, w};
        int shared = GRAPH(&g, s, GRAPH_MUL, x, w), further = GRAPH(&g, s, GRAPH_MUL, shared, x);
        int one = graph_weigh(&g, shared, 3), other = graph_weigh(&g, further, 3);
        DO(&g, GRAPH_BACKWARD, one);
        DO(&g, GRAPH_BACKWARD, other);
        for (int i = 0; i < 2; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
        graph_read(&g, GRAPH_READ_SHAPE, shared);
        graph_read(&g, GRAPH_READ_OP, further);
        int both = GRAPH(&g, SHAPE(1), GRAPH_ADD, one, other); /* what the sum of both must equal */
        must(c, expect_leaf_gradients(&g, t, "two losses with a shared node", both, leaf, 2, 1));
        expect_equal(c, "ndim, dim[4] of a result's gradient", graph_result(&g, shared), shape,
                     SHAPE(5));
        if (c->case_failed) continue;
        bool named = graph_is_made_by(&g, further, "mul", by);
        expect_true(c, named, "the node of a product calls its operation \"%s\", not \"mul\"", by);
        if (!named) finding_pattern_of_case(c, "other_node");
    }
}

static void expect_flags(graph *g, int v, const char *what, bool grad, bool needs, bool node) {
    const double want[] = {grad, needs, node};
    expect_equal(g->c, what, graph_result(g, v), want, SHAPE(3));
}

CLAIM(lab4_tape, nothing_is_recorded_while_recording_is_off) {
    FOR_TARGETS (t) {
        expect_shape s = SHAPE(1);
        graph g = graph_new(c, 20, 10);
        int x = graph_parameter(&g, s, 3);
        DO(&g, GRAPH_RECORDING, 0);
        int frozen = GRAPH(&g, s, GRAPH_SCALE, x, 5, 1);
        DO(&g, GRAPH_RECORDING, 1);
        int live = GRAPH(&g, s, GRAPH_ADD, frozen, x);
        DO(&g, GRAPH_BACKWARD, live);
        graph_read(&g, GRAPH_READ_GRAD, x);
        graph_read(&g, GRAPH_READ_FLAGS, frozen);
        graph_read(&g, GRAPH_READ_FLAGS, live);
        call_report r;
        graph_run(&g, t, &r, "5x without recording, plus x with it");
        expect_ok(c, &r);
        const double want = 1;
        expect_equal(c, "gradient of x", graph_result(&g, x), &want, s);
        expect_flags(&g, frozen, "for nobody: has gradient, needs one, has node", 0, 0, 0);
        expect_flags(&g, live, "made while on: has gradient, needs one, has node", 1, 1, 1);
    }
}

/* An input that is not there at all; and what this node saves is longer than a pointer. */
static void expect_linear_without_bias(claim *c, const call_target *t) {
    graph g = graph_new(c, 20, 20);
    int x = graph_parameter(&g, SHAPE(1, 3), 3), w = graph_parameter(&g, SHAPE(1, 3), 3);
    int leaf[] = {x, w}, loss = GRAPH(&g, SHAPE(1, 1), GRAPH_LINEAR, x, w, -1);
    DO(&g, GRAPH_BACKWARD, loss);
    for (int i = 0; i < 2; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    must(c, expect_leaf_gradients(&g, t, "linear whose bias is NULL", loss, leaf, 2, 1));
    g = graph_new(c, 20, 100); /* none wants a gradient: all inputs are looked at */
    x = graph_input(&g, SHAPE(2, 3), 3, false), w = graph_input(&g, SHAPE(4, 3), 3, false);
    int y = GRAPH(&g, SHAPE(2, 4), GRAPH_LINEAR, x, w, -1);
    graph_read(&g, GRAPH_READ_FLAGS, y);
    call_report r;
    graph_run(&g, t, &r, "linear of inputs that need no gradient, its bias is NULL");
    expect_ok(c, &r);
    expect_flags(&g, y, "for nobody: has gradient, needs one, has node", 0, 0, 0);
}

CLAIM(lab4_tape, inputs_that_need_no_gradient_get_none) {
    FOR_TARGETS (t) {
        expect_linear_without_bias(c, t);
        expect_shape s = SHAPE(1);
        graph g = graph_new(c, 20, 10);
        int x = graph_input(&g, s, 3, false), w = graph_parameter(&g, s, 3);
        int y = GRAPH(&g, s, GRAPH_ADD, x, w), constant = GRAPH(&g, s, GRAPH_ADD, x, x);
        DO(&g, GRAPH_BACKWARD, y);
        graph_read(&g, GRAPH_READ_GRAD, w);
        graph_read(&g, GRAPH_READ_FLAGS, x);
        graph_read(&g, GRAPH_READ_FLAGS, constant);
        must(c, expect_leaf_gradients(&g, t, "x + w, only w needs a gradient", y, &w, 1, 1));
        expect_flags(&g, x, "frozen input: has gradient, needs one, has node", 0, 0, 0);
        expect_flags(&g, constant, "for nobody: has gradient, needs one, has node", 0, 0, 0);
    }
}

/* Three steps as a trainer makes them: reset, new inputs, forward, backward; gradients zeroed once.
 */
CLAIM(lab4_tape, parameters_outlive_a_reset) {
    FOR_TARGETS (t) {
        expect_shape s = SHAPE(3, 3); /* of four numbers from -3 to 3 all may well be 0 */
        graph g = graph_new(c, 160, 100);
        int w = graph_parameter(&g, s, 3), loss = -1;
        for (int i = 0; i < 3; i++) {
            int x = graph_input(&g, s, 3, false), y = GRAPH(&g, s, GRAPH_MATMUL, x, w);
            loss = graph_weigh(&g, y, 3);
            DO(&g, GRAPH_BACKWARD, loss);
            if (i == 1) DO(&g, GRAPH_ZERO_GRAD, w);
            if (i < 2) graph_emit(&g, NULL, GRAPH_RESET, 0, NULL);
        }
        graph_read(&g, GRAPH_READ_GRAD, w);
        call_target failing = steps_failing(t); /* where a step fails, nothing stays, either */
        must(c, expect_leaf_gradients(&g, &failing, "three steps with a reset between", loss, &w, 1,
                                      1));
    }
}

CLAIM(lab4_tape, backward_of_what_is_no_loss_is_refused) {
    FOR_TARGETS (t) {
        call_report r;
        graph g = graph_new(c, 10, 20);
        int x = graph_parameter(&g, SHAPE(2, 3), 3);
        DO(&g, GRAPH_BACKWARD, graph_sum(&g, x));
        call_target failing = steps_failing(t);
        graph_run(&g, &failing, &r, "backward of a sum");
        expect_ok(c, &r);
        g = graph_new(c, 10, 20);
        x = graph_parameter(&g, SHAPE(2, 3), 3);
        DO(&g, GRAPH_BACKWARD, GRAPH(&g, SHAPE(2, 3), GRAPH_SCALE, x, 2, 1));
        graph_run(&g, t, &r, "backward of six elements");
        expect_status(c, &r, TL_ESHAPE);
        g = graph_new(c, 10, 20);
        DO(&g, GRAPH_BACKWARD, graph_parameter(&g, SHAPE(1), 3));
        graph_run(&g, t, &r, "backward of a parameter");
        expect_status(c, &r, TL_EINVAL);
        g = graph_new(c, 10, 20);
        DO(&g, GRAPH_RECORDING, 0);
        DO(&g, GRAPH_BACKWARD, graph_sum(&g, graph_parameter(&g, SHAPE(3), 3)));
        graph_run(&g, t, &r, "backward of an unrecorded sum");
        expect_status(c, &r, TL_EINVAL);
    }
}
