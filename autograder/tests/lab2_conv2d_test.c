/* lab2_conv2d_test.c: convolution forward and backward. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "bound.h"
#include "conv2d_shapes.h"
#include "expect.h"
#include "numeric.h"

/* Everything one geometry needs, drawn; _d are the same numbers for the oracle. */
typedef struct conv2d_data {
    tl_conv2d_geom g;
    size_t xs, ws, ys, ks;
    tl_real *x, *w, *b, *dy;
    double *x_d, *w_d, *b_d, *dy_d;
} conv2d_data;

static conv2d_data draw_data(claim *c, const tl_conv2d_geom *g) {
    conv2d_data d = {.g = *g,
                     .xs = tl_conv2d_x_size(g),
                     .ws = tl_conv2d_w_size(g),
                     .ys = tl_conv2d_y_size(g),
                     .ks = (size_t)g->k};
    d.x = draw_reals(c, d.xs);
    d.w = draw_reals(c, d.ws);
    d.b = draw_reals(c, d.ks);
    d.dy = draw_reals(c, d.ys);
    d.x_d = widen(c, d.x, d.xs);
    d.w_d = widen(c, d.w, d.ws);
    d.b_d = widen(c, d.b, d.ks);
    d.dy_d = widen(c, d.dy, d.ys);
    return d;
}

/* The same inputs with fewer digits: what a TF32 product would have seen. */
static conv2d_data coarse_data(claim *c, const conv2d_data *d) {
    conv2d_data coarse = *d;
    coarse.x_d = coarsen(c, d->x_d, d->xs);
    coarse.w_d = coarsen(c, d->w_d, d->ws);
    coarse.b_d = coarsen(c, d->b_d, d->ks);
    coarse.dy_d = coarsen(c, d->dy_d, d->ys);
    return coarse;
}

/* Each geometry with all columns at once and with one image at a time. */
#define FOR_CASES(t, d)                                                                            \
    FOR_TARGETS (t0_)                                                                              \
        for (int s_ = 0; s_ < 2 * CONV2D_SHAPES; s_++)                                             \
            for (call_target where_ = *t0_, *t = &where_; t; t = NULL)                             \
                for (conv2d_data d = next_data(c, t, s_); d.xs; d.xs = 0)

static conv2d_data next_data(claim *c, call_target *t, int s) {
    tl_conv2d_geom g = conv2d_shape(c, s / 2);
    if (s % 2) t->column_bytes = 1;
    return draw_data(c, &g);
}

/* y arrives poisoned: every element must be written, whichever taps lie in the padding. */
static void expect_forward(claim *c, const call_target *t, const conv2d_data *d, bool bias) {
    call_report r;
    const tl_conv2d_geom *g = &d->g;
    tl_real *y = reals(c, d->ys);
    double *want = doubles(c, d->ys), *scale = doubles(c, d->ys), *rough = doubles(c, d->ys);
    conv2d_data coarse = coarse_data(c, d);
    oracle_conv2d_fwd(want, scale, d->x_d, d->w_d, bias ? d->b_d : NULL, g);
    oracle_conv2d_fwd(rough, NULL, coarse.x_d, coarse.w_d, bias ? coarse.b_d : NULL, g);
    double *bound = bound_of(c, scale, d->ys, tl_conv2d_col_rows(g) + bias);
    conv2d_case(c, t, bias ? "conv2d_fwd" : "conv2d_fwd without bias", g);
    call_conv2d_fwd(t, &r, y, d->x, d->w, bias ? d->b : NULL, g);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, SHAPE(g->n, g->k, g->p, g->q));
    expect_sharp(c, rough, want, bound, d->ys);
}

CLAIM(lab2_conv2d, forward_matches_definition) {
    FOR_CASES (t, d) expect_forward(c, t, &d, true);
}

CLAIM(lab2_conv2d, forward_without_bias_matches_definition) {
    FOR_CASES (t, d) expect_forward(c, t, &d, false);
}

/* The three gradients have one shape of test: which call, which definition, over how many terms. */
typedef enum gradient { OF_INPUT, OF_WEIGHT, OF_BIAS } gradient;

static size_t gradient_size(const conv2d_data *d, gradient of) {
    return of == OF_INPUT ? d->xs : of == OF_WEIGHT ? d->ws : d->ks;
}

static size_t gradient_terms(const conv2d_data *d, gradient of) {
    const tl_conv2d_geom *g = &d->g;
    if (of == OF_INPUT) return (size_t)g->k * (size_t)g->r * (size_t)g->s;
    return (size_t)g->n * (size_t)g->p * (size_t)g->q;
}

static expect_shape gradient_shape(const conv2d_data *d, gradient of) {
    const tl_conv2d_geom *g = &d->g;
    if (of == OF_INPUT) return SHAPE(g->n, g->c, g->h, g->w);
    return of == OF_WEIGHT ? SHAPE(g->k, g->c, g->r, g->s) : SHAPE(g->k);
}

static const char *const gradient_name[] = {"dx", "dw", "db"};
static const char *const gradient_op[] = {"conv2d_bwd_input", "conv2d_bwd_weight",
                                          "conv2d_bwd_bias"};

/* The definitions visit the same terms as the forward formula. */
static void define_gradient(double *grad, double *scale, const conv2d_data *d, gradient of) {
    if (of == OF_INPUT) oracle_conv2d_bwd_input(grad, scale, d->dy_d, d->w_d, &d->g);
    if (of == OF_WEIGHT) oracle_conv2d_bwd_weight(grad, scale, d->dy_d, d->x_d, &d->g);
    if (of == OF_BIAS) oracle_conv2d_bwd_bias(grad, scale, d->dy_d, &d->g);
}

static void call_gradient(claim *c, const call_target *t, tl_real *grad, const conv2d_data *d,
                          gradient of) {
    call_report r;
    conv2d_case(c, t, gradient_op[of], &d->g);
    if (of == OF_INPUT) call_conv2d_bwd_input(t, &r, grad, d->dy, d->w, &d->g);
    if (of == OF_WEIGHT) call_conv2d_bwd_weight(t, &r, grad, d->dy, d->x, &d->g);
    if (of == OF_BIAS) call_conv2d_bwd_bias(t, &r, grad, d->dy, &d->g);
    expect_ok(c, &r);
}

/* The gradient starts as random numbers, so a call that overwrites fails. */
static void expect_gradient(claim *c, const call_target *t, const conv2d_data *d, gradient of) {
    size_t n = gradient_size(d, of), terms = gradient_terms(d, of) + 1;
    if (!bound_judges(terms)) return;
    tl_real *before = draw_reals(c, n), *grad = copy_reals(c, before, n);
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    conv2d_data coarse = coarse_data(c, d);
    define_gradient(want, scale, d, of);
    define_gradient(rough, NULL, &coarse, of);
    for (size_t i = 0; i < n; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    double *bound = bound_of(c, scale, n, terms);
    call_gradient(c, t, grad, d, of);
    expect_close(c, gradient_name[of], grad, want, bound, gradient_shape(d, of));
    expect_sharp(c, rough, want, bound, n);
}

CLAIM(lab2_conv2d, input_gradient_matches_definition_and_accumulates) {
    FOR_CASES (t, d) expect_gradient(c, t, &d, OF_INPUT);
}
CLAIM(lab2_conv2d, weight_gradient_matches_definition_and_accumulates) {
    FOR_CASES (t, d) expect_gradient(c, t, &d, OF_WEIGHT);
}
CLAIM(lab2_conv2d, bias_gradient_matches_definition_and_accumulates) {
    FOR_CASES (t, d) expect_gradient(c, t, &d, OF_BIAS);
}

/* sum of dy * y, by the oracle's forward alone: its derivative is what backward must return. */
typedef struct forward_sum {
    const conv2d_data *d;
    double *y;
} forward_sum;

static double weighted_output(const void *user) {
    const forward_sum *f = user;
    double sum = 0;
    oracle_conv2d_fwd(f->y, NULL, f->d->x_d, f->d->w_d, f->d->b_d, &f->d->g);
    for (size_t i = 0; i < f->d->ys; i++) sum += f->d->dy_d[i] * f->y[i];
    return sum;
}

/* Backward of the judged code against differences of a forward that it had no part in. */
static void expect_numeric(claim *c, const call_target *t, const conv2d_data *d, gradient of) {
    size_t n = gradient_size(d, of), terms = gradient_terms(d, of);
    double *numeric = doubles(c, n), *error = doubles(c, n), *scale = doubles(c, n);
    double *unused = doubles(c, n), *y_scale = doubles(c, d->ys), noise = 0;
    forward_sum f = {d, doubles(c, d->ys)};
    oracle_conv2d_fwd(f.y, y_scale, d->x_d, d->w_d, d->b_d, &d->g);
    for (size_t i = 0; i < d->ys; i++) noise += fabs(d->dy_d[i]) * y_scale[i];
    noise *= bound_double(tl_conv2d_col_rows(&d->g) + 1 + d->ys);
    double *varied = of == OF_INPUT ? d->x_d : of == OF_WEIGHT ? d->w_d : d->b_d;
    /* y is linear in each of them, so a step of 1 costs nothing but rounding */
    numeric_gradient(numeric, error, varied, n, 1, noise, weighted_output, &f);
    define_gradient(unused, scale, d, of);
    double *bound = bound_of(c, scale, n, terms);
    for (size_t i = 0; i < n; i++) bound[i] += error[i];
    tl_real *grad = reals(c, n);
    call_gradient(c, t, grad, d, of);
    expect_close(c, gradient_name[of], grad, numeric, bound, gradient_shape(d, of));
}

static void expect_all_numeric(claim *c, gradient of) {
    FOR_TARGETS (t)
        for (int s = 0; s < CONV2D_SMALL; s++) {
            tl_conv2d_geom g = conv2d_shape(c, s);
            conv2d_data d = draw_data(c, &g);
            expect_numeric(c, t, &d, of);
        }
}

CLAIM(lab2_conv2d, input_gradient_matches_numeric) { expect_all_numeric(c, OF_INPUT); }
CLAIM(lab2_conv2d, weight_gradient_matches_numeric) { expect_all_numeric(c, OF_WEIGHT); }
CLAIM(lab2_conv2d, bias_gradient_matches_numeric) { expect_all_numeric(c, OF_BIAS); }

/* Scratch left from the first call must not leak into the second. */
CLAIM(lab2_conv2d, second_call_overwrites_output_and_adds_to_gradients) {
    FOR_CASES (t, d) {
        if (!bound_judges(2 * gradient_terms(&d, OF_WEIGHT))) continue;
        if (!bound_judges(2 * gradient_terms(&d, OF_INPUT))) continue;
        call_report r;
        tl_real *first = reals(c, d.ys), *y = reals(c, d.ys);
        conv2d_case(c, t, "conv2d_fwd twice", &d.g);
        call_conv2d_fwd(t, &r, first, d.x, d.w, d.b, &d.g);
        expect_ok(c, &r);
        call_conv2d_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
        expect_ok(c, &r);
        expect_same_bits(c, "y", y, first, SHAPE(d.g.n, d.g.k, d.g.p, d.g.q));
        for (gradient of = OF_INPUT; of <= OF_BIAS; of++) {
            size_t n = gradient_size(&d, of);
            tl_real *grad = reals(c, n);
            double *want = doubles(c, n), *scale = doubles(c, n);
            define_gradient(want, scale, &d, of);
            for (size_t i = 0; i < n; i++) {
                want[i] *= 2;
                scale[i] *= 2;
            }
            double *bound = bound_of(c, scale, n, 2 * gradient_terms(&d, of));
            call_gradient(c, t, grad, &d, of);
            call_gradient(c, t, grad, &d, of);
            expect_close(c, gradient_name[of], grad, want, bound, gradient_shape(&d, of));
        }
    }
}

/* Plain path and rungs, each by itself: one thread gives the bits, more threads must repeat them.
 */
CLAIM(lab2_conv2d, bits_do_not_depend_on_threads) {
    static const int threads[] = {2, 3, 8};
    call_report r;
    for (int rungs = 0; rungs < 2; rungs++)
        for (int s = 0; s < CONV2D_SHAPES; s++) {
            tl_conv2d_geom g = conv2d_shape(c, s);
            conv2d_data d = draw_data(c, &g);
            tl_real *grad[4][3], *y[4];
            for (int k = 0; k < 4; k++) {
                call_target t = claim_targets[rungs ? 2 : 0];
                if (k) t.threads = threads[k - 1];
                y[k] = reals(c, d.ys);
                conv2d_case(c, &t, "conv2d_fwd", &g);
                call_conv2d_fwd(&t, &r, y[k], d.x, d.w, d.b, &g);
                expect_ok(c, &r);
                expect_same_bits(c, "y", y[k], y[0], SHAPE(g.n, g.k, g.p, g.q));
                for (gradient of = OF_INPUT; of <= OF_BIAS; of++) {
                    grad[k][of] = reals(c, gradient_size(&d, of));
                    call_gradient(c, &t, grad[k][of], &d, of);
                    expect_same_bits(c, gradient_name[of], grad[k][of], grad[0][of],
                                     gradient_shape(&d, of));
                }
            }
        }
}
