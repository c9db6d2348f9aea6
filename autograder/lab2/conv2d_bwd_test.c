/* conv2d_bwd_test.c: the three gradients of a convolution. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/columns.h"
#include "autograder/claim/conv2d_data.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/numeric.h"
#include "autograder/claim/verdict.h"

CLAIM(lab2_conv2d_bwd, input_gradient_matches_definition_and_accumulates) {
    FOR_CONV2D_CASES(t, d) expect_conv2d_gradient(c, t, &d, OF_INPUT);
}
CLAIM(lab2_conv2d_bwd, weight_gradient_matches_definition_and_accumulates) {
    FOR_CONV2D_CASES(t, d) expect_conv2d_gradient(c, t, &d, OF_WEIGHT);
}

/* 2^20 equal numbers in 2^10 images: one running sum loses digits, always in the same direction. A
 * sum of each image and one of these is short enough, and so is what a warp's threads add up. */
static void expect_long_bias(claim *c, const call_target *t) {
    tl_conv2d_geom g = {1024, 1, 32, 32, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0};
    if (tl_conv2d_check(&g) != TL_OK) claim_fail(c, "a long sum: %s", tl_error());
    conv2d_data d = conv2d_draw(c, &g);
    tl_real db = 0, naive = 0;
    for (size_t i = 0; i < d.ys; i++) naive += d.dy[i] = TL_R(0.1);
    double n = (double)d.ys, want = n * (double)TL_R(0.1), one_by_one = naive;
    double bound = n / 32 * bound_unit() * want;
    gradient_call(c, t, &db, &d, OF_BIAS);
    expect_close(c, "db", &db, &want, &bound, gradient_shape(&d, OF_BIAS));
    if ((double)db == one_by_one) finding_pattern_of_case(c, "one_chain");
    if (sizeof(tl_real) == sizeof(float)) expect_sharp(c, &one_by_one, &want, &bound, 1);
}

CLAIM(lab2_conv2d_bwd, bias_gradient_matches_definition_and_accumulates) {
    FOR_CONV2D_CASES(t, d) expect_conv2d_gradient(c, t, &d, OF_BIAS);
    FOR_TARGETS (t) expect_long_bias(c, t);
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
    gradient_define(unused, scale, d, of);
    tl_real *grad = reals(c, n);
    gradient_call(c, t, grad, d, of);
    double *bound = bound_of(c, scale, n, terms);
    for (size_t i = 0; i < n; i++) bound[i] += error[i];
    expect_close(c, gradient_name[of], grad, numeric, bound, gradient_shape(d, of));
}

static void expect_all_numeric(claim *c, gradient of) {
    FOR_TARGETS (t)
        for (int s = 0; s < CONV2D_SMALL; s++) {
            tl_conv2d_geom g = conv2d_shape(c, s);
            conv2d_data d = conv2d_draw(c, &g);
            expect_numeric(c, t, &d, of);
        }
}

CLAIM(lab2_conv2d_bwd, input_gradient_matches_numeric) { expect_all_numeric(c, OF_INPUT); }
CLAIM(lab2_conv2d_bwd, weight_gradient_matches_numeric) { expect_all_numeric(c, OF_WEIGHT); }
CLAIM(lab2_conv2d_bwd, bias_gradient_matches_numeric) { expect_all_numeric(c, OF_BIAS); }

/* Twice the same gradient is twice as much: chunks must not clear what is there, nor scratch leak
 * from one call into the next. */
static void expect_twice(claim *c, const call_target *t, const conv2d_data *d, gradient of) {
    size_t n = gradient_size(d, of), terms = 2 * gradient_terms(d, of);
    if (!bound_judges(terms)) return;
    tl_real *grad = reals(c, n), *again = reals(c, n);
    double *want = doubles(c, n), *scale = doubles(c, n);
    gradient_define(want, scale, d, of);
    call_target failing = steps_failing(t);
    gradient_call(c, &failing, grad, d, of);
    tl_real *once = copy_reals(c, grad, n);
    gradient_call(c, t, grad, d, of);
    for (size_t i = 0; i < n; i++) {
        want[i] *= 2;
        scale[i] *= 2;
    }
    double *bound = bound_of(c, scale, n, terms);
    expect_added(c, gradient_name[of], grad, once, want, bound, gradient_shape(d, of));
    /* threads may come in another order, numbers may not */
    call_target elsewhere = claim_elsewhere(t);
    gradient_call(c, &elsewhere, again, d, of);
    expect_same_bits(c, gradient_name[of], again, once, gradient_shape(d, of));
}

CLAIM(lab2_conv2d_bwd, second_call_adds_to_gradients) {
    FOR_TARGETS (t0)
        for (int s = 0; s < CONV2D_SMALL; s++)
            for (gradient of = OF_INPUT; of <= OF_BIAS; of++) {
                call_target t = *t0;
                tl_conv2d_geom g = conv2d_shape(c, s);
                t.column_bytes = s % 2; /* every other one an image at a time */
                conv2d_data d = conv2d_draw(c, &g);
                expect_twice(c, &t, &d, of);
            }
}

/* The last shapes, with each gradient. */
static threads_result threaded_gradient(claim *c, const call_target *t, int which) {
    tl_conv2d_geom g = conv2d_shape(c, CONV2D_THREADED + which / GRADIENTS);
    conv2d_data d = conv2d_draw(c, &g);
    gradient of = (gradient)(which % GRADIENTS);
    tl_real *grad = reals(c, gradient_size(&d, of));
    gradient_call(c, t, grad, &d, of);
    return (threads_result){gradient_name[of], grad, gradient_shape(&d, of)};
}

static void gradient_of_images(claim *c, const call_target *t, int op, int images) {
    tl_conv2d_geom g = columns_with_images(c, images);
    conv2d_data d = conv2d_draw(c, &g);
    expect_conv2d_gradient(c, t, &d, (gradient)op);
}

static void small_gradient(claim *c, const call_target *t, int which) {
    tl_conv2d_geom g = conv2d_shape(c, which / GRADIENTS);
    conv2d_data d = conv2d_draw(c, &g);
    expect_conv2d_gradient(c, t, &d, (gradient)(which % GRADIENTS));
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab2_conv2d_bwd, threaded_gradient,
                                    (CONV2D_SHAPES - CONV2D_THREADED) * GRADIENTS)
CLAIM_LAUNCHES_DO_NOT_GROW(lab2_conv2d_bwd, gradient_of_images, GRADIENTS)
CLAIM_NOTHING_WAITS(lab2_conv2d_bwd, gradient_of_images, GRADIENTS, WARM)
CLAIM_NO_TWO_THREADS_MEET(lab2_conv2d_bwd, small_gradient, 3 * GRADIENTS)
