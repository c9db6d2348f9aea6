/* ops_regularise_test.c: dropout and batch norm as operations of the tape.
 *
 * They round, so the tape must give, bit for bit, what the operation gives on its own. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/graph_rule.h"

#include <stdio.h>

/* x is used twice: what its other use has sent is there when dropout's rule comes. (p = 1/2: with a
 * factor of 2 the sum has the same bits, in whatever order its two parts come.) */
static void expect_dropout_adds(claim *c, const call_target *t) {
    enum { N = 100 };
    const tl_dropout_geom d = {.n = N, .p = 0.5, .layer = 1};
    const tl_step step = {.seed = 77, .index = 5};
    tl_real *x = draw_reals(c, N), *dy = draw_reals(c, N), *other = draw_reals(c, N);
    tl_real *dx = copy_reals(c, other, N);
    call_report r;
    call_dropout_bwd(t, &r, dx, dy, &step, &d);
    expect_ok(c, &r);
    graph g = graph_new(c, 20, 500);
    DO(&g, GRAPH_STEP, 77, 5);
    int leaf = graph_parameter_of(&g, SHAPE(10, 10), x);
    int out = GRAPH(&g, SHAPE(10, 10), GRAPH_DROPOUT, leaf, 1, 2, 1);
    int weights = graph_input_of(&g, SHAPE(10, 10), dy, false);
    int others = graph_input_of(&g, SHAPE(10, 10), other, false);
    int dropped = GRAPH(&g, SHAPE(10, 10), GRAPH_MUL, out, weights);
    int kept = GRAPH(&g, SHAPE(10, 10), GRAPH_MUL, leaf, others);
    DO(&g, GRAPH_BACKWARD, graph_sum(&g, GRAPH(&g, SHAPE(10, 10), GRAPH_ADD, dropped, kept)));
    graph_read(&g, GRAPH_READ_GRAD, leaf);
    call_target failing = steps_failing(t);
    graph_run(&g, &failing, &r, "dropout 1/2 of x, which is used once more");
    expect_ok(c, &r);
    expect_same_bits(c, "gradient of two uses", graph_result(&g, leaf), dx, SHAPE(10, 10));
}

CLAIM(lab4_ops_regularise, dropout_passes_its_own_gradient) {
    FOR_TARGETS (t) {
        enum { N = 100 };
        const tl_dropout_geom d = {.n = N, .p = 0.25, .layer = 1};
        const tl_step step = {.seed = 77, .index = 5};
        tl_real *x = draw_reals(c, N), *dy = draw_reals(c, N), y[N], dx[N] = {0};
        call_report r;
        call_dropout_fwd(t, &r, y, x, &step, &d);
        expect_ok(c, &r);
        call_dropout_bwd(t, &r, dx, dy, &step, &d);
        expect_ok(c, &r);
        graph g = graph_new(c, 20, 300);
        DO(&g, GRAPH_STEP, 77, 5);
        int leaf = graph_parameter_of(&g, SHAPE(10, 10), x);
        int out = GRAPH(&g, SHAPE(10, 10), GRAPH_DROPOUT, leaf, 1, 4, 1);
        int weights = graph_input_of(&g, SHAPE(10, 10), dy, false);
        DO(&g, GRAPH_BACKWARD, graph_sum(&g, GRAPH(&g, SHAPE(10, 10), GRAPH_MUL, out, weights)));
        graph_read(&g, GRAPH_READ_VALUE, out);
        graph_read(&g, GRAPH_READ_GRAD, leaf);
        graph_run(&g, t, &r, "dropout 1/4, layer 1, step 5");
        expect_ok(c, &r);
        expect_same_bits(c, "value", graph_result(&g, out), y, SHAPE(10, 10));
        expect_same_bits(c, "gradient", graph_result(&g, leaf), dx, SHAPE(10, 10));
        g = graph_new(c, 20, 300);
        DO(&g, GRAPH_RECORDING, 0);
        leaf = graph_parameter_of(&g, SHAPE(10, 10), x);
        out = GRAPH(&g, SHAPE(10, 10), GRAPH_DROPOUT, leaf, 1, 4, 1);
        expect_unrecorded(c, &g, t, out, "dropout 1/4, recording is off");
        expect_dropout_adds(c, t);
    }
}

enum { EVALUATION = 0, X = 1, GAMMA = 2, BETA = 4, ALL = X | GAMMA | BETA };

static void say_wants(char what[80], int wants) {
    if (wants == EVALUATION || wants == ALL)
        snprintf(what, 80, "batchnorm in %s", wants ? "training" : "evaluation");
    else
        snprintf(what, 80, "batchnorm in training, a gradient for%s%s%s alone",
                 wants & X ? " x" : "", wants & GAMMA ? " gamma" : "", wants & BETA ? " beta" : "");
}

/* A leaf of a training that does or does not want a gradient. */
static int add_leaf(graph *g, expect_shape shape, const tl_real *values, bool wants) {
    return wants ? graph_parameter_of(g, shape, values) : graph_input_of(g, shape, values, false);
}

/* In training, where the inputs in `wants` want a gradient, or in evaluation. */
static void expect_batchnorm(claim *c, const call_target *t, expect_shape shape, int n, int hw,
                             int wants) {
    const bool training = wants != EVALUATION;
    const tl_batchnorm_geom b = {.n = n, .c = 3, .hw = hw, .eps = 1.0 / 1000, .momentum = 0.25};
    size_t size = (size_t)(n * 3 * hw);
    tl_real *x = draw_reals(c, size), *gamma = draw_between(c, 3, 0.5, 2), *beta = draw_reals(c, 3);
    tl_real *mean0 = draw_reals(c, 3), *var0 = draw_between(c, 3, 0.5, 2),
            *dy = draw_reals(c, size);
    tl_real *rm = copy_reals(c, mean0, 3), *rv = copy_reals(c, var0, 3), *y = reals(c, size);
    tl_real mean[3], inv_std[3], *dx = reals(c, size), dgamma[3] = {0}, dbeta[3] = {0};
    call_report r;
    if (training) {
        call_batchnorm_fwd(t, &r, y, mean, inv_std, rm, rv, x, gamma, beta, &b);
        expect_ok(c, &r);
        call_batchnorm_bwd(t, &r, dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, &b);
    } else {
        call_batchnorm_eval(t, &r, y, x, gamma, beta, mean0, var0, &b);
    }
    expect_ok(c, &r);
    graph g = graph_new(c, 30, 1000);
    if (!training) DO(&g, GRAPH_RECORDING, 0);
    int lx = add_leaf(&g, shape, x, !training || wants & X);
    int lg = add_leaf(&g, SHAPE(3), gamma, !training || wants & GAMMA);
    int lb = add_leaf(&g, SHAPE(3), beta, !training || wants & BETA);
    int bm = graph_buffer_of(&g, SHAPE(3), mean0), bv = graph_buffer_of(&g, SHAPE(3), var0);
    int w = graph_input_of(&g, shape, dy, false);
    int out = GRAPH(&g, shape, GRAPH_BATCHNORM, lx, lg, lb, bm, bv, 1, 1000, 1, 4, training);
    int loss = graph_sum(&g, GRAPH(&g, shape, GRAPH_MUL, out, w));
    if (training) DO(&g, GRAPH_BACKWARD, loss);
    int leaf[] = {out, bm, bv, lx, lg, lb}; /* forward first: where it is wrong, so is the rule */
    const tl_real *want[] = {y, rm, rv, dx, dgamma, dbeta};
    static const char *const name[] = {"y",  "running mean", "running variance",
                                       "dx", "dgamma",       "dbeta"};
    for (int i = 0; i < 6; i++) graph_read(&g, i < 3 ? GRAPH_READ_VALUE : GRAPH_READ_GRAD, leaf[i]);
    char what[80];
    say_wants(what, wants);
    call_target failing = steps_failing(t);
    graph_run(&g, &failing, &r, what);
    expect_ok(c, &r);
    for (int i = 0; i < 6; i++) /* the rule may leave what nobody wants, too */
        if (i < 3 || !training || wants >> (i - 3) & 1)
            expect_same_bits(c, name[i], graph_result(&g, leaf[i]), want[i],
                             graph_shape(&g, leaf[i]));
}

/* In training mode, for statistics alone. */
static void expect_batchnorm_unrecorded(claim *c, const call_target *t) {
    tl_real *x = draw_reals(c, 21), *of_channels = draw_between(c, 3, 0.5, 2);
    graph g = graph_new(c, 30, 100);
    DO(&g, GRAPH_RECORDING, 0);
    int lx = graph_parameter_of(&g, SHAPE(7, 3), x);
    int lg = graph_parameter_of(&g, SHAPE(3), of_channels);
    int lb = graph_parameter_of(&g, SHAPE(3), of_channels);
    int bm = graph_buffer_of(&g, SHAPE(3), of_channels);
    int bv = graph_buffer_of(&g, SHAPE(3), of_channels);
    int out = GRAPH(&g, SHAPE(7, 3), GRAPH_BATCHNORM, lx, lg, lb, bm, bv, 1, 1000, 1, 4, 1);
    expect_unrecorded(c, &g, t, out, "batchnorm in training, recording is off");
}

/* In evaluation, where no rule could pass on what the loss sends. */
static void expect_evaluation_refused(claim *c, const call_target *t) {
    tl_real *x = draw_reals(c, 21), *of_channels = draw_between(c, 3, 0.5, 2);
    call_report r;
    graph g = graph_new(c, 30, 100);
    int lx = graph_input_of(&g, SHAPE(7, 3), x, false);
    int lg = graph_parameter_of(&g, SHAPE(3), of_channels);
    int lb = graph_parameter_of(&g, SHAPE(3), of_channels);
    int bm = graph_buffer_of(&g, SHAPE(3), of_channels);
    int bv = graph_buffer_of(&g, SHAPE(3), of_channels);
    GRAPH(&g, SHAPE(7, 3), GRAPH_BATCHNORM, lx, lg, lb, bm, bv, 1, 1000, 1, 4, 0);
    graph_run(&g, t, &r, "batchnorm in evaluation, recording is on");
    expect_status(c, &r, TL_EINVAL);
}

CLAIM(lab4_ops_regularise, batchnorm_passes_its_own_gradients) {
    FOR_TARGETS (t) {
        expect_batchnorm_unrecorded(c, t);
        expect_batchnorm(c, t, SHAPE(4, 3, 2, 3), 4, 6, ALL);
        expect_batchnorm(c, t, SHAPE(7, 3), 7, 1, ALL);
        expect_batchnorm(c, t, SHAPE(4, 3, 2, 3), 4, 6, EVALUATION);
        /* first as behind the pixels of a net */
        for (int wants = ALL - 1; wants > 0; wants--)
            expect_batchnorm(c, t, SHAPE(7, 3), 7, 1, wants);
        expect_evaluation_refused(c, t);
    }
}
