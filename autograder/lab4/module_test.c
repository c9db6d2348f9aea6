/* module_test.c: modules in a row, and the walk over what they own. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/graph_build.h"
#include "autograder/claim/verdict.h"

#include <stdio.h>
#include <string.h>

/* y is x times five primes: by its factors a wrong one tells which children had their turn. */
static void expect_factors(claim *c, const call_target *t) {
    static const tl_real prime[] = {2, 3, 5, 7, 11};
    expect_shape s = SHAPE(6, 1);
    graph g = graph_new(c, 100, 100);
    double want[6];
    for (int i = 0; i < 5; i++) DO(&g, GRAPH_NET_LINEAR, 1, 1);
    int x = graph_input(&g, s, 3, false);
    for (int i = 0; i < 5; i++) (void)graph_net_parameter(&g, 2 * i, SHAPE(1, 1), &prime[i]);
    int y = GRAPH(&g, s, GRAPH_NET_FORWARD, x, 1);
    for (int k = 0; k < 6; k++) want[k] = 2310 * (double)g.variable[x].leaf[k];
    graph_read(&g, GRAPH_READ_VALUE, y);
    call_report r;
    call_target failing = steps_failing(t); /* where a child fails, so does the sequential */
    graph_run(&g, &failing, &r, "linear layers that multiply by 2, 3, 5, 7 and 11");
    expect_ok(c, &r);
    expect_equal(c, "output", graph_result(&g, y), want, s);
}

/* A sequential hands on whether it is trained. */
static void expect_training(claim *c, const call_target *t, int training) {
    enum { N = 40 };
    graph g = graph_new(c, 20, 100);
    DO(&g, GRAPH_STEP, 5, 1);
    DO(&g, GRAPH_NET_DROPOUT, 1, 2, 0);
    int x = graph_input(&g, SHAPE(N), 9, false);
    int y = GRAPH(&g, SHAPE(N), GRAPH_NET_FORWARD, x, training);
    graph_read(&g, GRAPH_READ_VALUE, y);
    call_report r;
    graph_run(&g, t, &r, training ? "dropout in training" : "dropout in evaluation");
    expect_ok(c, &r);
    int same = 0, zeros = 0, zeros_before = 0;
    for (int i = 0; i < N; i++) {
        same += graph_result(&g, y)[i] == g.variable[x].leaf[i];
        zeros += graph_result(&g, y)[i] == 0;
        zeros_before += g.variable[x].leaf[i] == 0;
    }
    expect_true(c, training ? same < N : same == N, "%d of %d elements came through unchanged",
                same, (int)N);
    const bool scaled = !training && same < N && zeros == zeros_before;
    finding_pattern_of_case(c, scaled ? "nothing_dropped" : "training_flag");
}

/* More modules than the list has places at first; each scales by what it is given. */
CLAIM(lab4_module, children_run_one_after_the_other) {
    FOR_TARGETS (t) {
        expect_factors(c, t);
        for (int training = 0; training < 2; training++) expect_training(c, t, training);
        for (int modules = 0; modules <= 20; modules += 5) {
            expect_shape s = SHAPE(2, 1), one = SHAPE(1, 1), bias = SHAPE(1);
            graph g = graph_new(c, 100, 100);
            const tl_real twice = 2;
            double want[2];
            graph_emit(&g, NULL, GRAPH_NET_NEST, 0, NULL);
            for (int i = 0; i < modules; i++) DO(&g, GRAPH_NET_LINEAR, 1, 1);
            int x = graph_input(&g, s, 3, false);
            for (int i = 0; i < modules; i++) {
                tl_real shift = (tl_real)i;
                (void)graph_net_parameter(&g, 2 * i, one, i % 2 ? &(tl_real){-1} : &twice);
                (void)graph_net_parameter(&g, 2 * i + 1, bias, &shift);
            }
            for (int k = 0; k < 2; k++) {
                want[k] = g.variable[x].leaf[k];
                for (int i = 0; i < modules; i++) want[k] = (i % 2 ? -1 : 2) * want[k] + i;
            }
            int y = GRAPH(&g, s, GRAPH_NET_FORWARD, x, 1);
            graph_read(&g, GRAPH_READ_VALUE, y);
            call_report r;
            char what[40];
            snprintf(what, sizeof what, "%d linear layers in a row", modules);
            graph_run(&g, t, &r, what);
            expect_ok(c, &r);
            expect_equal(c, "output", graph_result(&g, y), want, s);
        }
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
        static const expect_shape shape[] = {
            {4, {2, 1, 3, 3}, NULL}, {1, {2}, NULL}, {1, {2}, NULL},    {1, {2}, NULL},
            {1, {2}, NULL},          {1, {2}, NULL}, {2, {3, 5}, NULL}, {1, {3}, NULL}};
        int v[8];
        for (int i = 0; i < 8; i++) {
            v[i] = GRAPH(&g, shape[i], GRAPH_NET_PARAMETER, i, 0);
            graph_read(&g, GRAPH_READ_VALUE, v[i]);
        }
        call_report r;
        call_target failing = steps_failing(t); /* where a step fails, nothing stays, either */
        graph_run(&g, &failing, &r, "conv, batchnorm, ReLU, dropout, linear");
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

/* The names of a net whose first three layers stand in a sequential, or a block, of their own; with
 * an empty sequential in front of them, where that is asked for. */
static void expect_names(claim *c, const call_target *t, int enclosed, bool empty_in_front,
                         const char *what) {
    static const char *const want[] = {"0.conv2d.weight",
                                       "0.conv2d.bias",
                                       "1.batchnorm2d.weight",
                                       "1.batchnorm2d.bias",
                                       "1.batchnorm2d.running_mean",
                                       "1.batchnorm2d.running_var",
                                       "4.linear.weight",
                                       "4.linear.bias"};
    enum { NAMES = sizeof want / sizeof *want };
    graph g = graph_new(c, 40, 10);
    for (int i = 0; empty_in_front && i < 2; i++) /* a net of nothing, and that in another */
        graph_emit(&g, NULL, GRAPH_NET_NEST, 0, NULL);
    DO(&g, GRAPH_NET_CONV2D, 1, 2, 3, 3, 1, 1, 0, 0, 1, 1);
    DO(&g, GRAPH_NET_BATCHNORM2D, 2);
    graph_emit(&g, NULL, GRAPH_NET_RELU, 0, NULL);
    graph_emit(&g, NULL, enclosed, 0, NULL);
    graph_emit(&g, NULL, GRAPH_NET_FLATTEN, 0, NULL);
    DO(&g, GRAPH_NET_LINEAR, 5, 3);
    for (int i = 0; i < NAMES; i++) DO(&g, GRAPH_NET_NAME, i);
    g.out_count = NAMES * GRAPH_NAME;
    call_report r;
    graph_run(&g, t, &r, what);
    expect_ok(c, &r);
    for (int i = 0; i < NAMES; i++) {
        char got[GRAPH_NAME + 1] = "";
        for (int k = 0; k < GRAPH_NAME; k++) got[k] = (char)g.out[i * GRAPH_NAME + k];
        expect_true(c, strcmp(got, want[i]) == 0, "name %d is \"%s\", not \"%s\"", i, got, want[i]);
    }
}

/* The name of the bias of the thirteenth layer. */
static void expect_two_digits(claim *c, const call_target *t) {
    enum { LAYERS = 13 };
    graph g = graph_new(c, 40, 10);
    for (int i = 0; i < LAYERS; i++) DO(&g, GRAPH_NET_LINEAR, 1, 1);
    DO(&g, GRAPH_NET_NAME, 2 * LAYERS - 1);
    g.out_count = GRAPH_NAME;
    call_report r;
    graph_run(&g, t, &r, "names of 13 linear layers");
    expect_ok(c, &r);
    char got[GRAPH_NAME + 1] = "";
    for (int k = 0; k < GRAPH_NAME; k++) got[k] = (char)g.out[k];
    expect_true(c, strcmp(got, "12.linear.bias") == 0, "name 25 is \"%s\", not \"12.linear.bias\"",
                got);
}

/* The names that checkpoints are read by; a sequential inside of another one does not count. */
CLAIM(lab4_module, names_say_index_kind_and_part) {
    FOR_TARGETS (t) {
        static const char net[] = "names of conv, batchnorm, ReLU, flatten, linear";
        static const char behind[] = "the same names behind an empty sequential";
        expect_names(c, t, GRAPH_NET_NEST, false, net);
        const bool right = !c->finding;
        expect_names(c, t, GRAPH_NET_NEST, true, behind);
        if (right) finding_pattern_of_case(c, "empty_sequential");
        expect_two_digits(c, t);
    }
}

/* As the trainer's nets are built: a sequential is one whatever its forward function. */
CLAIM(lab4_module, a_block_is_visited_like_a_sequential) {
    FOR_TARGETS (t)
        expect_names(c, t, GRAPH_NET_BLOCK, false,
                     "names of a block of conv, batchnorm, ReLU, then flatten, linear");
}
