/* elementwise_test.c: operations that treat every element alone. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

#include <string.h>

/* Around a vector register, one element, what is not round, and enough for several threads. */
static const int sizes[] = {7, 1, 8, 9, 31, 257, 4099, 70001};
#define FOR_SIZES(n)                                                                               \
    for (size_t at_ = 0, n; at_ < sizeof sizes / sizeof *sizes && (n = (size_t)sizes[at_]); at_++)

static void elementwise_case(claim *c, const call_target *t, const char *op, size_t n) {
    claim_case(c, t, "%s of [%zu]", op, n);
    claim_trait(c, "off_tile", n % 8 != 0);
    claim_trait(c, "large", n > 256);
    claim_size(c, "n", (long long)n);
}

/* Sums and products of two numbers are rounded once: there is one right answer. In float the double
 * result rounded to float is that answer (Figueroa 1995: 53 >= 2*24 + 2). */
static double *rounded(claim *c, const double *x, size_t n) {
    double *y = doubles(c, n);
    for (size_t i = 0; i < n; i++) y[i] = (tl_real)x[i];
    return y;
}

static void expect_fill(claim *c, const call_target *t, size_t n, double value) {
    call_report r;
    tl_real *y = reals(c, n);
    double *want = doubles(c, n);
    for (size_t i = 0; i < n; i++) want[i] = (tl_real)value;
    elementwise_case(c, t, value == 0 ? "fill with 0" : "fill", n);
    call_fill(t, &r, y, n, value);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, SHAPE((int)n));
}

static void expect_filled(claim *c, const call_target *t, size_t n) {
    expect_fill(c, t, n, draw_uniform(c, -3, 3));
}

CLAIM(lab1_elementwise, fill_sets_every_element) {
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t), recorded = recorded_step(t);
        FOR_SIZES (n) expect_filled(c, &failing, n);
        expect_fill(c, &recorded, 257, 0);
        if (c->case_failed) finding_pattern_of_case(c, "of_zero");
    }
}

static void expect_add(claim *c, const call_target *t, size_t n) {
    call_report r;
    tl_real *a = draw_reals(c, n), *b = draw_reals(c, n), *y = reals(c, n);
    double *want = doubles(c, n);
    for (size_t i = 0; i < n; i++) want[i] = (double)a[i] + (double)b[i];
    elementwise_case(c, t, "add", n);
    call_add(t, &r, y, a, b, n);
    expect_ok(c, &r);
    expect_equal(c, "y", y, rounded(c, want, n), SHAPE((int)n));
}

CLAIM(lab1_elementwise, add_is_rounded_once) {
    FOR_TARGETS (t)
        FOR_SIZES (n) expect_add(c, t, n);
}

static void expect_mul(claim *c, const call_target *t, size_t n) {
    call_report r;
    tl_real *a = draw_reals(c, n), *b = draw_reals(c, n), *y = reals(c, n);
    double *want = doubles(c, n);
    for (size_t i = 0; i < n; i++) want[i] = (double)a[i] * (double)b[i];
    elementwise_case(c, t, "mul", n);
    call_mul(t, &r, y, a, b, n);
    expect_ok(c, &r);
    expect_equal(c, "y", y, rounded(c, want, n), SHAPE((int)n));
}

CLAIM(lab1_elementwise, mul_is_rounded_once) {
    FOR_TARGETS (t)
        FOR_SIZES (n) expect_mul(c, t, n);
}

static void expect_scale(claim *c, const call_target *t, size_t n) {
    call_report r;
    tl_real *x = draw_reals(c, n), *y = reals(c, n);
    tl_real factor = (tl_real)draw_uniform(c, -2, 2);
    double *want = doubles(c, n);
    for (size_t i = 0; i < n; i++) want[i] = (double)x[i] * (double)factor;
    elementwise_case(c, t, "scale", n);
    call_scale(t, &r, y, x, n, factor);
    expect_ok(c, &r);
    expect_equal(c, "y", y, rounded(c, want, n), SHAPE((int)n));
}

CLAIM(lab1_elementwise, scale_is_rounded_once) {
    FOR_TARGETS (t)
        FOR_SIZES (n) expect_scale(c, t, n);
}

/* y0 + a*b element by element, with its bound, for axpy (a constant) and mul_add. */
static void expect_sum_of(claim *c, const tl_real *got, const tl_real *y0, const tl_real *a,
                          const tl_real *b, size_t n) {
    double *want = doubles(c, n), *scale = doubles(c, n), *coarse = doubles(c, n);
    double *a_coarse = coarsen(c, widen(c, a, n), n), *b_coarse = coarsen(c, widen(c, b, n), n);
    for (size_t i = 0; i < n; i++) {
        want[i] = (double)y0[i] + (double)a[i] * (double)b[i];
        scale[i] = fabs((double)y0[i]) + fabs((double)a[i] * (double)b[i]);
        coarse[i] = (double)y0[i] + a_coarse[i] * b_coarse[i];
    }
    double *bound = bound_of(c, scale, n, 2);
    expect_added(c, "y", got, y0, want, bound, SHAPE((int)n));
    expect_sharp(c, coarse, want, bound, n);
}

/* Two roundings, or one fused: both lie within the bound. */
static void expect_axpy(claim *c, const call_target *t, size_t n) {
    call_report r;
    tl_real *x = draw_reals(c, n), *y0 = draw_reals(c, n), *y = copy_reals(c, y0, n);
    tl_real *alpha = reals(c, n);
    tl_real factor = (tl_real)draw_uniform(c, -2, 2);
    for (size_t i = 0; i < n; i++) alpha[i] = factor;
    elementwise_case(c, t, "axpy", n);
    call_axpy(t, &r, y, x, n, factor);
    expect_ok(c, &r);
    expect_sum_of(c, y, y0, alpha, x, n);
}

CLAIM(lab1_elementwise, axpy_adds_to_what_is_there) {
    FOR_TARGETS (t)
        FOR_SIZES (n) expect_axpy(c, t, n);
}

static void expect_mul_add(claim *c, const call_target *t, size_t n) {
    call_report r;
    tl_real *a = draw_reals(c, n), *dy = draw_reals(c, n);
    tl_real *dx0 = draw_reals(c, n), *dx = copy_reals(c, dx0, n);
    elementwise_case(c, t, "mul_add", n);
    call_mul_add(t, &r, dx, a, dy, n);
    expect_ok(c, &r);
    expect_sum_of(c, dx, dx0, a, dy, n);
}

CLAIM(lab1_elementwise, mul_add_adds_to_what_is_there) {
    FOR_TARGETS (t)
        FOR_SIZES (n) expect_mul_add(c, t, n);
}

/* The operands of an operation in place, y and two inputs: which of them are one array. */
typedef enum shared { Y_IS_A, Y_IS_B, ALL_ARE_ONE } shared;
static const char *const shared_name[] = {"into its first input", "into its second input",
                                          "of an array with itself, into it"};

typedef void (*of_two)(call_where, call_report *, tl_real *, const tl_real *, const tl_real *,
                       size_t);

/* Elements are treated alone, so the same numbers give the same bits wherever the result goes. The
 * call in place may only queue work, too. */
static void expect_in_place(claim *c, const call_target *t, const char *name, of_two call,
                            shared which, bool adds, size_t n) {
    call_report r;
    call_target failing = launches_failing(t);
    tl_real *a = draw_reals(c, n), *b = which == ALL_ARE_ONE ? a : draw_reals(c, n);
    tl_real *one = copy_reals(c, which == Y_IS_B ? b : a, n);
    tl_real *y = adds ? copy_reals(c, one, n) : reals(c, n);
    claim_case(c, t, "%s of [%zu] %s", name, n, shared_name[which]);
    call(&failing, &r, y, copy_reals(c, a, n), copy_reals(c, b, n), n);
    expect_ok(c, &r);
    call_target elsewhere = claim_elsewhere(t);
    elsewhere.recorded = true; /* where the plain call has been right */
    call(&elsewhere, &r, one, which == Y_IS_B ? a : one, which == Y_IS_A ? b : one, n);
    expect_ok(c, &r);
    expect_same_bits(c, adds ? "dx" : "y", one, y, SHAPE((int)n));
    if (n > 256) finding_pattern_of_case(c, "large"); /* all small ones come first */
}

static void call_scale_of_two(call_where t, call_report *r, tl_real *y, const tl_real *a,
                              const tl_real *b, size_t n) {
    (void)b;
    call_scale(t, r, y, a, n, 0.375);
}

static void call_axpy_of_two(call_where t, call_report *r, tl_real *y, const tl_real *a,
                             const tl_real *b, size_t n) {
    (void)b;
    call_axpy(t, r, y, a, n, 0.375);
}

/* Whoever clears the output first, or forms it in two passes, loses an input; so does who takes an
 * element twice, as threads of several blocks may. */
static void expect_all_in_place(claim *c, const call_target *t, shared which, size_t n) {
    expect_in_place(c, t, "add", call_add, which, false, n);
    expect_in_place(c, t, "mul", call_mul, which, false, n);
    expect_in_place(c, t, "mul_add", call_mul_add, which, true, n);
    if (which != Y_IS_A) return;
    expect_in_place(c, t, "scale", call_scale_of_two, which, false, n);
    expect_in_place(c, t, "axpy", call_axpy_of_two, which, true, n);
}

CLAIM(lab1_elementwise, output_may_be_an_input) {
    FOR_TARGETS (t)
        for (size_t n = 37; n <= 601; n += 564)
            for (shared which = Y_IS_A; which <= ALL_ARE_ONE; which++)
                expect_all_in_place(c, t, which, n);
}

void expect_elementwise(claim *c, const call_target *t, size_t n, int same) {
    static void (*const alone[])(claim *, const call_target *, size_t) = {
        expect_filled, expect_add, expect_mul, expect_scale, expect_axpy, expect_mul_add};
    for (size_t i = 0; same == 0 && i < sizeof alone / sizeof *alone; i++) alone[i](c, t, n);
    if (same != 0) expect_all_in_place(c, t, (shared)(same - 1), n);
}

/* All of them one after the other: who lets every thread take every element adds several times. */
static threads_result one_after_the_other(claim *c, const call_target *t, int which) {
    enum { N = 70001 }; /* short arrays may stay on one thread */
    call_report r;
    tl_real *a = draw_reals(c, N), *b = draw_reals(c, N), *y = reals(c, 6 * N);
    (void)which;
    claim_case(c, t, "fill, add, mul, scale, axpy, mul_add of [%d]", (int)N);
    call_fill(t, &r, y, N, 0.75);
    expect_ok(c, &r);
    call_add(t, &r, y + N, a, b, N);
    expect_ok(c, &r);
    call_mul(t, &r, y + 2 * N, a, b, N);
    expect_ok(c, &r);
    call_scale(t, &r, y + 3 * N, a, N, 0.375);
    expect_ok(c, &r);
    memcpy(y + 4 * N, b, N * sizeof *y);
    call_axpy(t, &r, y + 4 * N, a, N, 0.375);
    expect_ok(c, &r);
    memcpy(y + 5 * N, a, N * sizeof *y);
    call_mul_add(t, &r, y + 5 * N, a, b, N);
    expect_ok(c, &r);
    return (threads_result){"all results", y, SHAPE(6, N)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab1_elementwise, one_after_the_other, 1)
