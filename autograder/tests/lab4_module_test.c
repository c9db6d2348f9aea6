/* lab4_module_test.c: modules, their parameters, and whole nets. */
#include "graph_build.h"

#include <string.h>

/* Whole numbers of which none is even, or all are: an odd bias on even weights keeps every
 * pre-activation away from ReLU's kink. */
static tl_real *draw_parity(claim *c, size_t n, int range, int odd) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)(2 * draw_int(c, -range, range) + odd);
    return x;
}

/* maxpool 3,2 -> conv 2 to 3 -> ReLU -> flatten -> linear 18 to 4 -> ReLU -> linear 4 to 3 */
typedef struct small_net {
    tl_real *x, *w[3], *b[3];
} small_net;

static const expect_shape in_shape = {4, {2, 2, 7, 6}}, pooled = {4, {2, 2, 3, 3}};
static const expect_shape conv_shape = {4, {2, 3, 3, 2}}, flat = {2, {2, 18}}, mid = {2, {2, 4}};
static const expect_shape out_shape = {2, {2, 3}};
static const expect_shape w_shape[3] = {{4, {3, 2, 3, 2}}, {2, {4, 18}}, {2, {3, 4}}};
static const expect_shape b_shape[3] = {{1, {3}}, {1, {4}}, {1, {3}}};

static small_net draw_net(claim *c) {
    small_net n = {.x = draw_distinct(c, 2 * 2 * 7 * 6, 2)};
    static const size_t ws[] = {36, 72, 12}, bs[] = {3, 4, 3};
    for (int i = 0; i < 3; i++) {
        n.w[i] = draw_parity(c, ws[i], 1, 0);
        n.b[i] = draw_parity(c, bs[i], 3, 1);
    }
    return n;
}

/* The net as single operations: what the definition is computed from. Leaves in the order x, w0,
 * b0, … */
static graph by_operations(claim *c, const small_net *n, int leaf[7], int *y, int *loss,
                           const tl_real *weights) {
    graph g = graph_new(c, 60, 1000);
    leaf[0] = graph_input_of(&g, in_shape, n->x, true);
    for (int i = 0; i < 3; i++) {
        leaf[1 + 2 * i] = graph_parameter_of(&g, w_shape[i], n->w[i]);
        leaf[2 + 2 * i] = graph_parameter_of(&g, b_shape[i], n->b[i]);
    }
    int v = GRAPH(&g, pooled, GRAPH_MAXPOOL2D, leaf[0], 3, 2, 2, 2, 0, 0);
    v = GRAPH(&g, conv_shape, GRAPH_CONV2D, v, leaf[1], leaf[2], 1, 1, 1, 0, 1, 1);
    v = GRAPH(&g, conv_shape, GRAPH_RELU, v);
    v = GRAPH(&g, flat, GRAPH_RESHAPE, v, 2, 2, 18, 1, 1);
    v = GRAPH(&g, mid, GRAPH_LINEAR, v, leaf[3], leaf[4]);
    v = GRAPH(&g, mid, GRAPH_RELU, v);
    *y = GRAPH(&g, out_shape, GRAPH_LINEAR, v, leaf[5], leaf[6]);
    int by = graph_input_of(&g, out_shape, weights, false);
    *loss = graph_sum(&g, GRAPH(&g, out_shape, GRAPH_MUL, *y, by));
    return g;
}

static graph by_modules(claim *c, const small_net *n, int leaf[7], int *y, const tl_real *weights) {
    graph g = graph_new(c, 60, 1000);
    DO(&g, GRAPH_NET_SEED, 1);
    DO(&g, GRAPH_NET_MAXPOOL2D, 3, 2, 2, 2, 0, 0);
    DO(&g, GRAPH_NET_CONV2D, 2, 3, 3, 2, 1, 1, 1, 0, 1, 1);
    graph_emit(&g, NULL, GRAPH_NET_RELU, 0, NULL);
    graph_emit(&g, NULL, GRAPH_NET_FLATTEN, 0, NULL);
    DO(&g, GRAPH_NET_LINEAR, 18, 4);
    graph_emit(&g, NULL, GRAPH_NET_RELU, 0, NULL);
    DO(&g, GRAPH_NET_LINEAR, 4, 3);
    leaf[0] = graph_input_of(&g, in_shape, n->x, true);
    for (int i = 0; i < 3; i++) {
        leaf[1 + 2 * i] = graph_net_parameter(&g, 2 * i, w_shape[i], n->w[i]);
        leaf[2 + 2 * i] = graph_net_parameter(&g, 2 * i + 1, b_shape[i], n->b[i]);
    }
    *y = GRAPH(&g, out_shape, GRAPH_NET_FORWARD, leaf[0], 1);
    int by = graph_input_of(&g, out_shape, weights, false);
    DO(&g, GRAPH_BACKWARD, graph_sum(&g, GRAPH(&g, out_shape, GRAPH_MUL, *y, by)));
    graph_read(&g, GRAPH_READ_VALUE, *y);
    for (int i = 0; i < 7; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    return g;
}

/* Draws a net until all its gradients are certain, and returns it by operations with `grad` filled.
 */
static graph draw_certain(claim *c, small_net *n, tl_real **weights, int *y, double *grad[7]) {
    for (int tries = 0; tries < 20; tries++) {
        int leaf[7], loss;
        bool certain = true;
        *n = draw_net(c);
        *weights = draw_parity(c, 6, 1, 1);
        graph g = by_operations(c, n, leaf, y, &loss, *weights);
        for (int k = 0; k < 7 && certain; k++) {
            grad[k] = doubles(c, g.variable[leaf[k]].size);
            certain = graph_gradient(&g, grad[k], loss, leaf[k]);
        }
        graph_evaluate(&g);
        if (certain) return g;
    }
    claim_fail(c, "the test's own numbers do not allow one right answer");
}

/* Every parameter and every pixel of a whole net, exactly. */
CLAIM(lab4_module, a_net_gives_values_and_gradients_of_its_layers) {
    static const char *const name[] = {"dx",        "conv dw",        "conv db",       "linear dw",
                                       "linear db", "last linear dw", "last linear db"};
    FOR_TARGETS (t)
        for (int i = 0; i < 3; i++) {
            small_net n;
            tl_real *weights;
            double *grad[7];
            int leaf[7], y, net_y;
            graph want = draw_certain(c, &n, &weights, &y, grad);
            graph net = by_modules(c, &n, leaf, &net_y, weights);
            call_report r;
            graph_run(&net, t, &r, "maxpool, conv, ReLU, flatten, linear, ReLU, linear");
            expect_ok(c, &r);
            expect_equal(c, "output", graph_result(&net, net_y), want.variable[y].value, out_shape);
            for (int k = 0; k < 7; k++)
                expect_equal(c, name[k], graph_result(&net, leaf[k]), grad[k],
                             graph_shape(&net, leaf[k]));
        }
}

CLAIM(lab4_module, parameters_and_buffers_come_in_order_of_construction) {
    FOR_TARGETS (t) {
        graph g = graph_new(c, 40, 100);
        DO(&g, GRAPH_NET_CONV2D, 1, 2, 3, 3, 1, 1, 0, 0, 1, 1);
        DO(&g, GRAPH_NET_BATCHNORM2D, 2);
        graph_emit(&g, NULL, GRAPH_NET_RELU, 0, NULL);
        DO(&g, GRAPH_NET_DROPOUT, 1, 2, 0);
        DO(&g, GRAPH_NET_LINEAR, 5, 3);
        graph_emit(&g, NULL, GRAPH_NET_COUNT, 0, NULL);
        g.out_count = 2;
        static const expect_shape shape[] = {{4, {2, 1, 3, 3}}, {1, {2}}, {1, {2}},    {1, {2}},
                                             {1, {2}},          {1, {2}}, {2, {3, 5}}, {1, {3}}};
        int v[8];
        for (int i = 0; i < 8; i++) {
            v[i] = GRAPH(&g, shape[i], GRAPH_NET_PARAMETER, i, 0);
            graph_read(&g, GRAPH_READ_VALUE, v[i]);
        }
        call_report r;
        graph_run(&g, t, &r, "conv, batchnorm, ReLU, dropout, linear");
        expect_ok(c, &r); /* a wrong shape gives too few or too many numbers, which is an error */
        const double counts[] = {8, 6}, zero[3] = {0}, one[3] = {1, 1, 1};
        expect_equal(c, "parameters and buffers, parameters", g.out, counts, SHAPE(2));
        expect_equal(c, "conv bias", graph_result(&g, v[1]), zero, SHAPE(2));
        expect_equal(c, "gamma", graph_result(&g, v[2]), one, SHAPE(2));
        expect_equal(c, "beta", graph_result(&g, v[3]), zero, SHAPE(2));
        expect_equal(c, "running mean", graph_result(&g, v[4]), zero, SHAPE(2));
        expect_equal(c, "running variance", graph_result(&g, v[5]), one, SHAPE(2));
        expect_equal(c, "linear bias", graph_result(&g, v[7]), zero, SHAPE(3));
    }
}

/* Dropout and batch norm know training from evaluation. */
CLAIM(lab4_module, evaluation_drops_nothing_and_leaves_statistics) {
    FOR_TARGETS (t)
        for (int training = 0; training < 2; training++) {
            expect_shape s = SHAPE(3, 2, 2, 2), channels = SHAPE(2);
            graph g = graph_new(c, 40, 100);
            DO(&g, GRAPH_STEP, 5, 1);
            DO(&g, GRAPH_NET_DROPOUT, 1, 2, 0);
            int x = graph_input(&g, s, 9, false), y = GRAPH(&g, s, GRAPH_NET_FORWARD, x, training);
            graph_read(&g, GRAPH_READ_VALUE, y);
            call_report r;
            graph_run(&g, t, &r, training ? "dropout in training" : "dropout in evaluation");
            expect_ok(c, &r);
            graph_variable *in = &g.variable[x];
            int same = 0;
            for (size_t i = 0; i < in->size; i++) same += graph_result(&g, y)[i] == in->leaf[i];
            expect_true(c, training ? same < 24 : same == 24,
                        "%d of 24 elements came through unchanged", same);
            g = graph_new(c, 40, 100);
            DO(&g, GRAPH_RECORDING, training); /* evaluation has no backward rule */
            DO(&g, GRAPH_NET_BATCHNORM2D, 2);
            x = graph_input(&g, s, 9, false);
            y = GRAPH(&g, s, GRAPH_NET_FORWARD, x, training);
            int mean = GRAPH(&g, channels, GRAPH_NET_PARAMETER, 2, 0);
            graph_read(&g, GRAPH_READ_VALUE, mean);
            graph_read(&g, GRAPH_READ_VALUE, y);
            graph_run(&g, t, &r, training ? "batchnorm in training" : "batchnorm in evaluation");
            expect_ok(c, &r);
            bool moved = graph_result(&g, mean)[0] != 0 || graph_result(&g, mean)[1] != 0;
            expect_true(c, moved == training, "running means are %g and %g",
                        (double)graph_result(&g, mean)[0], (double)graph_result(&g, mean)[1]);
        }
}

/* Reads the weights of conv 3 to 8 (216) and linear 40 to 20 (800), made with a seed. */
static tl_real *initial_weights(claim *c, const call_target *t, int seed) {
    graph g = graph_new(c, 40, 10);
    DO(&g, GRAPH_NET_SEED, seed);
    DO(&g, GRAPH_NET_CONV2D, 3, 8, 3, 3, 1, 1, 1, 1, 1, 1);
    DO(&g, GRAPH_NET_LINEAR, 40, 20);
    int w = GRAPH(&g, SHAPE(8, 3, 3, 3), GRAPH_NET_PARAMETER, 0, 0);
    int v = GRAPH(&g, SHAPE(20, 40), GRAPH_NET_PARAMETER, 2, 0);
    graph_read(&g, GRAPH_READ_VALUE, w);
    graph_read(&g, GRAPH_READ_VALUE, v);
    call_report r;
    graph_run(&g, t, &r, "initial weights of conv 3 to 8 and linear 40 to 20");
    expect_ok(c, &r);
    return g.out;
}

/* Variance 2 / fan_in within six standard deviations of a sample variance; equal seeds agree. */
CLAIM(lab4_module, initial_weights_are_he_normal_and_follow_the_seed) {
    static const size_t from[] = {0, 216}, count[] = {216, 800};
    static const double fan_in[] = {27, 40};
    FOR_TARGETS (t) {
        int seed = draw_int(c, 1, 1000000);
        tl_real *w = initial_weights(c, t, seed), *again = initial_weights(c, t, seed);
        tl_real *other = initial_weights(c, t, seed + 1);
        expect_same_bits(c, "weights of equal seeds", again, w, SHAPE(1016));
        int equal = 0, repeated = 0;
        for (int i = 0; i < 1016; i++) equal += w[i] == other[i];
        for (int i = 0; i < 216; i++) repeated += w[i] * tl_sqrt(27) == w[216 + i] * tl_sqrt(40);
        expect_true(c, equal < 3, "%d of 1016 weights are the same under another seed", equal);
        expect_true(c, repeated < 3, "%d weights of the second layer repeat the first", repeated);
        for (int k = 0; k < 2; k++) {
            double square = 0, n = (double)count[k];
            for (size_t i = 0; i < count[k]; i++)
                square += (double)w[from[k] + i] * (double)w[from[k] + i] / n;
            expect_chance(c, k ? "variance of linear" : "variance of conv", square, 2 / fan_in[k],
                          2 / fan_in[k] * 6 * sqrt(2 / n));
        }
    }
}
