/* ops_layers_test.c: the layers of a network as operations of the tape. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/graph_rule.h"
#include "cases.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const rule_case cases[] = {
    {"linear",
     GRAPH_LINEAR,
     3,
     0,
     {RULE_SHAPE(3, 4), RULE_SHAPE(2, 4), RULE_SHAPE(2)},
     RULE_SHAPE(3, 2),
     {0}},
    {"linear without bias",
     GRAPH_LINEAR,
     2,
     1,
     {RULE_SHAPE(3, 4), RULE_SHAPE(2, 4)},
     RULE_SHAPE(3, 2),
     {-1}},
    {"conv2d",
     GRAPH_CONV2D,
     3,
     6,
     {RULE_SHAPE(2, 2, 5, 4), RULE_SHAPE(3, 2, 3, 2), RULE_SHAPE(3)},
     RULE_SHAPE(2, 3, 3, 3),
     {2, 1, 1, 0, 1, 1}},
    {"dilated conv2d without bias",
     GRAPH_CONV2D,
     2,
     7,
     {RULE_SHAPE(1, 2, 6, 5), RULE_SHAPE(2, 2, 2, 2)},
     RULE_SHAPE(1, 2, 4, 2),
     {-1, 1, 2, 0, 1, 2, 3}},
    {"linear_relu",
     GRAPH_LINEAR_RELU,
     3,
     0,
     {RULE_SHAPE(4, 3), RULE_SHAPE(5, 3), RULE_SHAPE(5)},
     RULE_SHAPE(4, 5),
     {0}},
    {"linear_relu without bias",
     GRAPH_LINEAR_RELU,
     2,
     1,
     {RULE_SHAPE(3, 5), RULE_SHAPE(4, 5)},
     RULE_SHAPE(3, 4),
     {-1}},
};

/* x has no gradient yet when the rule begins: to make it is a step that may fail, like those of the
 * rule itself. */
static void expect_refusals_survived(claim *c, const call_target *t) {
    call_target failing = steps_failing(t);
    call_report r;
    graph g = graph_new(c, 20, 100);
    int x = graph_input(&g, SHAPE(4, 3), 3, true), w = graph_parameter(&g, SHAPE(5, 3), 3);
    int y = GRAPH(&g, SHAPE(4, 5), GRAPH_LINEAR_RELU, x, w, -1);
    DO(&g, GRAPH_BACKWARD, graph_sum(&g, y));
    graph_read(&g, GRAPH_READ_FLAGS, x);
    graph_run(&g, &failing, &r, "linear_relu without bias of an input, and backward");
    expect_ok(c, &r);
}

CLAIM(lab4_ops_layers, one_node_for_linear_and_relu_matches_numeric) {
    expect_rules(c, cases, COUNT(cases));
    FOR_TARGETS (t) expect_refusals_survived(c, t);
}

/* Those whose values are judged below. */
static const rule_case others[] = {
    {"relu", GRAPH_RELU, 1, 0, {RULE_SHAPE(3, 4)}, RULE_SHAPE(3, 4), {0}},
    {"maxpool2d",
     GRAPH_MAXPOOL2D,
     1,
     6,
     {RULE_SHAPE(2, 2, 5, 4)},
     RULE_SHAPE(2, 2, 3, 2),
     {3, 2, 2, 2, 1, 0}},
    {"softmax cross-entropy", GRAPH_SOFTMAX, 1, 0, {RULE_SHAPE(3, 4)}, RULE_SHAPE(1), {0}},
};

CLAIM(lab4_ops_layers, layers_skip_inputs_that_need_no_gradient) {
    expect_frozen_inputs(c, cases, COUNT(cases));
    expect_no_nodes(c, cases, COUNT(cases));
    expect_no_nodes(c, others, COUNT(others));
}

/* ReLU and pooling have kinks: their leaves are half-integers, all different. Two pools, so that
 * each needs winners of its own; what comes behind them takes memory, so that winners which were
 * given back too early are overwritten. */
CLAIM(lab4_ops_layers, winners_live_until_backward) {
    FOR_TARGETS (t) {
        expect_shape in = SHAPE(2, 2, 5, 4), out = SHAPE(2, 2, 3, 2);
        graph g = graph_new(c, 40, 800);
        int leaf[2], loss = -1;
        for (int i = 0; i < 2; i++) {
            leaf[i] = graph_parameter_of(&g, in, draw_distinct(c, 80, 1));
            int p = GRAPH(&g, out, GRAPH_MAXPOOL2D, leaf[i], 3, 2, 2, 2, 1, 0);
            int one = graph_weigh(&g, p, 3);
            int other = graph_weigh(&g, GRAPH(&g, in, GRAPH_RELU, leaf[i]), 3);
            int both = GRAPH(&g, SHAPE(1), GRAPH_ADD, one, other);
            loss = i ? GRAPH(&g, SHAPE(1), GRAPH_ADD, loss, both) : both;
        }
        DO(&g, GRAPH_BACKWARD, loss);
        double *want[2];
        for (int i = 0; i < 2; i++) {
            graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
            want[i] = doubles(c, 80);
            if (!graph_gradient(&g, want[i], loss, leaf[i])) claim_fail(c, "no one right answer");
        }
        call_report r;
        graph_run(&g, t, &r, "maxpool2d and relu of two inputs, summed");
        expect_ok(c, &r);
        for (int i = 0; i < 2; i++)
            expect_equal(c, "gradient", graph_result(&g, leaf[i]), want[i], in);
    }
}

/* An operation that rounds: the tape must give what it gives on its own, to the last bit. */
void expect_softmax(claim *c, const call_target *t, int rows, int classes, int factor) {
    const size_t n = (size_t)rows * (size_t)classes;
    tl_real *x = draw_between(c, n, -3, 3), loss, *row_loss = reals(c, (size_t)rows);
    tl_real *prob = reals(c, n), *dx = reals(c, n), dloss = (tl_real)factor;
    int32_t *label = draw_labels(c, (size_t)rows, classes);
    call_report r;
    call_softmax_xent_fwd(t, &r, &loss, row_loss, prob, x, label, rows, classes);
    expect_ok(c, &r);
    call_softmax_xent_bwd(t, &r, dx, &dloss, prob, label, rows, classes);
    expect_ok(c, &r);
    graph g = graph_new(c, 20, 2 * n);
    memcpy(g.label, label, sizeof *label * (size_t)rows);
    g.labels = (size_t)rows;
    int leaf = graph_parameter_of(&g, SHAPE(rows, classes), x);
    int y = GRAPH(&g, SHAPE(1), GRAPH_SOFTMAX, leaf);
    DO(&g, GRAPH_BACKWARD, GRAPH(&g, SHAPE(1), GRAPH_SCALE, y, factor, 1));
    graph_read(&g, GRAPH_READ_VALUE, y);
    graph_read(&g, GRAPH_READ_GRAD, leaf);
    char what[40];
    snprintf(what, sizeof what, "%d * softmax cross-entropy", factor);
    graph_run(&g, t, &r, what);
    expect_ok(c, &r);
    expect_same_bits(c, "loss", graph_result(&g, y), &loss, SHAPE(1));
    expect_equal(c, "gradient", graph_result(&g, leaf), widen(c, dx, n), SHAPE(rows, classes));
}

/* The loss is scaled by 2, so that a dloss taken for 1 shows. */
CLAIM(lab4_ops_layers, softmax_passes_its_own_gradient) {
    FOR_TARGETS (t) expect_softmax(c, t, 5, 4, 2);
}

static const rule_case refused[] = {
    {"linear", GRAPH_LINEAR, 2, 1, {RULE_SHAPE(2, 3), RULE_SHAPE(4, 2)}, RULE_SHAPE(1), {-1}},
    {"linear, bias",
     GRAPH_LINEAR,
     3,
     0,
     {RULE_SHAPE(2, 3), RULE_SHAPE(4, 3), RULE_SHAPE(3)},
     RULE_SHAPE(1),
     {0}},
    {"linear_relu",
     GRAPH_LINEAR_RELU,
     2,
     1,
     {RULE_SHAPE(2, 3), RULE_SHAPE(4, 2)},
     RULE_SHAPE(1),
     {-1}},
    {"conv2d, channels",
     GRAPH_CONV2D,
     2,
     7,
     {RULE_SHAPE(1, 2, 4, 4), RULE_SHAPE(1, 3, 2, 2)},
     RULE_SHAPE(1),
     {-1, 1, 1, 0, 0, 1, 1}},
    {"conv2d, bias",
     GRAPH_CONV2D,
     3,
     6,
     {RULE_SHAPE(1, 2, 4, 4), RULE_SHAPE(3, 2, 2, 2), RULE_SHAPE(2)},
     RULE_SHAPE(1),
     {1, 1, 0, 0, 1, 1}},
    {"conv2d of a matrix",
     GRAPH_CONV2D,
     2,
     7,
     {RULE_SHAPE(4, 4), RULE_SHAPE(1, 1, 2, 2)},
     RULE_SHAPE(1),
     {-1, 1, 1, 0, 0, 1, 1}},
    {"maxpool2d of a matrix",
     GRAPH_MAXPOOL2D,
     1,
     6,
     {RULE_SHAPE(4, 4)},
     RULE_SHAPE(1),
     {2, 2, 2, 2, 0, 0}},
};

CLAIM(lab4_ops_layers, shapes_that_do_not_fit_are_refused) {
    expect_refusals(c, &cases[4], refused, COUNT(refused));
    FOR_TARGETS (t) {
        for (size_t k = 0; k < COUNT(cases); k++) expect_failures_told(c, t, &cases[k]);
        for (size_t k = 0; k < COUNT(others); k++) expect_failures_told(c, t, &others[k]);
    }
}
