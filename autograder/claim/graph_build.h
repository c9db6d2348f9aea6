/* graph_build.h: builds autograd programs (call/graph.h), and says what they should give.
 *
 * Leaves hold small whole numbers, and sums and products of those are exact in float and double
 * alike: a gradient has one right answer, no tolerance. graph_gradient finds it by central
 * differences of the program's forward in double and rounds it to the whole number it must be. */
#ifndef TESTS_GRAPH_BUILD_H
#define TESTS_GRAPH_BUILD_H

#include "autograder/call/call_ops.h"
#include "autograder/call/graph.h"
#include "claim.h"
#include "expect.h"

typedef struct graph_variable {
    int ndim, dim[4];
    size_t size;
    double *leaf;   /* values of a leaf, else NULL */
    double *value;  /* scratch of graph_evaluate */
    size_t read_at; /* where READ_GRAD or READ_VALUE last put it among the results */
} graph_variable;

typedef struct graph_step {
    int code, operands, result; /* result: number of the variable it makes, or -1 */
    int64_t o[12];
} graph_step;

typedef struct graph {
    claim *c;
    graph_variable *variable;
    graph_step *step;
    int variables, steps, capacity;
    tl_real *in; /* leaf values in order */
    size_t in_count, in_capacity, out_count;
    int32_t *label;
    size_t labels;
    tl_real *out; /* after graph_run */
} graph;

/* Room for that many instructions and that many leaf values. */
graph graph_new(claim *c, int instructions, size_t values);

/* Leaves with whole numbers in [-range, range], or given ones; return the variable's number. */
int graph_parameter(graph *g, expect_shape shape, int range);
int graph_input(graph *g, expect_shape shape, int range, bool needs_grad);
int graph_parameter_of(graph *g, expect_shape shape, const tl_real *values);
int graph_input_of(graph *g, expect_shape shape, const tl_real *values, bool needs_grad);
/* The index-th parameter or buffer of the net, set to these values. */
int graph_net_parameter(graph *g, int index, expect_shape shape, const tl_real *values);
int graph_buffer_of(graph *g, expect_shape shape, const tl_real *values);

/* An instruction with its operands as in call/graph.h. GRAPH(g, shape of the result, GRAPH_ADD, a,
 * b) returns the new variable; DO(g, GRAPH_BACKWARD, loss) is for those that make none. */
int graph_emit(graph *g, const expect_shape *result, int code, int operands, const int64_t o[]);
#define GRAPH(g, shape, code, ...)                                                                 \
    graph_emit((g), &(shape), (code), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),   \
               (const int64_t[]){__VA_ARGS__})
#define DO(g, code, ...)                                                                           \
    (void)graph_emit((g), NULL, (code), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                     (const int64_t[]){__VA_ARGS__})

/* Shape of a variable, and its sum as a new variable: a loss. */
expect_shape graph_shape(const graph *g, int v);
int graph_sum(graph *g, int x);
/* sum(x * weights) with whole-numbered weights: a loss in which no two elements count alike. */
int graph_weigh(graph *g, int x, int range);
/* Instructions that read something of a variable; graph_result finds it after the run. */
void graph_read(graph *g, int code, int v);
const tl_real *graph_result(const graph *g, int v);

/* After GRAPH_READ_OP: whether v's node names this operation, and which it names. */
bool graph_is_made_by(const graph *g, int v, const char *op, char made_by[GRAPH_NAME]);

/* Runs the program; `what` is the case for messages. */
void graph_run(graph *g, const call_target *t, call_report *r, const char *what);

/* Values of every variable by definition, from the leaves as they are; the instructions that only
 * reads, and backward, are passed over. */
void graph_evaluate(graph *g);
/* d loss / d leaf, exact. False if it is not known: numbers too large, or a kink too near. */
bool graph_gradient(graph *g, double *grad, int loss, int leaf);

#endif
