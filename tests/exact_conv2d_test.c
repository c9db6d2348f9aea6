/* exact_conv2d_test.c: convolutions of small whole numbers, whose result is exact.
 *
 * Bounds of float end at 1,024 terms (autograder/claim/bound.h). Sums of whole numbers below 2^24
 * are exact in any order and at any length, so every kernel must give them bit for bit: a lost
 * tail, a wrong mask and a sum that lost digits on its way all show. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/conv2d_data.h"
#include "autograder/claim/expect.h"
#include "autograder/oracle/oracle.h"

#include <math.h>
#include <string.h>

/* Terms are up to MOST * MOST: 2^24 / MOST^2 of them, a million, add up without rounding. */
enum { MOST = 4 };

/*  n, c, h, w, k, r, s, stride, pad, dilation (h and w each). No K, C*R*S or number of outputs is a
 *  multiple of a tile; c and k go through all tiles of dx and y. */
static const tl_conv2d_geom shapes[] = {
    {3, 3, 11, 13, 5, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},    /* few channels */
    {2, 5, 17, 19, 13, 3, 2, 2, 3, 1, 0, 1, 2, 0, 0},   /* nothing is square */
    {5, 7, 9, 10, 3, 2, 3, 3, 2, 2, 2, 2, 1, 0, 0},     /* stride beyond the filter */
    {2, 4, 23, 26, 9, 5, 4, 3, 3, 2, 1, 2, 2, 0, 0},    /* stride and dilation in both */
    {2, 9, 19, 15, 17, 3, 3, 2, 2, 1, 1, 2, 2, 0, 0},   /* pixels that no output sees */
    {301, 4, 1, 1, 9, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},    /* planes of one pixel */
    {2, 33, 7, 9, 37, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},    /* more taps than a block knows at once */
    {1, 21, 12, 11, 125, 3, 3, 1, 1, 0, 1, 1, 1, 0, 0}, /* K and C*R*S beyond large tiles */
    {3, 5, 107, 107, 33, 1, 2, 1, 1, 0, 0, 1, 1, 0, 0}, /* outputs for large tiles of y */
    {3, 33, 107, 107, 5, 2, 1, 1, 1, 1, 0, 1, 1, 0, 0}, /* pixels for large tiles of dx */
    {3, 8, 215, 108, 65, 1, 2, 2, 1, 0, 0, 1, 1, 0, 0}, /* y of many products ... */
    {3, 65, 108, 107, 8, 2, 1, 1, 1, 1, 0, 1, 1, 0, 0}, /* ... and dx */
    {2, 64, 17, 19, 112, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0}, /* many products, but few outputs */
    {5, 37, 7, 9, 45, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},    /* blocks of channels, images by two */
    {3, 50, 20, 27, 33, 3, 2, 1, 1, 1, 0, 1, 1, 0, 0},  /* ... and rows by four */
    {2, 40, 12, 16, 35, 5, 4, 1, 1, 2, 1, 1, 1, 0, 0},  /* ... and a large filter */
    {67, 1, 63, 64, 2, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},   /* 270,144 terms in a weight */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static tl_real *whole_numbers(claim *c, size_t n) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -MOST, MOST);
    return x;
}

static conv2d_data whole_data(claim *c, int s) {
    tl_conv2d_geom g = shapes[s];
    if (tl_conv2d_check(&g) != TL_OK) claim_fail(c, "shape %d: %s", s, tl_error());
    conv2d_data d = {.g = g,
                     .xs = tl_conv2d_x_size(&g),
                     .ws = tl_conv2d_w_size(&g),
                     .ys = tl_conv2d_y_size(&g),
                     .ks = (size_t)g.k};
    d.x_d = widen(c, d.x = whole_numbers(c, d.xs), d.xs);
    d.w_d = widen(c, d.w = whole_numbers(c, d.ws), d.ws);
    d.b_d = widen(c, d.b = whole_numbers(c, d.ks), d.ks);
    d.dy_d = widen(c, d.dy = whole_numbers(c, d.ys), d.ys);
    return d;
}

CLAIM(exact_conv2d, forward_of_whole_numbers_is_exact) {
    for (int s = 0; s < SHAPES; s++) {
        conv2d_data d = whole_data(c, s);
        double *want = doubles(c, d.ys);
        oracle_conv2d_fwd(want, NULL, d.x_d, d.w_d, d.b_d, &d.g);
        FOR_TARGETS (t) {
            call_report r;
            tl_real *y = reals(c, d.ys);
            conv2d_case(c, t, "conv2d_fwd of whole numbers", &d.g);
            call_conv2d_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
            expect_ok(c, &r);
            expect_equal(c, "y", y, want, AXES("nkpq", d.g.n, d.g.k, d.g.p, d.g.q));
        }
    }
}

/* Added to whole numbers. */
static void expect_exact(claim *c, gradient of) {
    for (int s = 0; s < SHAPES; s++) {
        conv2d_data d = whole_data(c, s);
        size_t n = gradient_size(&d, of);
        tl_real *before = whole_numbers(c, n);
        double *want = doubles(c, n);
        gradient_define(want, NULL, &d, of);
        for (size_t i = 0; i < n; i++) want[i] += (double)before[i];
        FOR_TARGETS (t) {
            tl_real *grad = copy_reals(c, before, n);
            gradient_call(c, t, grad, &d, of);
            expect_equal(c, gradient_name[of], grad, want, gradient_shape(&d, of));
        }
    }
}

CLAIM(exact_conv2d, input_gradient_of_whole_numbers_is_exact) { expect_exact(c, OF_INPUT); }
CLAIM(exact_conv2d, weight_gradient_of_whole_numbers_is_exact) { expect_exact(c, OF_WEIGHT); }
CLAIM(exact_conv2d, bias_gradient_of_whole_numbers_is_exact) { expect_exact(c, OF_BIAS); }

/* ---- ended by a ReLU (tl/fused.h), where a device has that; else it says so ---- */

static bool has_fused(const call_target *t) {
    return strcmp(t->device, "cpu") != 0 && strcmp(t->rungs, "all") == 0;
}

static void expect_relu_forward(claim *c, const call_target *t, const conv2d_data *d,
                                const double *want) {
    call_report r;
    tl_real *y = reals(c, d->ys);
    conv2d_case(c, t, "conv2d_relu_fwd of whole numbers", &d->g);
    call_conv2d_relu_fwd(t, &r, y, d->x, d->w, d->b, &d->g);
    if (!has_fused(t)) {
        expect_status(c, &r, TL_ENOTIMPL);
        return;
    }
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, AXES("nkpq", d->g.n, d->g.k, d->g.p, d->g.q));
}

CLAIM(exact_conv2d, forward_with_relu_of_whole_numbers_is_exact) {
    for (int s = 0; s < SHAPES; s++) {
        conv2d_data d = whole_data(c, s);
        double *want = doubles(c, d.ys);
        oracle_conv2d_fwd(want, NULL, d.x_d, d.w_d, d.b_d, &d.g);
        for (size_t i = 0; i < d.ys; i++) want[i] = fmax(want[i], 0);
        FOR_TARGETS (t) expect_relu_forward(c, t, &d, want);
    }
}

/* As in tl_relu_fwd: a net that has diverged must show it. */
CLAIM(exact_conv2d, a_nan_passes_the_relu_at_the_end) {
    FOR_TARGETS (t) {
        call_report r;
        conv2d_data d = whole_data(c, 0);
        tl_real *y = reals(c, d.ys);
        size_t plane = (size_t)d.g.p * (size_t)d.g.q, channels = (size_t)d.g.k;
        d.b[1] = (tl_real)NAN;
        conv2d_case(c, t, "conv2d_relu_fwd, one bias a NaN", &d.g);
        call_conv2d_relu_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
        if (!has_fused(t)) {
            expect_status(c, &r, TL_ENOTIMPL);
            continue;
        }
        expect_ok(c, &r);
        for (size_t i = 0; i < d.ys; i++)
            expect_true(c, isnan(y[i]) == (i / plane % channels == 1), "y[%zu] is %g", i,
                        (double)y[i]);
    }
}

/* dx is overwritten, whatever was there, and 0 where x, as a ReLU's result, is not positive. */
CLAIM(exact_conv2d, input_gradient_behind_a_relu_is_exact) {
    for (int s = 0; s < SHAPES; s++) {
        conv2d_data d = whole_data(c, s);
        double *want = doubles(c, d.xs), *masked = doubles(c, d.xs);
        expect_shape shape = gradient_shape(&d, OF_INPUT);
        gradient_define(want, NULL, &d, OF_INPUT);
        for (size_t i = 0; i < d.xs; i++) masked[i] = d.x_d[i] > 0 ? want[i] : 0;
        FOR_TARGETS (t) {
            for (int with_x = 0; with_x < 2; with_x++) {
                call_report r;
                tl_real *dx = reals(c, d.xs);
                conv2d_case(c, t, with_x ? "conv2d_relu_bwd_input" : "conv2d_relu_bwd_input, no x",
                            &d.g);
                call_conv2d_relu_bwd_input(t, &r, dx, d.dy, d.w, with_x ? d.x : NULL, &d.g);
                if (!has_fused(t)) {
                    expect_status(c, &r, TL_ENOTIMPL);
                    continue;
                }
                expect_ok(c, &r);
                expect_equal(c, "dx", dx, with_x ? masked : want, shape);
            }
        }
    }
}
