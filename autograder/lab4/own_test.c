/* own_test.c: an operation that has no definition here: its rule is held against its own forward.
 *
 * The oracle is what the operation itself gives for inputs moved a little: fourth-order central
 * differences of its values, which the grader forms. So the claims hold whatever the formula is. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/graph_rule.h"
#include "autograder/claim/numeric.h"
#include "autograder/claim/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, COLS = 4, N = ROWS * COLS };
static const expect_shape shape = {2, {ROWS, COLS}, NULL};
static const char *const name[] = {"gradient of a", "gradient of b"};

/* What tl_own is asked: its inputs, and the weights that make one number of y. */
typedef struct asked {
    claim *c;
    const call_target *t;
    double x[2][N]; /* a and b */
    double weight[N];
} asked;

/* Away from 0 by at least low, of either sign. */
static void draw_away(claim *c, double *x, double low, double high) {
    for (int i = 0; i < N; i++)
        x[i] = (tl_real)(draw_uniform(c, low, high) * (draw_int(c, 0, 1) ? 1 : -1));
}

/* No a, b, a + b or a - b is near 0, where tl/own.h allows a kink. */
static asked draw_asked(claim *c, const call_target *t) {
    asked q = {.c = c, .t = t};
    draw_away(c, q.x[0], 0.5, 1);
    draw_away(c, q.x[1], 1.25, 2);
    for (int i = 0; i < N; i++) q.weight[i] = (tl_real)draw_uniform(c, 0.5, 2);
    return q;
}

static tl_real *narrow(claim *c, const double *x) {
    tl_real *y = reals(c, N);
    for (int i = 0; i < N; i++) y[i] = (tl_real)x[i];
    return y;
}

/* sum(weight * tl_own(a, b)), and how large its terms are, from the values that forward gives. */
static double weighed(const asked *q, double *size) {
    graph g = graph_new(q->c, 8, 2 * N);
    int a = graph_input_of(&g, shape, narrow(q->c, q->x[0]), false);
    int b = graph_input_of(&g, shape, narrow(q->c, q->x[1]), false);
    int y = GRAPH(&g, shape, GRAPH_OWN, a, b);
    graph_read(&g, GRAPH_READ_VALUE, y);
    call_report r;
    graph_run(&g, q->t, &r, "tl_own(a, b), forward alone");
    expect_ok(q->c, &r);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += q->weight[i] * graph_result(&g, y)[i];
        if (size) *size += q->weight[i] * (1 + fabs(graph_result(&g, y)[i]));
    }
    return sum;
}

static double loss_of(const void *user) { return weighed(user, NULL); }

/* What rounding may do to one such sum: a formula has a few dozen roundings, each of a number about
 * as large as y or as its inputs. */
static double rounding_of(const asked *q) {
    double size = 0;
    (void)weighed(q, &size);
    return 64 * TL_REAL_ROUNDOFF * size;
}

/* sum(weight * tl_own(a, b)) as a variable. */
static int weigh_own(graph *g, const asked *q, int a, int b) {
    int y = GRAPH(g, shape, GRAPH_OWN, a, b);
    int by = graph_input_of(g, shape, narrow(q->c, q->weight), false);
    return graph_sum(g, GRAPH(g, shape, GRAPH_MUL, y, by));
}

/* a and b; one of them, if not -1, needs no gradient. */
static void add_leaves(graph *g, const asked *q, int frozen, int leaf[2]) {
    for (int i = 0; i < 2; i++) {
        tl_real *x = narrow(q->c, q->x[i]);
        leaf[i] =
            i == frozen ? graph_input_of(g, shape, x, false) : graph_parameter_of(g, shape, x);
    }
}

/* The gradients by the rule; false if the program did not run. */
static bool by_rule(const asked *q, const char *what, tl_real *grad[2]) {
    graph g = graph_new(q->c, 20, 4 * N);
    int leaf[2];
    add_leaves(&g, q, -1, leaf);
    DO(&g, GRAPH_BACKWARD, weigh_own(&g, q, leaf[0], leaf[1]));
    for (int i = 0; i < 2; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    call_report r;
    graph_run(&g, q->t, &r, what);
    expect_ok(q->c, &r);
    for (int i = 0; i < 2; i++) grad[i] = copy_reals(q->c, graph_result(&g, leaf[i]), N);
    return !q->c->case_failed;
}

static void expect_gradients(claim *c, const call_target *t, bool weights) {
    static const double step = 0x1p-8;
    asked q = draw_asked(c, t);
    double *want[2], *bound[2];
    tl_real *first[2], *got[2];
    const char *what = weights ? "tl_own(a, b), weighed and summed" : "tl_own(a, b), summed";
    for (int i = 0; i < N && !weights; i++) q.weight[i] = 1; /* so every dy is 1 */
    if (!by_rule(&q, what, first)) return;
    double noise = rounding_of(&q);
    for (int i = 0; i < 2; i++) {
        want[i] = doubles(c, N);
        bound[i] = doubles(c, N);
        numeric_gradient(want[i], bound[i], q.x[i], N, step, noise, loss_of, &q);
    }
    if (!by_rule(&q, what, got)) return;
    claim_trait(c, "weighed", weights);
    snprintf(c->bound, sizeof c->bound,
             "what central differences with a step of %g cost: rounding of forward in " TL_REAL_NAME
             ", and what another step gives",
             step);
    bool again = true;
    for (int i = 0; i < 2; i++) {
        expect_close(c, name[i], got[i], want[i], bound[i], shape);
        again = again && memcmp(first[i], got[i], N * sizeof *got[i]) == 0;
    }
    if (c->case_failed && !again) finding_pattern_of_case(c, "other_again");
}

CLAIM(lab4_own, its_gradients_match_differences) {
    FOR_TARGETS (t)
        for (int weights = 0; weights < 2; weights++) expect_gradients(c, t, weights);
}

/* The second difference of a straight line is nothing but rounding, whatever the step. */
CLAIM(lab4_own, its_value_bends) {
    static const double step = 0x1p-3;
    FOR_TARGETS (t) {
        asked q = draw_asked(c, t);
        double noise = rounding_of(&q), middle = weighed(&q, NULL), most = 0;
        for (int k = 0; k < 2 * N; k++) {
            double *x = &q.x[k / N][k % N], x0 = *x, sum = -2 * middle;
            for (int side = -1; side <= 1; side += 2) {
                *x = (tl_real)(x0 + side * step);
                sum += weighed(&q, NULL);
            }
            *x = x0;
            most = fmax(most, fabs(sum));
        }
        expect_true(c, most > 4 * noise,
                    "y is a straight line in each element of a and of b: moved by %g to either "
                    "side, no element bends y by more than rounding",
                    step);
    }
}

/* Exact but for the order of a few sums. */
static void expect_nearly(claim *c, const char *what, const tl_real *got, const double *want) {
    double largest = 1, *bound = doubles(c, N);
    for (int i = 0; i < N; i++) largest = fmax(largest, fabs(want[i]));
    for (int i = 0; i < N; i++) bound[i] = 64 * TL_REAL_ROUNDOFF * largest;
    snprintf(c->bound, sizeof c->bound, "a few roundings of the largest element");
    expect_close(c, what, got, want, bound, shape);
}

/* One leaf wants no gradient: it has none afterwards, and the other's is what it was. */
static void expect_one_frozen(const asked *q, tl_real *const single[2], int frozen) {
    graph g = graph_new(q->c, 20, 4 * N);
    int leaf[2], other = 1 - frozen;
    add_leaves(&g, q, frozen, leaf);
    DO(&g, GRAPH_BACKWARD, weigh_own(&g, q, leaf[0], leaf[1]));
    graph_read(&g, GRAPH_READ_FLAGS, leaf[frozen]);
    graph_read(&g, GRAPH_READ_GRAD, leaf[other]);
    call_report r;
    graph_run(&g, q->t, &r, frozen ? "tl_own, b wants no gradient" : "tl_own, a wants no gradient");
    expect_ok(q->c, &r);
    const double none[3] = {0, 0, 0};
    expect_equal(q->c, "frozen input: has gradient, needs one, has node",
                 graph_result(&g, leaf[frozen]), none, SHAPE(3));
    expect_nearly(q->c, "gradient of the other input", graph_result(&g, leaf[other]),
                  widen(q->c, single[other], N));
}

/* Twice through one node: the second pass adds what the first one did. */
static void expect_two_passes(const asked *q, tl_real *const single[2]) {
    graph g = graph_new(q->c, 20, 4 * N);
    int leaf[2];
    add_leaves(&g, q, -1, leaf);
    int loss = weigh_own(&g, q, leaf[0], leaf[1]);
    int y = loss - 3; /* weights, product and sum follow it */
    for (int i = 0; i < 2; i++) DO(&g, GRAPH_BACKWARD, loss);
    for (int i = 0; i < 2; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    graph_read(&g, GRAPH_READ_GRAD, y);
    call_report r;
    call_target failing = steps_failing(q->t);
    graph_run(&g, &failing, &r, "tl_own(a, b), backward twice");
    expect_ok(q->c, &r);
    for (int i = 0; i < 2; i++) {
        double *want = widen(q->c, single[i], N);
        for (int k = 0; k < N; k++) want[k] *= 2;
        expect_nearly(q->c, name[i], graph_result(&g, leaf[i]), want);
    }
    expect_equal(q->c, "gradient of the result", graph_result(&g, y), q->weight, shape);
}

/* tl_own(a, b) and tl_own(b, a) on one tape, then one backward: both send their parts, each from
 * what its own forward left. */
CLAIM(lab4_own, it_adds_and_skips_inputs_that_need_none) {
    FOR_TARGETS (t) {
        asked q = draw_asked(c, t), swapped = q;
        for (int i = 0; i < N; i++) swapped.x[0][i] = q.x[1][i], swapped.x[1][i] = q.x[0][i];
        tl_real *single[2], *other[2];
        if (!by_rule(&q, "tl_own(a, b) alone", single)) continue;
        if (!by_rule(&swapped, "tl_own(b, a) alone", other)) continue;
        graph g = graph_new(c, 30, 6 * N);
        int leaf[2];
        add_leaves(&g, &q, -1, leaf);
        int first = weigh_own(&g, &q, leaf[0], leaf[1]);
        int second = weigh_own(&g, &q, leaf[1], leaf[0]);
        DO(&g, GRAPH_BACKWARD, GRAPH(&g, SHAPE(1), GRAPH_ADD, first, second));
        for (int i = 0; i < 2; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
        call_report r;
        graph_run(&g, t, &r, "tl_own(a, b) + tl_own(b, a)");
        expect_ok(c, &r);
        for (int i = 0; i < 2; i++) {
            double *want = doubles(c, N);
            for (int k = 0; k < N; k++) want[k] = (double)single[i][k] + (double)other[1 - i][k];
            expect_nearly(c, name[i], graph_result(&g, leaf[i]), want);
        }
        expect_two_passes(&q, single);
        for (int frozen = 0; frozen < 2; frozen++) expect_one_frozen(&q, single, frozen);
        g = graph_new(c, 20, 4 * N);
        DO(&g, GRAPH_RECORDING, 0);
        add_leaves(&g, &q, -1, leaf);
        int y = GRAPH(&g, shape, GRAPH_OWN, leaf[0], leaf[1]);
        expect_unrecorded(c, &g, t, y, "tl_own, recording is off");
    }
}
