/* relu_test.c: the rectifier. Its results are copies or zero: compared exactly. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "cases.h"

static const int sizes[] = {33, 1, 7, 8, 1000, 70001};
#define FOR_SIZES(n)                                                                               \
    for (size_t at_ = 0, n; at_ < sizeof sizes / sizeof *sizes && (n = (size_t)sizes[at_]); at_++)

/* Above 0 by next to nothing, and a float all the same: a threshold that is not 0 takes it for
 * none. */
#define TINY 0x1p-100

/* A NaN stays a NaN. */
static void expect_forward(claim *c, const call_target *t, tl_real *x, size_t n) {
    call_report r;
    tl_real *y = reals(c, n);
    double *want = doubles(c, n);
    for (size_t i = 0; i < n; i++) want[i] = x[i] <= 0 ? 0 : x[i];
    claim_case(c, t, "relu_fwd of [%zu]", n);
    call_relu_fwd(t, &r, y, x, n);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, SHAPE((int)n));
    claim_case(c, t, "relu_fwd of [%zu] in place", n);
    call_target elsewhere = claim_elsewhere(t);
    call_relu_fwd(&elsewhere, &r, x, x, n);
    expect_ok(c, &r);
    expect_same_bits(c, "y", x, y, SHAPE((int)n));
}

CLAIM(lab3_relu, forward_keeps_what_is_positive) {
    FOR_TARGETS (t)
        FOR_SIZES (n) {
            tl_real *x = draw_reals(c, n);
            if (n > 2) {
                x[n / 3] = -TL_R(TINY);
                x[n / 2] = TL_R(TINY);
            }
            expect_forward(c, t, x, n);
        }
}

CLAIM(lab3_relu, nan_stays_nan_and_infinities_are_clipped) {
    call_report r;
    const double strange[8] = {NAN, INFINITY, -INFINITY, 0, -0.0, NAN, -1, 1};
    const double want[8] = {NAN, INFINITY, 0, 0, 0, NAN, 0, 1};
    FOR_TARGETS (t)
        for (int shift = 0; shift < 19; shift++) {
            /* at every position of a vector register, and in the rest behind the last one */
            tl_real x[27] = {0}, y[27];
            double expected[27] = {0};
            for (int i = 0; i < 8; i++) {
                x[shift + i] = (tl_real)strange[i];
                expected[shift + i] = want[i];
            }
            claim_case(c, t, "relu_fwd of NaN and infinities from position %d on", shift);
            call_relu_fwd(t, &r, y, x, 27);
            expect_ok(c, &r);
            expect_equal(c, "y", y, expected, SHAPE(27));
        }
}

/* Where all of y is above 0 the condition has no say: what is wrong there is what is added. NaN is
 * neither 0 nor above it: where every other y is NaN, nothing is added at these places. */
static void expect_passes(claim *c, const call_target *t, int n, bool nan) {
    call_report r;
    size_t size = (size_t)n;
    tl_real *y = draw_between(c, size, 0.5, 1), *dy = draw_reals(c, size);
    tl_real *before = draw_reals(c, size), *dx = copy_reals(c, before, size);
    double *want = doubles(c, size);
    for (int i = 0; i < n; i++) {
        bool adds = !nan || i % 2;
        want[i] = adds ? (tl_real)((double)before[i] + (double)dy[i]) : before[i];
        if (!adds) y[i] = (tl_real)NAN;
    }
    claim_case(c, t, "relu_bwd of [%d], y %s", n,
               nan ? "NaN at every other place" : "above 0 everywhere");
    call_relu_bwd(t, &r, dx, dy, y, size);
    expect_ok(c, &r);
    expect_added(c, "dx", dx, before, want, NULL, SHAPE(n));
}

/* dx starts as random numbers; where y is 0 it must stay as it is, also where x was exactly 0, and
 * whatever dy is there: infinity times 0 is NaN. */
static void expect_backward(claim *c, const call_target *t, size_t n) {
    call_report r;
    tl_real *y = draw_reals(c, n), *dy = draw_reals(c, n), *before = draw_reals(c, n);
    tl_real *dx = copy_reals(c, before, n);
    double *want = doubles(c, n);
    if (n > 2) y[n / 2] = TL_R(TINY);
    for (size_t i = 0; i < n; i++) {
        if (y[i] < 0) y[i] = 0;
        if (y[i] == 0 && i % 3 == 0) dy[i] = (tl_real)(i % 2 ? INFINITY : NAN);
        want[i] = y[i] > 0 ? (tl_real)((double)before[i] + (double)dy[i]) : before[i];
    }
    claim_case(c, t, "relu_bwd of [%zu]", n);
    call_relu_bwd(t, &r, dx, dy, y, n);
    expect_ok(c, &r);
    expect_added(c, "dx", dx, before, want, NULL, SHAPE((int)n));
}

CLAIM(lab3_relu, backward_passes_where_output_is_positive_and_accumulates) {
    FOR_TARGETS (t) {
        expect_passes(c, t, 9, false);
        FOR_SIZES (n) expect_backward(c, t, n);
        expect_passes(c, t, 33, true);
    }
}

void expect_relu(claim *c, const call_target *t, tl_real *x, size_t n) {
    expect_forward(c, t, x, n);
    expect_backward(c, t, n);
}

static void refuse_arguments(claim *c, const call_target *t) {
    enum { N = 5 };
    call_report r;
    tl_real *a = draw_reals(c, N), *b = draw_reals(c, N), *d = draw_reals(c, N);
    claim_case(c, t, "relu_fwd, where y is NULL");
    call_relu_fwd(t, &r, NULL, a, N);
    expect_refusal(c, &r);
    claim_case(c, t, "relu_fwd, where x is NULL");
    call_relu_fwd(t, &r, b, NULL, N);
    expect_refusal(c, &r);
    claim_case(c, t, "relu_bwd, where dx is NULL");
    call_relu_bwd(t, &r, NULL, a, b, N);
    expect_refusal(c, &r);
    claim_case(c, t, "relu_bwd, where dy is NULL");
    call_relu_bwd(t, &r, d, NULL, b, N);
    expect_refusal(c, &r);
    claim_case(c, t, "relu_bwd, where y is NULL");
    call_relu_bwd(t, &r, d, a, NULL, N);
    expect_refusal(c, &r);
    claim_case(c, t, "relu_fwd, where n is 0");
    call_relu_fwd(t, &r, b, a, 0);
    expect_refusal(c, &r);
}

/* max(x, 0) is its own derivative's primitive: away from 0, (f(x+h) - f(x-h)) / 2h is 0 or 1. */
CLAIM(lab3_relu, gradient_matches_numeric) {
    call_report r;
    const size_t n = 101;
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t), recorded = recorded_step(t);
        tl_real *x = draw_distinct(c, n, 0.125), *y = reals(c, n), *dx = reals(c, n);
        tl_real *dy = draw_reals(c, n), *again = reals(c, n);
        double *want = doubles(c, n), h = 1.0 / 64;
        claim_case(c, t, "relu_fwd and relu_bwd of [%zu]", n);
        call_relu_fwd(&failing, &r, y, x, n);
        expect_ok(c, &r);
        call_relu_bwd(&failing, &r, dx, dy, y, n);
        expect_ok(c, &r);
        for (size_t i = 0; i < n; i++)
            want[i] = dy[i] * (fmax(x[i] + h, 0) - fmax(x[i] - h, 0)) / (2 * h);
        expect_equal(c, "dx", dx, want, SHAPE((int)n));
        call_relu_fwd(&recorded, &r, y, x, n);
        expect_ok(c, &r);
        call_relu_bwd(&recorded, &r, again, dy, y, n);
        expect_ok(c, &r);
        expect_same_bits(c, "dx", again, dx, SHAPE((int)n));
        refuse_arguments(c, t);
    }
}
