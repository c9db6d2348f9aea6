/* small_net.c: see small_net.h. */
#include "small_net.h"

#include <stdio.h>

/* Whole numbers of which none is even, or all are: an odd bias on even weights keeps every
 * pre-activation away from ReLU's kink. */
static tl_real *draw_parity(claim *c, size_t n, int range, int odd) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)(2 * draw_int(c, -range, range) + odd);
    return x;
}

static const expect_shape in_shape = {4, {2, 2, 7, 6}, NULL}, pooled = {4, {2, 2, 3, 3}, NULL};
static const expect_shape conv_shape = {4, {2, 3, 3, 2}, NULL}, flat = {2, {2, 18}, NULL},
                          mid = {2, {2, 4}, NULL};
static const expect_shape out_shape = {2, {2, 3}, NULL};
static const expect_shape w_shape[3] = {
    {4, {3, 2, 3, 2}, NULL}, {2, {4, 18}, NULL}, {2, {3, 4}, NULL}};
static const expect_shape b_shape[3] = {{1, {3}, NULL}, {1, {4}, NULL}, {1, {3}, NULL}};

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
static graph by_operations(claim *c, const small_net *n, int leaf[SMALL_NET_LEAVES], int *y,
                           int *loss, const tl_real *weights) {
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

/* Fills by, value and grad; false if a gradient is not known. */
static bool define(claim *c, small_net *n) {
    int leaf[SMALL_NET_LEAVES], y, loss;
    n->by = draw_parity(c, 6, 1, 1);
    graph g = by_operations(c, n, leaf, &y, &loss, n->by);
    for (int k = 0; k < SMALL_NET_LEAVES; k++) {
        n->grad[k] = doubles(c, g.variable[leaf[k]].size);
        if (!graph_gradient(&g, n->grad[k], loss, leaf[k])) return false;
    }
    graph_evaluate(&g);
    n->value = g.variable[y].value;
    return true;
}

small_net small_net_draw(claim *c) {
    for (int tries = 0; tries < 20; tries++) {
        small_net n = draw_net(c);
        if (define(c, &n)) return n;
    }
    claim_fail(c, "the test's own numbers do not allow one right answer");
}

static void emit_modules(graph *g) {
    DO(g, GRAPH_NET_SEED, 1);
    DO(g, GRAPH_NET_MAXPOOL2D, 3, 2, 2, 2, 0, 0);
    DO(g, GRAPH_NET_CONV2D, 2, 3, 3, 2, 1, 1, 1, 0, 1, 1);
    graph_emit(g, NULL, GRAPH_NET_RELU, 0, NULL);
    graph_emit(g, NULL, GRAPH_NET_FLATTEN, 0, NULL);
    DO(g, GRAPH_NET_LINEAR, 18, 4);
    graph_emit(g, NULL, GRAPH_NET_RELU, 0, NULL);
    DO(g, GRAPH_NET_LINEAR, 4, 3);
}

static graph by_modules(claim *c, const small_net *n, int leaf[SMALL_NET_LEAVES], int *y,
                        int passes) {
    graph g = graph_new(c, 100, 1000);
    emit_modules(&g);
    leaf[0] = graph_input_of(&g, in_shape, n->x, true);
    for (int i = 0; i < 3; i++) {
        leaf[1 + 2 * i] = graph_net_parameter(&g, 2 * i, w_shape[i], n->w[i]);
        leaf[2 + 2 * i] = graph_net_parameter(&g, 2 * i + 1, b_shape[i], n->b[i]);
    }
    int by = graph_input_of(&g, out_shape, n->by, false);
    for (int i = 0; i < passes; i++) {
        *y = GRAPH(&g, out_shape, GRAPH_NET_FORWARD, leaf[0], 1);
        DO(&g, GRAPH_BACKWARD, graph_sum(&g, GRAPH(&g, out_shape, GRAPH_MUL, *y, by)));
        DO(&g, GRAPH_RECORDING, 0);
        *y = GRAPH(&g, out_shape, GRAPH_NET_FORWARD, leaf[0], 0);
        DO(&g, GRAPH_RECORDING, 1);
    }
    graph_read(&g, GRAPH_READ_VALUE, *y);
    for (int i = 0; i < SMALL_NET_LEAVES; i++) graph_read(&g, GRAPH_READ_GRAD, leaf[i]);
    return g;
}

void expect_small_net(claim *c, const call_target *t, const small_net *n, int passes) {
    static const char *const name[] = {"dx",        "conv dw",        "conv db",       "linear dw",
                                       "linear db", "last linear dw", "last linear db"};
    int leaf[SMALL_NET_LEAVES], y = -1;
    char what[80];
    graph g = by_modules(c, n, leaf, &y, passes);
    call_report r;
    snprintf(what, sizeof what, "maxpool, conv, ReLU, flatten, linear, ReLU, linear, %d times",
             passes);
    graph_run(&g, t, &r, what);
    expect_ok(c, &r);
    expect_equal(c, "output", graph_result(&g, y), n->value, out_shape);
    for (int k = 0; k < SMALL_NET_LEAVES; k++) {
        size_t size = g.variable[leaf[k]].size;
        double *want = doubles(c, size);
        for (size_t i = 0; i < size; i++) want[i] = passes * n->grad[k][i];
        expect_equal(c, name[k], graph_result(&g, leaf[k]), want, graph_shape(&g, leaf[k]));
    }
}
