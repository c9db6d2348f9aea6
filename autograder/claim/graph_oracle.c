/* graph_oracle.c: what an autograd program means: forward by definition, gradients by differences.
 */
#include "graph_build.h"

#include <math.h>
#include <string.h>

#include "autograder/oracle/oracle.h"
#include "numeric.h"

static double *value_of(const graph *g, int64_t v) { return g->variable[v].value; }
static int dim_of(const graph *g, int64_t v, int i) { return g->variable[v].dim[i]; }

/* Geometry comes from the shapes of operands and result, as it does for the operation. */
static void evaluate_linear(const graph *g, const graph_step *s, double *y) {
    const tl_linear_geom geom = {
        .n = dim_of(g, s->o[0], 0), .in = dim_of(g, s->o[0], 1), .out = dim_of(g, s->o[1], 0)};
    const double *b = s->o[2] < 0 ? NULL : value_of(g, s->o[2]);
    oracle_linear_fwd(y, NULL, value_of(g, s->o[0]), value_of(g, s->o[1]), b, &geom);
}

static void evaluate_conv2d(const graph *g, const graph_step *s, double *y) {
    const int64_t *o = s->o;
    const tl_conv2d_geom geom = {.n = dim_of(g, o[0], 0),
                                 .c = dim_of(g, o[0], 1),
                                 .h = dim_of(g, o[0], 2),
                                 .w = dim_of(g, o[0], 3),
                                 .k = dim_of(g, o[1], 0),
                                 .r = dim_of(g, o[1], 2),
                                 .s = dim_of(g, o[1], 3),
                                 .stride_h = (int)o[3],
                                 .stride_w = (int)o[4],
                                 .pad_h = (int)o[5],
                                 .pad_w = (int)o[6],
                                 .dil_h = (int)o[7],
                                 .dil_w = (int)o[8],
                                 .p = dim_of(g, s->result, 2),
                                 .q = dim_of(g, s->result, 3)};
    const double *b = o[2] < 0 ? NULL : value_of(g, o[2]);
    oracle_conv2d_fwd(y, NULL, value_of(g, o[0]), value_of(g, o[1]), b, &geom);
}

static void evaluate_maxpool2d(const graph *g, const graph_step *s, double *y) {
    const int64_t *o = s->o;
    const tl_pool2d_geom geom = {.n = dim_of(g, o[0], 0),
                                 .c = dim_of(g, o[0], 1),
                                 .h = dim_of(g, o[0], 2),
                                 .w = dim_of(g, o[0], 3),
                                 .r = (int)o[1],
                                 .s = (int)o[2],
                                 .stride_h = (int)o[3],
                                 .stride_w = (int)o[4],
                                 .pad_h = (int)o[5],
                                 .pad_w = (int)o[6],
                                 .p = dim_of(g, s->result, 2),
                                 .q = dim_of(g, s->result, 3)};
    int32_t *argmax = claim_memory(g->c, tl_pool2d_y_size(&geom), sizeof *argmax);
    oracle_maxpool2d_fwd(y, argmax, value_of(g, o[0]), &geom);
}

/* One instruction, from values that earlier ones left. An unknown one ends the claim: a program
 * with it has no oracle. */
static void evaluate(const graph *g, const graph_step *s) {
    const graph_variable *v = &g->variable[s->result];
    double *y = v->value, factor;
    const double *a = v->leaf ? NULL : value_of(g, s->o[0]);
    switch (s->code) {
    case GRAPH_PARAMETER:
    case GRAPH_INPUT:
    case GRAPH_BUFFER:
        memcpy(y, v->leaf, v->size * sizeof *y);
        break;
    case GRAPH_ADD:
        for (size_t i = 0; i < v->size; i++) y[i] = a[i] + value_of(g, s->o[1])[i];
        break;
    case GRAPH_MUL:
        for (size_t i = 0; i < v->size; i++) y[i] = a[i] * value_of(g, s->o[1])[i];
        break;
    case GRAPH_SCALE:
        factor = (double)s->o[1] / (double)s->o[2];
        for (size_t i = 0; i < v->size; i++) y[i] = factor * a[i];
        break;
    case GRAPH_RELU:
        for (size_t i = 0; i < v->size; i++) y[i] = a[i] > 0 ? a[i] : 0;
        break;
    case GRAPH_RESHAPE:
        memcpy(y, a, v->size * sizeof *y);
        break;
    case GRAPH_SUM:
        y[0] = oracle_sum(a, g->variable[s->o[0]].size, 1, NULL);
        break;
    case GRAPH_MEAN:
        y[0] =
            oracle_sum(a, g->variable[s->o[0]].size, 1, NULL) / (double)g->variable[s->o[0]].size;
        break;
    case GRAPH_MATMUL:
        oracle_matmul(
            y, NULL, a, value_of(g, s->o[1]),
            &(tl_matmul_geom){.m = v->dim[0], .n = v->dim[1], .k = g->variable[s->o[0]].dim[1]});
        break;
    case GRAPH_LINEAR:
        evaluate_linear(g, s, y);
        break;
    case GRAPH_LINEAR_RELU:
        evaluate_linear(g, s, y);
        for (size_t i = 0; i < v->size; i++) y[i] = y[i] > 0 ? y[i] : 0;
        break;
    case GRAPH_CONV2D:
        evaluate_conv2d(g, s, y);
        break;
    case GRAPH_MAXPOOL2D:
        evaluate_maxpool2d(g, s, y);
        break;
    default:
        claim_fail(g->c, "the test's graph oracle does not know instruction %d", s->code);
    }
}

void graph_evaluate(graph *g) {
    for (int i = 0; i < g->steps; i++)
        if (g->step[i].result >= 0) evaluate(g, &g->step[i]);
}

/* What numeric_gradient varies is a leaf's array; the loss is evaluated anew each time. */
typedef struct loss_of {
    graph *g;
    int loss;
} loss_of;

static double loss_value(const void *user) {
    const loss_of *l = user;
    graph_evaluate(l->g);
    return l->g->variable[l->loss].value[0];
}

/* Beyond this, float no longer holds every whole number. */
static const double largest_whole = 1 << 23;

/* The difference is right to far better than 1/2, so the nearest whole number is the derivative. */
bool graph_gradient(graph *g, double *grad, int loss, int leaf) {
    graph_variable *v = &g->variable[leaf];
    double *error = doubles(g->c, v->size);
    const loss_of l = {g, loss};
    graph_evaluate(g);
    for (int i = 0; i < g->variables; i++)
        for (size_t k = 0; k < g->variable[i].size; k++)
            if (!(fabs(g->variable[i].value[k]) < largest_whole)) return false;
    /* small enough that no whole number moves by 1, wide enough to keep half of double's digits */
    numeric_gradient(grad, error, v->leaf, v->size, 0x1p-16, 0, loss_value, &l);
    for (size_t i = 0; i < v->size; i++) {
        double whole = nearbyint(grad[i]);
        bool sure = fabs(grad[i] - whole) < 0.01 && error[i] < 0.1 && fabs(whole) < largest_whole;
        if (!sure) return false;
        grad[i] = whole;
    }
    return true;
}
