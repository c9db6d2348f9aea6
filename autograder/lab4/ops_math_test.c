/* ops_math_test.c: sums, products and shapes as operations of the tape. */
#include "autograder/claim/graph_rule.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const rule_case cases[] = {
    /* first: every other case is weighed by a product */
    {"mul", GRAPH_MUL, 2, 0, {RULE_SHAPE(2, 3, 2), RULE_SHAPE(2, 3, 2)}, RULE_SHAPE(2, 3, 2), {0}},
    {"add", GRAPH_ADD, 2, 0, {RULE_SHAPE(3, 4), RULE_SHAPE(3, 4)}, RULE_SHAPE(3, 4), {0}},
    {"scale", GRAPH_SCALE, 1, 2, {RULE_SHAPE(7)}, RULE_SHAPE(7), {-5, 1}},
    {"sum", GRAPH_SUM, 1, 0, {RULE_SHAPE(3, 5)}, RULE_SHAPE(1), {0}},
    {"matmul", GRAPH_MATMUL, 2, 0, {RULE_SHAPE(3, 4), RULE_SHAPE(4, 2)}, RULE_SHAPE(3, 2), {0}},
    {"reshape", GRAPH_RESHAPE, 1, 5, {RULE_SHAPE(2, 6)}, RULE_SHAPE(3, 2, 2), {3, 3, 2, 2, 1}},
};

/* The rule of sum without any other that is to be written: the cases below all end in a sum. */
static void expect_sum_alone(claim *c, const call_target *t) {
    graph g = graph_new(c, 20, 20);
    int x = graph_parameter(&g, SHAPE(2, 4), 3), y = graph_sum(&g, x);
    DO(&g, GRAPH_BACKWARD, GRAPH(&g, SHAPE(1), GRAPH_SCALE, y, 3, 1));
    graph_read(&g, GRAPH_READ_GRAD, x);
    call_report r;
    graph_run(&g, t, &r, "sum alone, 3 * sum(x)");
    expect_ok(c, &r);
    double want[8];
    for (int i = 0; i < 8; i++) want[i] = 3;
    expect_equal(c, "gradient of the first input", graph_result(&g, x), want, SHAPE(2, 4));
}

CLAIM(lab4_ops_math, every_rule_matches_numeric) {
    FOR_TARGETS (t) expect_sum_alone(c, t);
    expect_rules(c, cases, COUNT(cases));
}
CLAIM(lab4_ops_math, every_rule_skips_inputs_that_need_no_gradient) {
    expect_frozen_inputs(c, cases, COUNT(cases));
    expect_no_nodes(c, cases, COUNT(cases));
}

/* One variable on both sides: its gradient has two parts. */
CLAIM(lab4_ops_math, an_operation_of_a_variable_with_itself_sends_both_parts) {
    static const int code[] = {GRAPH_ADD, GRAPH_MUL, GRAPH_MATMUL};
    static const char *const name[] = {"x + x", "x * x", "x·x"};
    FOR_TARGETS (t)
        for (int k = 0; k < 3; k++) {
            expect_shape s = SHAPE(3, 3);
            graph g = graph_new(c, 20, 40);
            int x = graph_parameter(&g, s, 3), y = GRAPH(&g, s, code[k], x, x);
            int loss = graph_weigh(&g, y, 3);
            DO(&g, GRAPH_BACKWARD, loss);
            graph_read(&g, GRAPH_READ_GRAD, x);
            double *want = doubles(c, 9);
            if (!graph_gradient(&g, want, loss, x)) claim_fail(c, "no one right answer");
            call_report r;
            graph_run(&g, t, &r, name[k]);
            expect_ok(c, &r);
            expect_equal(c, "gradient", graph_result(&g, x), want, s);
        }
}

/* Mean over 8 elements: eighths are exact. */
CLAIM(lab4_ops_math, mean_divides_once) {
    FOR_TARGETS (t) {
        graph g = graph_new(c, 20, 20);
        int x = graph_parameter(&g, SHAPE(2, 4), 9), y = GRAPH(&g, SHAPE(1), GRAPH_MEAN, x);
        int loss = GRAPH(&g, SHAPE(1), GRAPH_SCALE, y, 3, 1);
        DO(&g, GRAPH_BACKWARD, loss);
        graph_read(&g, GRAPH_READ_GRAD, y);
        size_t dy = g.variable[y].read_at;
        graph_read(&g, GRAPH_READ_VALUE, y);
        graph_read(&g, GRAPH_READ_GRAD, x);
        call_report r;
        graph_run(&g, t, &r, "3 * mean(x)");
        expect_ok(c, &r);
        graph_evaluate(&g);
        double want[8], factor = 3;
        for (int i = 0; i < 8; i++) want[i] = 3.0 / 8;
        expect_equal(c, "value", graph_result(&g, y), g.variable[y].value, SHAPE(1));
        expect_equal(c, "gradient", graph_result(&g, x), want, SHAPE(2, 4));
        expect_equal(c, "gradient of the result", g.out + dy, &factor, SHAPE(1));
    }
}

static const rule_case refused[] = {
    {"add", GRAPH_ADD, 2, 0, {RULE_SHAPE(2, 3), RULE_SHAPE(3, 2)}, RULE_SHAPE(1), {0}},
    {"mul", GRAPH_MUL, 2, 0, {RULE_SHAPE(6), RULE_SHAPE(2, 3)}, RULE_SHAPE(1), {0}},
    {"matmul", GRAPH_MATMUL, 2, 0, {RULE_SHAPE(2, 3), RULE_SHAPE(2, 3)}, RULE_SHAPE(1), {0}},
    {"matmul of a vector",
     GRAPH_MATMUL,
     2,
     0,
     {RULE_SHAPE(3), RULE_SHAPE(3, 2)},
     RULE_SHAPE(1),
     {0}},
    {"reshape", GRAPH_RESHAPE, 1, 5, {RULE_SHAPE(2, 3)}, RULE_SHAPE(1), {2, 2, 2, 1, 1}},
};

CLAIM(lab4_ops_math, shapes_that_do_not_fit_are_refused) {
    expect_refusals(c, &cases[4], refused, COUNT(refused));
    FOR_TARGETS (t)
        for (size_t k = 0; k < COUNT(cases); k++) expect_failures_told(c, t, &cases[k]);
}
