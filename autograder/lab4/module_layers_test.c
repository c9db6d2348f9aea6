/* module_layers_test.c: what each layer owns, and how it goes forward. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/small_net.h"
#include "cases.h"

/* Every parameter and every pixel of a whole net, exactly. */
CLAIM(lab4_module_layers, a_net_gives_values_and_gradients_of_its_layers) {
    FOR_TARGETS (t)
        for (int i = 0; i < 3; i++) {
            small_net n = small_net_draw(c);
            expect_small_net(c, t, &n, 1);
        }
}

/* And where a step fails while they are made, nothing stays. */
CLAIM(lab4_module_layers, biases_start_at_zero_and_gradients_too) {
    FOR_TARGETS (t) {
        graph g = graph_new(c, 30, 10);
        DO(&g, GRAPH_NET_CONV2D, 2, 3, 2, 2, 1, 1, 0, 0, 1, 1);
        DO(&g, GRAPH_NET_LINEAR, 4, 5);
        DO(&g, GRAPH_NET_BATCHNORM2D, 3); /* whose gamma starts at one, and its gradient at zero */
        static const expect_shape shape[] = {{4, {3, 2, 2, 2}, NULL}, {1, {3}, NULL},
                                             {2, {5, 4}, NULL},       {1, {5}, NULL},
                                             {1, {3}, NULL},          {1, {3}, NULL}};
        enum { PARAMETERS = sizeof shape / sizeof *shape };
        int v[PARAMETERS];
        for (int i = 0; i < PARAMETERS; i++) {
            v[i] = GRAPH(&g, shape[i], GRAPH_NET_PARAMETER, i, 0);
            if (i % 2) graph_read(&g, GRAPH_READ_VALUE, v[i]);
        }
        size_t gamma = g.out_count;
        graph_read(&g, GRAPH_READ_VALUE, v[4]);
        size_t grads = g.out_count, flags = 0;
        for (int i = 0; i < PARAMETERS; i++) {
            graph_read(&g, GRAPH_READ_GRAD, v[i]);
            g.variable[v[i]].read_at = grads; /* zeros, all of them: read as one array */
        }
        flags = g.out_count;
        graph_read(&g, GRAPH_READ_FLAGS, v[0]);
        size_t sizes = g.out_count;
        graph_read(&g, GRAPH_READ_SHAPE, v[0]);
        int mean = GRAPH(&g, SHAPE(3), GRAPH_NET_PARAMETER, PARAMETERS, 0);
        int variance = GRAPH(&g, SHAPE(3), GRAPH_NET_PARAMETER, PARAMETERS + 1, 0);
        graph_read(&g, GRAPH_READ_VALUE, mean);
        graph_read(&g, GRAPH_READ_VALUE, variance);
        call_report r;
        call_target failing = steps_failing(t);
        graph_run(&g, &failing, &r,
                  "conv 2 to 3, linear 4 to 5 and batch norm of 3, as they are made");
        expect_ok(c, &r);
        double *zero = doubles(c, flags);
        expect_equal(c, "biases", g.out, zero, SHAPE(11));
        expect_equal(c, "gradients", g.out + grads, zero, SHAPE((int)(flags - grads)));
        const double want[] = {1, 1, 0}, ones[] = {1, 1, 1}, sizes_of_v[] = {4, 3, 2, 2, 2};
        expect_equal(c, "gamma", g.out + gamma, ones, SHAPE(3));
        expect_equal(c, "a weight: has gradient, needs one, has node", g.out + flags, want,
                     SHAPE(3));
        expect_equal(c, "ndim, dim[4] of a weight's gradient", g.out + sizes, sizes_of_v, SHAPE(5));
        expect_equal(c, "running mean", graph_result(&g, mean), zero, SHAPE(3));
        expect_equal(c, "running variance", graph_result(&g, variance), ones, SHAPE(3));
    }
}

/* In training the module drops what the operation drops for its p and its layer. */
static void expect_dropped(claim *c, const call_target *t) {
    enum { N = 64 };
    const tl_dropout_geom d = {.n = N, .p = 0.25, .layer = 3};
    const tl_step step = {.seed = 77, .index = 5};
    call_report r;
    graph g = graph_new(c, 20, 100);
    DO(&g, GRAPH_STEP, 77, 5);
    DO(&g, GRAPH_NET_DROPOUT, 1, 4, 3);
    int x = graph_input(&g, SHAPE(8, 8), 9, false);
    int y = GRAPH(&g, SHAPE(8, 8), GRAPH_NET_FORWARD, x, 1);
    graph_read(&g, GRAPH_READ_VALUE, y);
    tl_real *want = reals(c, N), *values = copy_reals(c, g.in, N);
    call_dropout_fwd(t, &r, want, values, &step, &d);
    expect_ok(c, &r);
    graph_run(&g, t, &r, "dropout 1/4 of layer 3 in training");
    expect_ok(c, &r);
    expect_same_bits(c, "output of dropout", graph_result(&g, y), want, SHAPE(8, 8));
}

/* Dropout and batch norm know training from evaluation. */
CLAIM(lab4_module_layers, evaluation_drops_nothing_and_leaves_statistics) {
    FOR_TARGETS (t) {
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
        expect_dropped(c, t);
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

/* Variance 2 / fan_in within six standard deviations of a sample variance; equal seeds agree. Then
 * each by itself: the first tensor of weights draws from stream 0, the next one from 1. */
CLAIM(lab4_module_layers, initial_weights_are_he_normal_and_follow_the_seed) {
    static const size_t from[] = {0, 216}, count[] = {216, 800};
    static const double fan_in[] = {27, 40};
    FOR_TARGETS (t) {
        int seed = draw_int(c, 1, 1000000);
        call_target elsewhere = claim_elsewhere(t);
        tl_real *w = initial_weights(c, t, seed), *again = initial_weights(c, &elsewhere, seed);
        tl_real *other = initial_weights(c, t, seed + 1);
        expect_same_bits(c, "weights of equal seeds", again, w, SHAPE(1016));
        int equal = 0, repeated = 0, beyond = 0;
        for (int i = 0; i < 1016; i++) equal += w[i] == other[i];
        for (int i = 0; i < 216; i++) { /* the same draws, scaled and rounded */
            double one = w[i] * sqrt(27), other_layer = w[216 + i] * sqrt(40);
            repeated += fabs(one - other_layer) < 1e-5 * fabs(one);
        }
        expect_true(c, equal < 3, "%d of 1016 weights are the same under another seed", equal);
        expect_true(c, repeated < 3, "%d weights of the second layer repeat the first", repeated);
        for (int k = 0; k < 2; k++) {
            double square = 0, n = (double)count[k];
            for (size_t i = 0; i < count[k]; i++)
                square += (double)w[from[k] + i] * (double)w[from[k] + i] / n;
            expect_chance(c, k ? "variance of linear" : "variance of conv", square, 2 / fan_in[k],
                          2 / fan_in[k] * 6 * sqrt(2 / n));
            for (size_t i = 0; i < count[k]; i++)
                beyond += fabs(w[from[k] + i]) > sqrt(6 / fan_in[k]);
        }
        /* one normal number in 12 lies beyond the interval of uniform ones of that variance */
        expect_true(c, beyond > 0, "no weight is larger than the largest uniform one could be");
        for (int k = 0; k < 2; k++)
            expect_draws(c, other + from[k], (int)count[k], HE_NORMAL, fan_in[k],
                         (uint64_t)seed + 1, (uint32_t)k);
    }
}
