/* lab4_ops_test.c: the backward rule of each differentiable operation, and the shapes they refuse.
 */
#include "graph_build.h"

#include <string.h>

enum { MAX_LEAVES = 3 };

/* A program around one operation: whole-numbered leaves, the operation, a weighted sum. */
typedef struct op_case {
    const char *name;
    int code, leaves, attributes;
    expect_shape leaf[MAX_LEAVES], result;
    int64_t attribute[8];
} op_case;

#define SHAPE_OF(...)                                                                              \
    {                                                                                              \
        (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), { __VA_ARGS__ }                         \
    }
static const op_case cases[] = {
    {"add", GRAPH_ADD, 2, 0, {SHAPE_OF(3, 4), SHAPE_OF(3, 4)}, SHAPE_OF(3, 4), {0}},
    {"mul", GRAPH_MUL, 2, 0, {SHAPE_OF(2, 3, 2), SHAPE_OF(2, 3, 2)}, SHAPE_OF(2, 3, 2), {0}},
    {"scale", GRAPH_SCALE, 1, 2, {SHAPE_OF(7)}, SHAPE_OF(7), {-5, 1}},
    {"sum", GRAPH_SUM, 1, 0, {SHAPE_OF(3, 5)}, SHAPE_OF(1), {0}},
    {"matmul", GRAPH_MATMUL, 2, 0, {SHAPE_OF(3, 4), SHAPE_OF(4, 2)}, SHAPE_OF(3, 2), {0}},
    {"reshape", GRAPH_RESHAPE, 1, 5, {SHAPE_OF(2, 6)}, SHAPE_OF(3, 2, 2), {3, 3, 2, 2, 1}},
    {"linear",
     GRAPH_LINEAR,
     3,
     0,
     {SHAPE_OF(3, 4), SHAPE_OF(2, 4), SHAPE_OF(2)},
     SHAPE_OF(3, 2),
     {0}},
    {"linear without bias",
     GRAPH_LINEAR,
     2,
     1,
     {SHAPE_OF(3, 4), SHAPE_OF(2, 4)},
     SHAPE_OF(3, 2),
     {-1}},
    {"conv2d",
     GRAPH_CONV2D,
     3,
     6,
     {SHAPE_OF(2, 2, 5, 4), SHAPE_OF(3, 2, 3, 2), SHAPE_OF(3)},
     SHAPE_OF(2, 3, 3, 3),
     {2, 1, 1, 0, 1, 1}},
    {"dilated conv2d without bias",
     GRAPH_CONV2D,
     2,
     7,
     {SHAPE_OF(1, 2, 6, 5), SHAPE_OF(2, 2, 2, 2)},
     SHAPE_OF(1, 2, 4, 2),
     {-1, 1, 2, 0, 1, 2, 3}},
};

static graph op_graph(claim *c, const op_case *o, int leaf[MAX_LEAVES], int *loss) {
    graph g = graph_new(c, 40, 600);
    int64_t operand[12];
    int operands = 0;
    for (int i = 0; i < o->leaves; i++) {
        leaf[i] = graph_parameter(&g, o->leaf[i], 3);
        operand[operands++] = leaf[i];
    }
    for (int i = 0; i < o->attributes; i++) operand[operands++] = o->attribute[i];
    int y = graph_emit(&g, &o->result, o->code, operands, operand);
    *loss = graph_weigh(&g, y, 3);
    DO(&g, GRAPH_BACKWARD, *loss);
    graph_read(&g, GRAPH_READ_VALUE, y);
    for (int i = 0; i < o->leaves; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    return g;
}

CLAIM(lab4_ops, every_rule_matches_numeric) {
    FOR_TARGETS (t)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const op_case *o = &cases[k];
            int leaf[MAX_LEAVES], loss;
            graph g = op_graph(c, o, leaf, &loss);
            call_report r;
            graph_run(&g, t, &r, o->name);
            expect_ok(c, &r);
            graph_evaluate(&g);
            int y = leaf[o->leaves - 1] + 1;
            expect_equal(c, "value", graph_result(&g, y), g.variable[y].value, o->result);
            for (int i = 0; i < o->leaves; i++) {
                double *want = doubles(c, g.variable[leaf[i]].size);
                if (!graph_gradient(&g, want, loss, leaf[i])) claim_fail(c, "no one right answer");
                expect_equal(c,
                             i == 0 ? "gradient of the first input" : "gradient of a later input",
                             graph_result(&g, leaf[i]), want, o->leaf[i]);
            }
        }
}

/* An input that needs no gradient must be skipped, not written to: each one in turn. */
CLAIM(lab4_ops, every_rule_skips_inputs_that_need_no_gradient) {
    FOR_TARGETS (t)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            for (int frozen = 0; frozen < cases[k].leaves; frozen++) {
                const op_case *o = &cases[k];
                if (o->leaves == 1) continue;
                graph g = graph_new(c, 40, 600);
                int64_t operand[12];
                int leaf[MAX_LEAVES], operands = 0;
                for (int i = 0; i < o->leaves; i++) {
                    leaf[i] = i == frozen ? graph_input(&g, o->leaf[i], 3, false)
                                          : graph_parameter(&g, o->leaf[i], 3);
                    operand[operands++] = leaf[i];
                }
                for (int i = 0; i < o->attributes; i++) operand[operands++] = o->attribute[i];
                int loss =
                    graph_weigh(&g, graph_emit(&g, &o->result, o->code, operands, operand), 3);
                DO(&g, GRAPH_BACKWARD, loss);
                for (int i = 0; i < o->leaves; i++)
                    graph_read(&g, i == frozen ? GRAPH_READ_FLAGS : GRAPH_READ_GRAD, leaf[i]);
                call_report r;
                graph_run(&g, t, &r, o->name);
                expect_ok(c, &r);
                for (int i = 0; i < o->leaves; i++) {
                    double *want = doubles(c, g.variable[leaf[i]].size), none[3] = {0, 0, 0};
                    if (i == frozen) {
                        expect_equal(c, "frozen input: has gradient, needs one, has node",
                                     graph_result(&g, leaf[i]), none, SHAPE(3));
                        continue;
                    }
                    if (!graph_gradient(&g, want, loss, leaf[i]))
                        claim_fail(c, "no one right answer");
                    expect_equal(c, "gradient of the other input", graph_result(&g, leaf[i]), want,
                                 o->leaf[i]);
                }
            }
}

/* Mean over 8 elements: eighths are exact. */
CLAIM(lab4_ops, mean_divides_once) {
    FOR_TARGETS (t) {
        graph g = graph_new(c, 20, 20);
        int x = graph_parameter(&g, SHAPE(2, 4), 9), y = GRAPH(&g, SHAPE(1), GRAPH_MEAN, x);
        int loss = GRAPH(&g, SHAPE(1), GRAPH_SCALE, y, 3, 1);
        DO(&g, GRAPH_BACKWARD, loss);
        graph_read(&g, GRAPH_READ_VALUE, y);
        graph_read(&g, GRAPH_READ_GRAD, x);
        call_report r;
        graph_run(&g, t, &r, "3 * mean(x)");
        expect_ok(c, &r);
        graph_evaluate(&g);
        double want[8];
        for (int i = 0; i < 8; i++) want[i] = 3.0 / 8;
        expect_equal(c, "value", graph_result(&g, y), g.variable[y].value, SHAPE(1));
        expect_equal(c, "gradient", graph_result(&g, x), want, SHAPE(2, 4));
    }
}

/* ReLU and pooling have kinks: their leaves are half-integers, all different. */
CLAIM(lab4_ops, relu_and_maxpool2d_match_numeric) {
    FOR_TARGETS (t) {
        expect_shape in = SHAPE(2, 2, 5, 4), out = SHAPE(2, 2, 3, 2);
        graph g = graph_new(c, 40, 600);
        int x = graph_parameter_of(&g, in, draw_distinct(c, 80, 1));
        int y = GRAPH(&g, in, GRAPH_RELU, x);
        int p = GRAPH(&g, out, GRAPH_MAXPOOL2D, x, 3, 2, 2, 2, 1, 0);
        int one = graph_weigh(&g, y, 3), other = graph_weigh(&g, p, 3);
        int loss = GRAPH(&g, SHAPE(1), GRAPH_ADD, one, other);
        DO(&g, GRAPH_BACKWARD, loss);
        graph_read(&g, GRAPH_READ_GRAD, x);
        double *want = doubles(c, 80);
        if (!graph_gradient(&g, want, loss, x)) claim_fail(c, "no one right answer");
        call_report r;
        graph_run(&g, t, &r, "relu(x) and maxpool2d(x), summed");
        expect_ok(c, &r);
        expect_equal(c, "gradient", graph_result(&g, x), want, in);
    }
}

/* Operations that round: the tape must give, bit for bit, what the operation gives on its own. The
 * loss is scaled by 2, so that a dloss taken for 1 shows. */
CLAIM(lab4_ops, softmax_passes_its_own_gradient) {
    FOR_TARGETS (t) {
        enum { ROWS = 5, CLASSES = 4, N = ROWS * CLASSES };
        tl_real *x = draw_between(c, N, -3, 3), loss, row_loss[ROWS], prob[N], dx[N] = {0}, two = 2;
        int32_t *label = draw_labels(c, ROWS, CLASSES);
        call_report r;
        call_softmax_xent_fwd(t, &r, &loss, row_loss, prob, x, label, ROWS, CLASSES);
        expect_ok(c, &r);
        call_softmax_xent_bwd(t, &r, dx, &two, prob, label, ROWS, CLASSES);
        expect_ok(c, &r);
        graph g = graph_new(c, 20, 40);
        memcpy(g.label, label, sizeof *label * ROWS);
        g.labels = ROWS;
        int leaf = graph_parameter_of(&g, SHAPE(ROWS, CLASSES), x);
        int y = GRAPH(&g, SHAPE(1), GRAPH_SOFTMAX, leaf);
        DO(&g, GRAPH_BACKWARD, GRAPH(&g, SHAPE(1), GRAPH_SCALE, y, 2, 1));
        graph_read(&g, GRAPH_READ_VALUE, y);
        graph_read(&g, GRAPH_READ_GRAD, leaf);
        graph_run(&g, t, &r, "2 * softmax cross-entropy");
        expect_ok(c, &r);
        expect_same_bits(c, "loss", graph_result(&g, y), &loss, SHAPE(1));
        expect_same_bits(c, "gradient", graph_result(&g, leaf), dx, SHAPE(ROWS, CLASSES));
    }
}

CLAIM(lab4_ops, dropout_passes_its_own_gradient) {
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
    }
}

static void expect_batchnorm(claim *c, const call_target *t, expect_shape shape, int n, int hw,
                             bool training) {
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
    int lx = graph_parameter_of(&g, shape, x), lg = graph_parameter_of(&g, SHAPE(3), gamma);
    int lb = graph_parameter_of(&g, SHAPE(3), beta), bm = graph_buffer_of(&g, SHAPE(3), mean0);
    int bv = graph_buffer_of(&g, SHAPE(3), var0), w = graph_input_of(&g, shape, dy, false);
    int out = GRAPH(&g, shape, GRAPH_BATCHNORM, lx, lg, lb, bm, bv, 1, 1000, 1, 4, training);
    int loss = graph_sum(&g, GRAPH(&g, shape, GRAPH_MUL, out, w));
    if (training) DO(&g, GRAPH_BACKWARD, loss);
    int leaf[] = {lx, lg, lb, bm, bv, out};
    const tl_real *want[] = {dx, dgamma, dbeta, rm, rv, y};
    static const char *const name[] = {"dx",           "dgamma",           "dbeta",
                                       "running mean", "running variance", "y"};
    for (int i = 0; i < 6; i++) graph_read(&g, i < 3 ? GRAPH_READ_GRAD : GRAPH_READ_VALUE, leaf[i]);
    graph_run(&g, t, &r, training ? "batchnorm in training" : "batchnorm in evaluation");
    expect_ok(c, &r);
    for (int i = 0; i < 6; i++)
        expect_same_bits(c, name[i], graph_result(&g, leaf[i]), want[i], graph_shape(&g, leaf[i]));
}

CLAIM(lab4_ops, batchnorm_passes_its_own_gradients) {
    FOR_TARGETS (t) {
        expect_batchnorm(c, t, SHAPE(4, 3, 2, 3), 4, 6, true);
        expect_batchnorm(c, t, SHAPE(7, 3), 7, 1, true);
        expect_batchnorm(c, t, SHAPE(4, 3, 2, 3), 4, 6, false);
    }
}

/* Which operation on which shapes; none of them fits. */
CLAIM(lab4_ops, shapes_that_do_not_fit_are_refused) {
    static const struct {
        const char *name;
        int code, leaves;
        expect_shape leaf[3];
        int attributes;
        int64_t attribute[7];
    } bad[] = {
        {"add", GRAPH_ADD, 2, {SHAPE_OF(2, 3), SHAPE_OF(3, 2)}, 0, {0}},
        {"mul", GRAPH_MUL, 2, {SHAPE_OF(6), SHAPE_OF(2, 3)}, 0, {0}},
        {"matmul", GRAPH_MATMUL, 2, {SHAPE_OF(2, 3), SHAPE_OF(2, 3)}, 0, {0}},
        {"matmul of a vector", GRAPH_MATMUL, 2, {SHAPE_OF(3), SHAPE_OF(3, 2)}, 0, {0}},
        {"reshape", GRAPH_RESHAPE, 1, {SHAPE_OF(2, 3)}, 5, {2, 2, 2, 1, 1}},
        {"linear", GRAPH_LINEAR, 2, {SHAPE_OF(2, 3), SHAPE_OF(4, 2)}, 1, {-1}},
        {"linear, bias", GRAPH_LINEAR, 3, {SHAPE_OF(2, 3), SHAPE_OF(4, 3), SHAPE_OF(3)}, 0, {0}},
        {"conv2d, channels",
         GRAPH_CONV2D,
         2,
         {SHAPE_OF(1, 2, 4, 4), SHAPE_OF(1, 3, 2, 2)},
         7,
         {-1, 1, 1, 0, 0, 1, 1}},
        {"conv2d, bias",
         GRAPH_CONV2D,
         3,
         {SHAPE_OF(1, 2, 4, 4), SHAPE_OF(3, 2, 2, 2), SHAPE_OF(2)},
         6,
         {1, 1, 0, 0, 1, 1}},
        {"conv2d of a matrix",
         GRAPH_CONV2D,
         2,
         {SHAPE_OF(4, 4), SHAPE_OF(1, 1, 2, 2)},
         7,
         {-1, 1, 1, 0, 0, 1, 1}},
        {"maxpool2d of a matrix", GRAPH_MAXPOOL2D, 1, {SHAPE_OF(4, 4)}, 6, {2, 2, 2, 2, 0, 0}},
    };
    FOR_TARGETS (t)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            graph g = graph_new(c, 10, 100);
            int64_t operand[12];
            int operands = 0;
            for (int i = 0; i < bad[k].leaves; i++)
                operand[operands++] = graph_parameter(&g, bad[k].leaf[i], 3);
            for (int i = 0; i < bad[k].attributes; i++) operand[operands++] = bad[k].attribute[i];
            graph_emit(&g, &SHAPE(1), bad[k].code, operands, operand);
            call_report r;
            graph_run(&g, t, &r, bad[k].name);
            expect_status(c, &r, TL_ESHAPE);
            /* "[2,3]", or for a bias the two lengths */
            bool named = strchr(r.error, '[') || strstr(r.error, "bias");
            expect_true(c, named, "the message names no shape: %s", r.error);
        }
}
