/* graph_rule.c: see graph_rule.h. */
#include "graph_rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device_claims.h"
#include "verdict.h"

/* Whole numbers. Before a ReLU all are odd but those of the third leaf: then a sum of an odd number
 * of products of the first two, plus the third, is never 0, where ReLU has its kink. */
static int new_leaf(graph *g, const rule_case *o, int i, bool frozen) {
    expect_shape shape = o->leaf[i];
    if (o->code != GRAPH_LINEAR_RELU)
        return frozen ? graph_input(g, shape, 3, false) : graph_parameter(g, shape, 3);
    size_t n = 1;
    for (int k = 0; k < shape.ndim; k++) n *= (size_t)shape.dim[k];
    tl_real *x = reals(g->c, n);
    for (size_t k = 0; k < n; k++) x[k] = (tl_real)(2 * draw_int(g->c, -2, 1) + (i < 2));
    return frozen ? graph_input_of(g, shape, x, false) : graph_parameter_of(g, shape, x);
}

enum { NONE = 0, ALL = (1 << RULE_LEAVES) - 1 };

/* The operation on the case's leaves, of which those in `wants`, a bit each, want a gradient. */
static int emit_case(graph *g, const rule_case *o, int wants, int leaf[RULE_LEAVES]) {
    int64_t operand[12];
    int operands = 0;
    for (int i = 0; i < o->leaves; i++) {
        leaf[i] = new_leaf(g, o, i, !(wants >> i & 1));
        operand[operands++] = leaf[i];
    }
    for (int i = 0; i < o->attributes; i++) operand[operands++] = o->attribute[i];
    return graph_emit(g, &o->result, o->code, operands, operand);
}

/* The same operation on the same leaves once more. */
static int emit_again(graph *g, const rule_case *o, const int leaf[RULE_LEAVES]) {
    int64_t operand[12];
    int operands = 0;
    for (int i = 0; i < o->leaves; i++) operand[operands++] = leaf[i];
    for (int i = 0; i < o->attributes; i++) operand[operands++] = o->attribute[i];
    return graph_emit(g, &o->result, o->code, operands, operand);
}

static const char *const gradient_name[RULE_LEAVES] = {
    "gradient of the first input", "gradient of the second input", "gradient of the third input"};

static bool same_numbers(const tl_real *got, const double *want, size_t n) {
    bool same = true;
    for (size_t i = 0; i < n; i++) same = same && got[i] == want[i];
    return same;
}

/* Is the gradient what the second use has sent, and that of the first one gone? All 2, a sum of two
 * gradients taken for 1 is, too. */
static void tell_lost_use(graph *g, int leaf, int second) {
    const tl_real *got = graph_result(g, leaf);
    size_t n = g->variable[leaf].size;
    double *alone = doubles(g->c, n), *twos = doubles(g->c, n);
    for (size_t i = 0; i < n; i++) twos[i] = 2;
    if (graph_gradient(g, alone, second, leaf) && same_numbers(got, alone, n) &&
        !same_numbers(got, twos, n))
        finding_pattern_of_case(g->c, "last_use_alone");
}

/* The weights of a loss that graph_weigh made: its dy. */
static const double *dy_of(const graph *g, int loss) { return g->variable[loss - 2].leaf; }

/* Of linear and ReLU in one node: is dx made of dy where dy is above 0, whatever y is? */
static void tell_mask(graph *g, const rule_case *o, const int leaf[], int first, int second) {
    int rows = o->leaf[0].dim[0], in = o->leaf[0].dim[1], out = o->leaf[1].dim[0];
    const double *w = g->variable[leaf[1]].leaf, *one = dy_of(g, first), *two = dy_of(g, second);
    double *dx = doubles(g->c, g->variable[leaf[0]].size);
    for (int at = 0; at < rows * out * in; at++) {
        int y = at / in, j = y % out, k = at % in;
        dx[y / out * in + k] += (fmax(one[y], 0) + fmax(two[y], 0)) * w[j * in + k];
    }
    if (same_numbers(graph_result(g, leaf[0]), dx, g->variable[leaf[0]].size))
        finding_pattern_of_case(g->c, "masked_by_dy");
}

/* Its first use has one node, by the operation's own name. */
static void expect_one_node(claim *c, const graph *g, int y, const rule_case *o) {
    char by[GRAPH_NAME];
    if (c->case_failed || o->code != GRAPH_LINEAR_RELU) return;
    bool one = graph_is_made_by(g, y, "linear_relu", by);
    expect_true(c, one, "the node of y is of \"%s\", not of \"linear_relu\"", by);
    if (!one) finding_pattern_of_case(c, "other_node");
}

static void expect_rule(claim *c, const call_target *t, const rule_case *o) {
    int leaf[RULE_LEAVES];
    graph g = graph_new(c, 40, 900);
    int y = emit_case(&g, o, ALL, leaf), again = emit_again(&g, o, leaf);
    int first = graph_weigh(&g, y, 3), second = graph_weigh(&g, again, 3);
    DO(&g, GRAPH_BACKWARD, first);
    DO(&g, GRAPH_BACKWARD, second);
    int both = GRAPH(&g, SHAPE(1), GRAPH_ADD, first, second); /* what the gradients are those of */
    graph_read(&g, GRAPH_READ_OP, y);
    size_t made_by = g.variable[y].read_at;
    graph_read(&g, GRAPH_READ_GRAD, y);
    size_t dy = g.variable[y].read_at;
    graph_read(&g, GRAPH_READ_VALUE, y);
    for (int i = 0; i < o->leaves; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    call_report r;
    graph_run(&g, t, &r, o->name);
    expect_ok(c, &r);
    graph_evaluate(&g);
    expect_equal(c, "value", graph_result(&g, y), g.variable[y].value, o->result);
    for (int i = 0; i < o->leaves; i++) {
        double *want = doubles(c, g.variable[leaf[i]].size);
        if (!graph_gradient(&g, want, both, leaf[i])) claim_fail(c, "no one right answer");
        expect_equal(c, gradient_name[i], graph_result(&g, leaf[i]), want, o->leaf[i]);
        if (!c->case_failed || strcmp(c->finding->array, gradient_name[i]) != 0) continue;
        tell_lost_use(&g, leaf[i], second);
        if (i == 0 && o->code == GRAPH_LINEAR_RELU) tell_mask(&g, o, leaf, first, second);
    }
    expect_equal(c, "gradient of the result", g.out + dy, dy_of(&g, first), o->result);
    g.variable[y].read_at = made_by;
    expect_one_node(c, &g, y, o);
}

void expect_rules(claim *c, const rule_case *cases, size_t count) {
    FOR_TARGETS (t)
        for (size_t k = 0; k < count; k++) expect_rule(c, t, &cases[k]);
}

/* "conv2d, a gradient for input 2 alone": those in `wants`. */
static void say_wants(char what[80], const rule_case *o, int wants) {
    int used = snprintf(what, 80, "%s, a gradient for input", o->name);
    for (int i = 0; i < o->leaves; i++)
        if (wants >> i & 1) used += snprintf(what + used, 80 - (size_t)used, " %d", i + 1);
    snprintf(what + used, 80 - (size_t)used, " alone");
}

static void expect_frozen(claim *c, const call_target *t, const rule_case *o, int wants) {
    int leaf[RULE_LEAVES];
    char what[80];
    graph g = graph_new(c, 40, 600);
    int loss = graph_weigh(&g, emit_case(&g, o, wants, leaf), 3);
    DO(&g, GRAPH_BACKWARD, loss);
    for (int i = 0; i < o->leaves; i++)
        graph_read(&g, wants >> i & 1 ? GRAPH_READ_GRAD : GRAPH_READ_FLAGS, leaf[i]);
    call_report r;
    say_wants(what, o, wants);
    graph_run(&g, t, &r, what);
    expect_ok(c, &r);
    for (int i = 0; i < o->leaves; i++) {
        double *want = doubles(c, g.variable[leaf[i]].size), none[3] = {0, 0, 0};
        if (!(wants >> i & 1)) {
            expect_equal(c, "frozen input: has gradient, needs one, has node",
                         graph_result(&g, leaf[i]), none, SHAPE(3));
            continue;
        }
        if (!graph_gradient(&g, want, loss, leaf[i])) claim_fail(c, "no one right answer");
        expect_equal(c, "gradient of the other input", graph_result(&g, leaf[i]), want, o->leaf[i]);
    }
}

void expect_frozen_inputs(claim *c, const rule_case *cases, size_t count) {
    FOR_TARGETS (t)
        for (size_t k = 0; k < count; k++)
            for (int wants = (1 << cases[k].leaves) - 2; wants > 0; wants--)
                expect_frozen(c, t, &cases[k], wants);
}

void expect_unrecorded(claim *c, graph *g, const call_target *t, int y, const char *what) {
    const double none[3] = {0, 0, 0};
    call_report r;
    graph_read(g, GRAPH_READ_FLAGS, y);
    graph_run(g, t, &r, what);
    expect_ok(c, &r);
    expect_equal(c, "for nobody: has gradient, needs one, has node", graph_result(g, y), none,
                 SHAPE(3));
}

void expect_no_nodes(claim *c, const rule_case *cases, size_t count) {
    FOR_TARGETS (t)
        for (size_t k = 0; k < count; k++)
            for (int recording = 0; recording < 2; recording++) {
                int leaf[RULE_LEAVES];
                char what[80];
                graph g = graph_new(c, 20, 600);
                DO(&g, GRAPH_RECORDING, recording);
                if (cases[k].code == GRAPH_SOFTMAX) g.labels = cases[k].leaf[0].dim[0];
                int y = emit_case(&g, &cases[k], recording ? NONE : ALL, leaf);
                snprintf(what, sizeof what, "%s, %s", cases[k].name,
                         recording ? "no input wants a gradient" : "recording is off");
                expect_unrecorded(c, &g, t, y, what);
            }
}

void expect_failures_told(claim *c, const call_target *t, const rule_case *o) {
    call_target failing = steps_failing(t);
    int leaf[RULE_LEAVES];
    char what[80];
    graph g = graph_new(c, 40, 600);
    if (o->code == GRAPH_SOFTMAX) g.labels = (size_t)o->leaf[0].dim[0];
    int y = emit_case(&g, o, ALL, leaf);
    bool is_number = o->result.ndim == 1 && o->result.dim[0] == 1;
    DO(&g, GRAPH_BACKWARD, is_number ? y : graph_sum(&g, y));
    graph_read(&g, GRAPH_READ_FLAGS, leaf[0]);
    call_report r;
    snprintf(what, sizeof what, "%s, and backward", o->name);
    graph_run(&g, &failing, &r, what);
    expect_ok(c, &r);
}

void expect_refusals(claim *c, const rule_case *allowed, const rule_case *cases, size_t count) {
    FOR_TARGETS (t) {
        expect_rule(c, t, allowed);
        for (size_t k = 0; k < count; k++) {
            int leaf[RULE_LEAVES];
            graph g = graph_new(c, 10, 100);
            (void)emit_case(&g, &cases[k], ALL, leaf);
            call_report r;
            graph_run(&g, t, &r, cases[k].name);
            expect_status(c, &r, TL_ESHAPE);
            /* "[2,3]", or for a bias the two lengths */
            bool named = strchr(r.error, '[') || strstr(r.error, "bias");
            expect_true(c, named, "the message names no shape: %s", r.error);
        }
    }
}
