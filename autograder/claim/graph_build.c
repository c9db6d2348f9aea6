/* graph_build.c: puts autograd programs together and runs them. */
#include "graph_build.h"

#include <string.h>

/* All memory is the claim's: nothing of a graph is freed before it ends. */
graph graph_new(claim *c, int instructions, size_t values) {
    graph g = {.c = c, .capacity = instructions, .in_capacity = values};
    g.variable = claim_memory(c, (size_t)instructions, sizeof *g.variable);
    g.step = claim_memory(c, (size_t)instructions, sizeof *g.step);
    g.in = reals(c, values);
    g.label = ints(c, values);
    return g;
}

/* The one place that numbers variables; call_graph.c counts in the same way. */
int graph_emit(graph *g, const expect_shape *result, int code, int operands, const int64_t o[]) {
    if (g->steps == g->capacity) claim_fail(g->c, "the test's own graph program is too long");
    graph_step *s = &g->step[g->steps++];
    *s = (graph_step){.code = code, .operands = operands, .result = -1};
    for (int i = 0; i < operands; i++) s->o[i] = o[i];
    if (!result) return -1;
    graph_variable *v = &g->variable[g->variables];
    v->ndim = result->ndim;
    v->size = 1;
    for (int i = 0; i < 4; i++) {
        v->dim[i] = i < result->ndim ? result->dim[i] : 1;
        v->size *= (size_t)v->dim[i];
    }
    v->value = doubles(g->c, v->size);
    return s->result = g->variables++;
}

/* Leaf values cross in one array, in the order of their instructions. */
static void append_values(graph *g, int v, const tl_real *values) {
    size_t n = g->variable[v].size;
    if (g->in_capacity - g->in_count < n) claim_fail(g->c, "the test's own leaves are too many");
    memcpy(g->in + g->in_count, values, n * sizeof *values);
    g->in_count += n;
    g->variable[v].leaf = widen(g->c, values, n);
}

static int leaf(graph *g, int code, expect_shape shape, const tl_real *values, int64_t first) {
    int64_t o[6] = {first, shape.ndim};
    for (int i = 0; i < 4; i++) o[2 + i] = i < shape.ndim ? shape.dim[i] : 1;
    int input = code == GRAPH_INPUT; /* it alone has the operand needs_grad before its shape */
    int v = graph_emit(g, &shape, code, 5 + input, input ? o : o + 1);
    append_values(g, v, values);
    return v;
}

int graph_net_parameter(graph *g, int index, expect_shape shape, const tl_real *values) {
    int v = graph_emit(g, &shape, GRAPH_NET_PARAMETER, 2, (const int64_t[]){index, 1});
    append_values(g, v, values);
    return v;
}

/* Whole numbers up to 2^24 and their sums and products are exact in float. */
static tl_real *whole_numbers(claim *c, expect_shape shape, int range) {
    size_t n = 1;
    for (int i = 0; i < shape.ndim; i++) n *= (size_t)shape.dim[i];
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -range, range);
    return x;
}

int graph_parameter_of(graph *g, expect_shape shape, const tl_real *values) {
    return leaf(g, GRAPH_PARAMETER, shape, values, 0);
}

int graph_input_of(graph *g, expect_shape shape, const tl_real *values, bool needs_grad) {
    return leaf(g, GRAPH_INPUT, shape, values, needs_grad);
}

int graph_buffer_of(graph *g, expect_shape shape, const tl_real *values) {
    return leaf(g, GRAPH_BUFFER, shape, values, 0);
}

int graph_parameter(graph *g, expect_shape shape, int range) {
    return graph_parameter_of(g, shape, whole_numbers(g->c, shape, range));
}

int graph_input(graph *g, expect_shape shape, int range, bool needs_grad) {
    return graph_input_of(g, shape, whole_numbers(g->c, shape, range), needs_grad);
}

expect_shape graph_shape(const graph *g, int v) {
    expect_shape s = {.ndim = g->variable[v].ndim};
    memcpy(s.dim, g->variable[v].dim, sizeof s.dim);
    return s;
}

int graph_sum(graph *g, int x) { return GRAPH(g, SHAPE(1), GRAPH_SUM, x); }

/* Different weights on all elements: a gradient that is transposed, shifted or summed shows. None
 * is 0, which would hide what becomes of the gradient of a single number. */
int graph_weigh(graph *g, int x, int range) {
    expect_shape shape = graph_shape(g, x);
    size_t n = g->variable[x].size;
    tl_real *weight = reals(g->c, n);
    for (size_t i = 0; i < n; i++)
        weight[i] = (tl_real)(draw_int(g->c, 1, range) * (draw_int(g->c, 0, 1) ? 1 : -1));
    int weights = graph_input_of(g, shape, weight, false);
    return graph_sum(g, graph_emit(g, &shape, GRAPH_MUL, 2, (const int64_t[]){x, weights}));
}

/* A second read of the same variable moves read_at: keep the first if both are wanted. */
void graph_read(graph *g, int code, int v) {
    g->variable[v].read_at = g->out_count;
    g->out_count += code == GRAPH_READ_FLAGS   ? 3
                    : code == GRAPH_READ_SHAPE ? 5
                    : code == GRAPH_READ_OP    ? GRAPH_NAME
                                               : g->variable[v].size;
    DO(g, code, v);
}

const tl_real *graph_result(const graph *g, int v) { return g->out + g->variable[v].read_at; }

bool graph_is_made_by(const graph *g, int v, const char *op, char made_by[GRAPH_NAME]) {
    for (int k = 0; k < GRAPH_NAME; k++) made_by[k] = (char)graph_result(g, v)[k];
    made_by[GRAPH_NAME - 1] = '\0';
    return strcmp(made_by, op) == 0;
}

void graph_run(graph *g, const call_target *t, call_report *r, const char *what) {
    int64_t *program = claim_memory(g->c, 13 * (size_t)g->steps, sizeof *program);
    size_t length = 0;
    for (int i = 0; i < g->steps; i++) {
        program[length++] = g->step[i].code;
        for (int k = 0; k < g->step[i].operands; k++) program[length++] = g->step[i].o[k];
    }
    g->out = reals(g->c, g->out_count);
    claim_case(g->c, t, "graph program: %s (%d instructions)", what, g->steps);
    call_graph(t, r, g->out, g->out_count, g->in, g->in_count, g->label, g->labels, program,
               length);
}
