/* cases_test.c: a student's own cases of lab 4 (labs/lab4/cases.toml). */
#include "autograder/claim/cases.h"
#include "cases.h"

/* The numbers of a case, in the order of lab.toml. */
enum {
    M,
    N,
    K,
    BIAS,
    FIRST,
    SECOND,
    THIRD,
    SAME,
    MADE,
    UNUSED,
    FACTOR,
    PASSES,
    COUNT,
    FAN_IN,
    FAN_OUT,
    STREAM
};

/* ---- one operation in a graph ---- */

enum { INPUTS = 3 };

/* An operation with its inputs: shapes, whether there are all three, and who wants a gradient. */
typedef struct operation {
    const char *name;
    int code, inputs;
    expect_shape shape[INPUTS], result;
} operation;

static operation mul_of(const double number[]) {
    const expect_shape s = SHAPE((int)number[M], (int)number[N]);
    return (operation){"mul", GRAPH_MUL, 2, {s, s}, s};
}

static operation matmul_of(const double number[]) {
    const int m = (int)number[M], n = (int)number[N], k = (int)number[K];
    return (operation){"matmul", GRAPH_MATMUL, 2, {SHAPE(m, k), SHAPE(k, n)}, SHAPE(m, n)};
}

static operation linear_of(const double number[]) {
    const int m = (int)number[M], n = (int)number[N], k = (int)number[K];
    return (operation){"linear",
                       GRAPH_LINEAR,
                       number[BIAS] != 0 ? 3 : 2,
                       {SHAPE(m, k), SHAPE(n, k), SHAPE(n)},
                       SHAPE(m, n)};
}

static operation linear_relu_of(const double number[]) {
    operation o = linear_of(number);
    o.name = "linear_relu";
    o.code = GRAPH_LINEAR_RELU;
    return o;
}

/* Whole numbers. What ReLU gets is odd, so never at its kink: x is odd, of w the first column
 * alone, and the bias is even. */
static int add_leaf(graph *g, const operation *o, int i, bool wants) {
    const expect_shape s = o->shape[i];
    size_t n = 1;
    for (int k = 0; k < s.ndim; k++) n *= (size_t)s.dim[k];
    tl_real *x = reals(g->c, n);
    for (size_t k = 0; k < n; k++) {
        bool odd = i == 0 || (i == 1 && k % (size_t)s.dim[1] == 0);
        x[k] = o->code == GRAPH_LINEAR_RELU ? (tl_real)(2 * draw_int(g->c, -2, 1) + odd)
                                            : (tl_real)draw_int(g->c, -3, 3);
    }
    return wants ? graph_parameter_of(g, s, x) : graph_input_of(g, s, x, false);
}

/* Scaled, so that it is a result (and odd where it was). */
static int made_of(graph *g, int x) {
    const expect_shape s = graph_shape(g, x);
    return GRAPH(g, s, GRAPH_SCALE, x, 3, 1);
}

static void expect_operation(claim *c, const call_target *t, const operation *o,
                             const double number[]) {
    const bool same = number[SAME] != 0, made = number[MADE] != 0;
    const int passes = (int)number[PASSES], inputs = same ? 1 : o->inputs;
    int leaf[INPUTS] = {0}, wanted[INPUTS], count = 0;
    int64_t input[INPUTS] = {-1, -1, -1};
    graph g = graph_new(c, 60, 600);
    for (int i = 0; i < inputs; i++) {
        leaf[i] = add_leaf(&g, o, i, number[FIRST + i] != 0);
        if (number[FIRST + i] != 0) wanted[count++] = leaf[i];
    }
    for (int i = 0; i < inputs; i++) input[i] = made ? made_of(&g, leaf[i]) : leaf[i];
    if (same) input[1] = input[0];
    const bool biased = o->code == GRAPH_LINEAR || o->code == GRAPH_LINEAR_RELU;
    int y = graph_emit(&g, &o->result, o->code, biased ? 3 : 2, input);
    int loss = graph_weigh(&g, y, 3);
    if (number[FACTOR] != 1)
        loss = GRAPH(&g, SHAPE(1), GRAPH_SCALE, loss, (int64_t)number[FACTOR], 1);
    if (number[UNUSED] != 0) (void)GRAPH(&g, o->result, GRAPH_SCALE, y, 5, 1);
    for (int i = 0; i < passes; i++) DO(&g, GRAPH_BACKWARD, loss);
    graph_read(&g, GRAPH_READ_VALUE, y);
    for (int i = 0; i < inputs; i++)
        graph_read(&g, number[FIRST + i] != 0 ? GRAPH_READ_GRAD : GRAPH_READ_FLAGS, leaf[i]);
    if (!expect_leaf_gradients(&g, t, o->name, loss, wanted, count, passes))
        claim_fail(c, "the test's own numbers do not allow one right answer");
    graph_evaluate(&g);
    expect_equal(c, "value", graph_result(&g, y), g.variable[y].value, o->result);
    const double none[3] = {0, 0, 0};
    for (int i = 0; i < inputs; i++)
        if (number[FIRST + i] == 0)
            expect_equal(c, "frozen input: has gradient, needs one, has node",
                         graph_result(&g, leaf[i]), none, SHAPE(3));
}

/* ---- what can be called ---- */

static tl_status check_same(const double number[], bool square) {
    if (number[SAME] == 0) return TL_OK;
    TL_NEED(square, TL_EINVAL, "with same = 1 the sizes m, n and k have to be equal");
    TL_NEED(number[FIRST] != 0 && number[SECOND] != 0, TL_EINVAL,
            "with same = 1 both inputs are one, and it has to want a gradient");
    return TL_OK;
}

static tl_status check_two(const double number[], bool square) {
    TL_NEED(number[FIRST] != 0 || number[SECOND] != 0, TL_EINVAL, "no input wants a gradient");
    return check_same(number, square);
}

static tl_status check_mul(const double number[]) { return check_two(number, true); }

static tl_status check_matmul(const double number[]) {
    return check_two(number, number[M] == number[K] && number[N] == number[K]);
}

static tl_status check_linear(const double number[]) {
    TL_NEED(number[FIRST] != 0 || number[SECOND] != 0 || (number[BIAS] != 0 && number[THIRD] != 0),
            TL_EINVAL, "no input wants a gradient");
    return TL_OK;
}

static void mul(claim *c, const call_target *t, const double number[]) {
    const operation o = mul_of(number);
    expect_operation(c, t, &o, number);
}

static void matmul(claim *c, const call_target *t, const double number[]) {
    const operation o = matmul_of(number);
    expect_operation(c, t, &o, number);
}

static void linear(claim *c, const call_target *t, const double number[]) {
    const operation o = linear_of(number);
    expect_operation(c, t, &o, number);
}

static void linear_relu(claim *c, const call_target *t, const double number[]) {
    const operation o = linear_relu_of(number);
    expect_operation(c, t, &o, number);
}

static void softmax(claim *c, const call_target *t, const double number[]) {
    expect_softmax(c, t, (int)number[M], (int)number[N], (int)number[FACTOR]);
}

static void draw(claim *c, int which, const double number[]) {
    expect_weights(c, which, (int)number[COUNT], (int)number[FAN_IN], (int)number[FAN_OUT],
                   draw_bits(c), (uint32_t)number[STREAM]);
}

static void he_normal(claim *c, const call_target *t, const double number[]) {
    (void)t;
    draw(c, HE_NORMAL, number);
}

static void he_uniform(claim *c, const call_target *t, const double number[]) {
    (void)t;
    draw(c, HE_UNIFORM, number);
}

static void xavier_normal(claim *c, const call_target *t, const double number[]) {
    (void)t;
    draw(c, XAVIER_NORMAL, number);
}

static void xavier_uniform(claim *c, const call_target *t, const double number[]) {
    (void)t;
    draw(c, XAVIER_UNIFORM, number);
}

static const case_kind kinds[] = {{"mul", check_mul, mul},
                                  {"matmul", check_matmul, matmul},
                                  {"linear", check_linear, linear},
                                  {"linear_relu", check_linear, linear_relu},
                                  {"softmax", NULL, softmax},
                                  {"he_normal", NULL, he_normal},
                                  {"he_uniform", NULL, he_uniform},
                                  {"xavier_normal", NULL, xavier_normal},
                                  {"xavier_uniform", NULL, xavier_uniform},
                                  {NULL, NULL, NULL}};

CLAIM(lab4_cases, broken_versions_are_noticed) { expect_noticed(c, kinds); }
