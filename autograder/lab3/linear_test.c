/* linear_test.c: the fully connected layer. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/numeric.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

#include <math.h>

/* n, in, out: the last is judged forward in float, and its weight gradient too. One has more inputs
 * and outputs than a strip of columns, or a grid of one block, takes at a time. */
static const tl_linear_geom shapes[] = {{3, 5, 4},    {1, 7, 2},    {4, 1, 3},    {2, 3, 1},
                                        {1, 1, 1},    {9, 33, 17},  {65, 10, 31}, {5, 130, 64},
                                        {7, 75, 331}, {8, 1000, 10}};
enum { SHAPES = sizeof shapes / sizeof *shapes, SMALL = 5 };

/* One geometry's inputs, drawn; _d are the same numbers for the oracle. */
typedef struct linear_data {
    tl_linear_geom g;
    size_t xs, ws, ys, bs;
    tl_real *x, *w, *b, *dy;
    double *x_d, *w_d, *b_d, *dy_d;
} linear_data;

static linear_data draw_shape(claim *c, tl_linear_geom g) {
    linear_data d = {.g = g};
    d.xs = (size_t)d.g.n * (size_t)d.g.in;
    d.ws = (size_t)d.g.in * (size_t)d.g.out;
    d.ys = (size_t)d.g.n * (size_t)d.g.out;
    d.bs = (size_t)d.g.out;
    d.x_d = widen(c, d.x = draw_reals(c, d.xs), d.xs);
    d.w_d = widen(c, d.w = draw_reals(c, d.ws), d.ws);
    d.b_d = widen(c, d.b = draw_reals(c, d.bs), d.bs);
    d.dy_d = widen(c, d.dy = draw_reals(c, d.ys), d.ys);
    return d;
}

typedef enum gradient { OF_INPUT, OF_WEIGHT, OF_BIAS } gradient;
static const char *const gradient_name[] = {"dx", "dw", "db"};
static const char *const gradient_op[] = {"linear_bwd_input", "linear_bwd_weight",
                                          "linear_bwd_bias"};

static linear_data draw_data(claim *c, int s) { return draw_shape(c, shapes[s]); }

static linear_data coarse_data(claim *c, const linear_data *d) {
    linear_data coarse = *d;
    coarse.x_d = coarsen(c, d->x_d, d->xs);
    coarse.w_d = coarsen(c, d->w_d, d->ws);
    coarse.b_d = coarsen(c, d->b_d, d->bs);
    coarse.dy_d = coarsen(c, d->dy_d, d->ys);
    return coarse;
}

#define FOR_CASES(t, d)                                                                            \
    FOR_TARGETS (t)                                                                                \
        for (int s_ = 0; s_ < SHAPES; s_++)                                                        \
            for (linear_data d = draw_data(c, s_); d.xs; d.xs = 0)

static void linear_case(claim *c, const call_target *t, const char *op, const tl_linear_geom *g) {
    claim_case(c, t, "%s x[%d,%d] w[%d,%d]", op, g->n, g->in, g->out, g->in);
    claim_trait(c, "batch", g->n > 1);
    claim_trait(c, "nonsquare", g->in != g->out);
}

/* `in` products and a bias per output: a forgotten b fails, and b[0] added everywhere. */
static void expect_forward(claim *c, const call_target *t, const linear_data *d, bool bias) {
    call_report r;
    const tl_linear_geom *g = &d->g;
    size_t terms = (size_t)g->in + bias;
    if (!bound_judges(terms)) return;
    tl_real *y = reals(c, d->ys);
    double *want = doubles(c, d->ys), *scale = doubles(c, d->ys), *rough = doubles(c, d->ys);
    linear_data coarse = coarse_data(c, d);
    oracle_linear_fwd(want, scale, d->x_d, d->w_d, bias ? d->b_d : NULL, g);
    oracle_linear_fwd(rough, NULL, coarse.x_d, coarse.w_d, bias ? coarse.b_d : NULL, g);
    double *bound = bound_of(c, scale, d->ys, terms);
    linear_case(c, t, bias ? "linear_fwd" : "linear_fwd without bias", g);
    call_target failing = bias ? *t : steps_failing(t);
    call_linear_fwd(&failing, &r, y, d->x, d->w, bias ? d->b : NULL, g);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, AXES("nk", g->n, g->out));
    expect_sharp(c, rough, want, bound, d->ys);
}

CLAIM(lab3_linear, forward_matches_definition) {
    FOR_CASES (t, d) expect_forward(c, t, &d, true);
}

/* b may be NULL, the others may not; a layer has at least one image. */
static void refuse_arguments(claim *c, const call_target *t) {
    call_report r;
    linear_data d = draw_data(c, 0);
    tl_real *y = reals(c, d.ys), *dx = reals(c, d.xs), *dw = reals(c, d.ws), *db = reals(c, d.bs);
    for (int k = 0; k < 11; k++) {
        static const char *const name[] = {"y",  "x",  "w", "dx", "dy", "w",
                                           "dw", "dy", "x", "db", "dy"};
        const char *op = k < 3 ? "linear_fwd" : gradient_op[(k - 3) / 3];
        claim_case(c, t, "%s, where %s is NULL", op, name[k]);
        if (k < 3)
            call_linear_fwd(t, &r, k == 0 ? NULL : y, k == 1 ? NULL : d.x, k == 2 ? NULL : d.w, d.b,
                            &d.g);
        else if (k < 6)
            call_linear_bwd_input(t, &r, k == 3 ? NULL : dx, k == 4 ? NULL : d.dy,
                                  k == 5 ? NULL : d.w, &d.g);
        else if (k < 9)
            call_linear_bwd_weight(t, &r, k == 6 ? NULL : dw, k == 7 ? NULL : d.dy,
                                   k == 8 ? NULL : d.x, &d.g);
        else
            call_linear_bwd_bias(t, &r, k == 9 ? NULL : db, k == 10 ? NULL : d.dy, &d.g);
        expect_refusal(c, &r);
    }
    d.g.n = 0;
    claim_case(c, t, "linear_fwd, where n is 0");
    call_linear_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
    expect_refusal(c, &r);
}

CLAIM(lab3_linear, forward_without_bias_matches_definition) {
    FOR_CASES (t, d) expect_forward(c, t, &d, false);
    FOR_TARGETS (t) refuse_arguments(c, t);
}

static size_t gradient_size(const linear_data *d, gradient of) {
    return of == OF_INPUT ? d->xs : of == OF_WEIGHT ? d->ws : d->bs;
}

/* How many products each element of a gradient sums. */
static size_t gradient_terms(const linear_data *d, gradient of) {
    return (size_t)(of == OF_INPUT ? d->g.out : d->g.n);
}

static expect_shape gradient_shape(const linear_data *d, gradient of) {
    if (of == OF_INPUT) return AXES("nc", d->g.n, d->g.in);
    return of == OF_WEIGHT ? AXES("ki", d->g.out, d->g.in) : AXES("k", d->g.out);
}

static void define_gradient(double *grad, double *scale, const linear_data *d, gradient of) {
    if (of == OF_INPUT) oracle_linear_bwd_input(grad, scale, d->dy_d, d->w_d, &d->g);
    if (of == OF_WEIGHT) oracle_linear_bwd_weight(grad, scale, d->dy_d, d->x_d, &d->g);
    if (of == OF_BIAS) oracle_linear_bwd_bias(grad, scale, d->dy_d, &d->g);
}

static void call_gradient(claim *c, const call_target *t, tl_real *grad, const linear_data *d,
                          gradient of) {
    call_report r;
    linear_case(c, t, gradient_op[of], &d->g);
    if (of == OF_INPUT) call_linear_bwd_input(t, &r, grad, d->dy, d->w, &d->g);
    if (of == OF_WEIGHT) call_linear_bwd_weight(t, &r, grad, d->dy, d->x, &d->g);
    if (of == OF_BIAS) call_linear_bwd_bias(t, &r, grad, d->dy, &d->g);
    expect_ok(c, &r);
}

/* Is a wrong dx what comes out where w is read as [in,out]? before: NULL for zeros. */
static void tell_transposed(claim *c, const linear_data *d, const tl_real *dx,
                            const tl_real *before) {
    size_t in = (size_t)d->g.in, out = (size_t)d->g.out;
    for (size_t at = 0; at < d->xs; at++) {
        double sum = before ? before[at] : 0;
        for (size_t k = 0; k < out; k++)
            sum += d->dy_d[at / in * out + k] * d->w_d[at % in * out + k];
        if (!(fabs(dx[at] - sum) <= 1e-4 * (1 + fabs(sum)))) return;
    }
    finding_pattern_of_case(c, "w_transposed");
}

/* The gradient starts as random numbers, so a call that overwrites fails, and one that averages. */
static void expect_gradient(claim *c, const call_target *t, const linear_data *d, gradient of) {
    size_t n = gradient_size(d, of), terms = gradient_terms(d, of) + 1;
    tl_real *before = draw_reals(c, n), *grad = copy_reals(c, before, n);
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    linear_data coarse = coarse_data(c, d);
    define_gradient(want, scale, d, of);
    define_gradient(rough, NULL, &coarse, of);
    for (size_t i = 0; i < n; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    double *bound = bound_of(c, scale, n, terms);
    call_gradient(c, t, grad, d, of);
    expect_added(c, gradient_name[of], grad, before, want, bound, gradient_shape(d, of));
    if (of == OF_INPUT && c->case_failed) tell_transposed(c, d, grad, before);
    expect_sharp(c, rough, want, bound, n);
    tl_real *again = copy_reals(c, before, n); /* threads may come in another order, numbers not */
    call_target other = claim_elsewhere(t), elsewhere = steps_failing(&other);
    call_gradient(c, &elsewhere, again, d, of);
    expect_same_bits(c, gradient_name[of], again, grad, gradient_shape(d, of));
}

CLAIM(lab3_linear, input_gradient_matches_definition_and_accumulates) {
    FOR_CASES (t, d) expect_gradient(c, t, &d, OF_INPUT);
}
CLAIM(lab3_linear, weight_gradient_matches_definition_and_accumulates) {
    FOR_CASES (t, d) expect_gradient(c, t, &d, OF_WEIGHT);
}
CLAIM(lab3_linear, bias_gradient_matches_definition_and_accumulates) {
    FOR_CASES (t, d) expect_gradient(c, t, &d, OF_BIAS);
}

void expect_linear(claim *c, const call_target *t, tl_linear_geom g, bool bias) {
    linear_data d = draw_shape(c, g);
    expect_forward(c, t, &d, bias);
    for (gradient of = OF_INPUT; of <= OF_BIAS; of++) expect_gradient(c, t, &d, of);
}

/* sum of dy * y by the oracle's forward alone; linear in x, w and b, so any step is exact. */
typedef struct forward_sum {
    const linear_data *d;
    double *y;
} forward_sum;

static double weighted_output(const void *user) {
    const forward_sum *f = user;
    double sum = 0;
    oracle_linear_fwd(f->y, NULL, f->d->x_d, f->d->w_d, f->d->b_d, &f->d->g);
    for (size_t i = 0; i < f->d->ys; i++) sum += f->d->dy_d[i] * f->y[i];
    return sum;
}

CLAIM(lab3_linear, all_gradients_match_numeric) {
    FOR_TARGETS (t)
        for (int s = 0; s < SMALL; s++)
            for (gradient of = OF_INPUT; of <= OF_BIAS; of++) {
                linear_data d = draw_data(c, s);
                size_t n = gradient_size(&d, of);
                double *numeric = doubles(c, n), *error = doubles(c, n), *scale = doubles(c, n);
                double *unused = doubles(c, n), *y_scale = doubles(c, d.ys), noise = 0;
                forward_sum f = {&d, doubles(c, d.ys)};
                oracle_linear_fwd(f.y, y_scale, d.x_d, d.w_d, d.b_d, &d.g);
                for (size_t i = 0; i < d.ys; i++) noise += fabs(d.dy_d[i]) * y_scale[i];
                noise *= bound_double((size_t)d.g.in + 1 + d.ys);
                double *varied = of == OF_INPUT ? d.x_d : of == OF_WEIGHT ? d.w_d : d.b_d;
                numeric_gradient(numeric, error, varied, n, 1, noise, weighted_output, &f);
                define_gradient(unused, scale, &d, of);
                double *bound = bound_of(c, scale, n, gradient_terms(&d, of));
                for (size_t i = 0; i < n; i++) bound[i] += error[i];
                tl_real *grad = reals(c, n);
                call_gradient(c, t, grad, &d, of);
                expect_close(c, gradient_name[of], grad, numeric, bound, gradient_shape(&d, of));
                if (of == OF_INPUT && c->case_failed) tell_transposed(c, &d, grad, NULL);
            }
}

/* Forward, then each gradient: the batch is a dimension of the product, and no launch belongs to
 * one image. */
static void multiply_images(claim *c, const call_target *t, int op, int images) {
    linear_data d = draw_shape(c, (tl_linear_geom){images, 12, 5});
    if (op == 0)
        expect_forward(c, t, &d, true);
    else
        expect_gradient(c, t, &d, (gradient)(op - 1));
}

/* The same with work for several threads; of a bias there are few, so that threads that share rows
 * meet in them for as long as they run. */
static threads_result multiply_threaded(claim *c, const call_target *t, int op) {
    const gradient of = (gradient)(op - 1);
    linear_data d = draw_shape(c, op == 1 + OF_BIAS ? (tl_linear_geom){20000, 1, 10}
                                                    : (tl_linear_geom){67, 97, 75});
    if (op > 0) {
        tl_real *grad = reals(c, gradient_size(&d, of));
        call_gradient(c, t, grad, &d, of);
        return (threads_result){gradient_name[of], grad, gradient_shape(&d, of)};
    }
    call_report r;
    tl_real *y = reals(c, d.ys);
    linear_case(c, t, "linear_fwd", &d.g);
    call_linear_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
    expect_ok(c, &r);
    return (threads_result){"y", y, AXES("nk", d.g.n, d.g.out)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab3_linear, multiply_threaded, 4)
CLAIM_LAUNCHES_DO_NOT_GROW(lab3_linear, multiply_images, 4)
CLAIM_NOTHING_WAITS(lab3_linear, multiply_images, 4, WARM)
