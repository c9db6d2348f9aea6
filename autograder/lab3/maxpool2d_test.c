/* maxpool2d_test.c: max pooling with saved argmax. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/numeric.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

/* n, c, h, w, r, s, stride, pad */
static const tl_pool2d_geom shapes[] = {
    {2, 3, 7, 6, 3, 2, 2, 1, 1, 0, 0, 0}, /* nothing is square, windows overlap */
    {2, 2, 5, 9, 2, 3, 3, 2, 1, 2, 0, 0}, /* pad in both directions, stride > window */
    {3, 2, 6, 6, 2, 2, 2, 2, 0, 0, 0, 0}, /* as in the nets */
    {2, 2, 6, 5, 2, 2, 2, 2, 1, 0, 0, 0}, /* nearly so: with padding, in one direction */
    {1, 2, 5, 6, 2, 2, 2, 2, 0, 1, 0, 0}, /* and in the other */
    {2, 1, 4, 5, 2, 2, 2, 1, 0, 0, 0, 0}, /* windows side by side, but overlapping in one */
    {1, 2, 5, 4, 2, 2, 1, 2, 0, 0, 0, 0},
    {1, 2, 7, 7, 2, 2, 2, 2, 0, 0, 0, 0},   /* the last row and column are dropped */
    {2, 1, 5, 4, 3, 3, 1, 1, 1, 1, 0, 0},   /* every pixel in up to nine windows */
    {6, 4, 6, 6, 3, 3, 2, 2, 0, 0, 0, 0},   /* all is square, and windows overlap */
    {6, 4, 5, 5, 3, 3, 2, 2, 1, 1, 0, 0},   /* with padding, too */
    {1, 2, 3, 2, 5, 4, 1, 1, 2, 2, 0, 0},   /* a window bigger than the image */
    {2, 3, 4, 5, 1, 1, 1, 1, 0, 0, 0, 0},   /* 1x1: a copy */
    {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},   /* one number */
    {5, 1, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0},   /* one window per image */
    {67, 2, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0},  /* more images than two warps have threads */
    {4, 9, 32, 32, 2, 2, 2, 2, 0, 0, 0, 0}, /* work for several threads, twice */
    {3, 7, 20, 31, 3, 3, 1, 1, 1, 1, 0, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, SMALL = SHAPES - 3, AS_IN_THE_NETS = 2 };

#define FOR_SHAPES(g)                                                                              \
    for (int s_ = 0; s_ < SHAPES; s_++)                                                            \
        for (tl_pool2d_geom g = shape(c, s_); g.n; g.n = 0)

static tl_pool2d_geom shape(claim *c, int s) {
    tl_pool2d_geom g = shapes[s];
    if (tl_pool2d_check(&g) != TL_OK) claim_fail(c, "shape %d: %s", s, tl_error());
    return g;
}

static void pool_case(claim *c, const call_target *t, const char *op, const tl_pool2d_geom *g) {
    claim_case(c, t, "%s x[%d,%d,%d,%d] window %d,%d stride %d,%d pad %d,%d", op, g->n, g->c, g->h,
               g->w, g->r, g->s, g->stride_h, g->stride_w, g->pad_h, g->pad_w);
    claim_trait(c, "padding", g->pad_h + g->pad_w > 0);
    claim_trait(c, "overlap", g->stride_h < g->r || g->stride_w < g->s);
    claim_trait(c, "two_sizes", g->r != g->s);
    claim_trait(c, "plain_2x2_with_padding",
                g->r == 2 && g->s == 2 && g->stride_h == 2 && g->stride_w == 2 &&
                    g->pad_h + g->pad_w > 0);
    claim_trait(c, "two_strides", g->stride_h != g->stride_w);
    claim_trait(c, "nonsquare",
                g->h != g->w || g->r != g->s || g->stride_h != g->stride_w || g->pad_h != g->pad_w);
}

/* Too large: what does not belong to a window took part; too small: what does was left out. */
static void tell_sign(claim *c, const tl_real *y, const double *want, size_t n) {
    size_t larger = 0, smaller = 0, wrong = 0;
    for (size_t i = 0; i < n; i++) {
        wrong += y[i] != want[i];
        larger += y[i] > want[i];
        smaller += y[i] < want[i];
    }
    if (wrong && larger == wrong) finding_pattern_of_case(c, "all_larger");
    if (wrong && smaller == wrong) finding_pattern_of_case(c, "all_smaller");
}

/* Values and winners are copies and indices: there is one right answer. */
static void expect_forward(claim *c, const call_target *t, const tl_pool2d_geom *g,
                           const tl_real *x) {
    call_report r;
    size_t outs = tl_pool2d_y_size(g);
    tl_real *y = reals(c, outs);
    double *want = doubles(c, outs);
    int32_t *argmax = ints(c, outs), *winner = ints(c, outs);
    oracle_maxpool2d_fwd(want, winner, widen(c, x, tl_pool2d_x_size(g)), g);
    pool_case(c, t, "maxpool2d_fwd", g);
    call_maxpool2d_fwd(t, &r, y, argmax, x, g);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, AXES("ncpq", g->n, g->c, g->p, g->q));
    if (c->case_failed) tell_sign(c, y, want, outs);
    expect_ints(c, "argmax", argmax, winner, AXES("ncpq", g->n, g->c, g->p, g->q));
}

CLAIM(lab3_maxpool2d, forward_takes_the_largest) {
    FOR_TARGETS (t)
        FOR_SHAPES (g) expect_forward(c, t, &g, draw_reals(c, tl_pool2d_x_size(&g)));
}

/* Padding never wins, however negative the image is. */
CLAIM(lab3_maxpool2d, padding_loses_against_negative_numbers) {
    FOR_TARGETS (t)
        FOR_SHAPES (g) {
            tl_real *x = draw_between(c, tl_pool2d_x_size(&g), -3, -1);
            expect_forward(c, t, &g, x);
            for (size_t i = 0; i < tl_pool2d_x_size(&g); i++) /* they differ in the last digits */
                x[i] = (tl_real)(-1 - draw_int(c, 0, 999) * 2.0 * TL_REAL_ROUNDOFF);
            expect_forward(c, t, &g, x);
            for (size_t i = 0; i < tl_pool2d_x_size(&g); i++) x[i] = -TL_REAL_MAX;
            expect_forward(c, t, &g, x);
            for (size_t i = 0; i < tl_pool2d_x_size(&g); i++) x[i] = -(tl_real)INFINITY;
            expect_forward(c, t, &g, x);
        }
}

CLAIM(lab3_maxpool2d, the_first_of_equal_numbers_wins) {
    FOR_TARGETS (t)
        FOR_SHAPES (g) {
            size_t n = tl_pool2d_x_size(&g);
            tl_real *x = reals(c, n);
            expect_forward(c, t, &g, x); /* all zero, as behind a ReLU */
            for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -1, 1);
            expect_forward(c, t, &g, x);
        }
}

/* One pointer after the other, and a geometry whose p and q are those of another one. */
static void refuse_arguments(claim *c, const call_target *t) {
    call_report r;
    tl_pool2d_geom g = shape(c, 0);
    size_t n = tl_pool2d_x_size(&g), outs = tl_pool2d_y_size(&g);
    tl_real *x = draw_reals(c, n), *y = reals(c, outs), *dy = draw_reals(c, outs);
    int32_t *argmax = ints(c, outs);
    for (int k = 0; k < 6; k++) {
        static const char *const name[] = {"y", "argmax", "x", "dx", "dy", "argmax"};
        claim_case(c, t, "%s, where %s is NULL", k < 3 ? "maxpool2d_fwd" : "maxpool2d_bwd",
                   name[k]);
        if (k < 3)
            call_maxpool2d_fwd(t, &r, k == 0 ? NULL : y, k == 1 ? NULL : argmax, k == 2 ? NULL : x,
                               &g);
        else
            call_maxpool2d_bwd(t, &r, k == 3 ? NULL : x, k == 4 ? NULL : dy, k == 5 ? NULL : argmax,
                               &g);
        expect_refusal(c, &r);
    }
    g.p = g.q = 0;
    claim_case(c, t, "maxpool2d_fwd, where p and q are 0");
    call_maxpool2d_fwd(t, &r, y, argmax, x, &g);
    expect_refusal(c, &r);
}

/* One NaN, and a second one behind it that must not take its place. */
CLAIM(lab3_maxpool2d, nan_wins_over_numbers) {
    FOR_TARGETS (t) {
        FOR_SHAPES (g) {
            size_t n = tl_pool2d_x_size(&g);
            tl_real *x = draw_reals(c, n);
            x[(size_t)draw_int(c, 0, (int)n - 1)] = (tl_real)NAN;
            expect_forward(c, t, &g, x);
            x[(size_t)draw_int(c, 0, (int)n - 1)] = (tl_real)NAN;
            expect_forward(c, t, &g, x);
        }
        refuse_arguments(c, t);
    }
}

/* Is a wrong dx what comes out where its planes begin P*Q apart? before: NULL for zeros. */
static void tell_planes(claim *c, const tl_pool2d_geom *g, const tl_real *dx, const tl_real *before,
                        const tl_real *dy, const int32_t *argmax) {
    size_t n = tl_pool2d_x_size(g), outs = tl_pool2d_y_size(g);
    size_t plane = (size_t)g->p * (size_t)g->q;
    double *made = before ? widen(c, before, n) : doubles(c, n);
    for (size_t i = 0; i < outs; i++) {
        size_t at = i / plane * plane + (size_t)argmax[i];
        if (at >= n) return;
        made[at] += dy[i];
    }
    for (size_t i = 0; i < n; i++)
        if (!(fabs(dx[i] - made[i]) <= 1e-4)) return;
    finding_pattern_of_case(c, "planes_of_outputs");
}

/* Winners of numbers full of ties, so that a gradient given to every tied maximum shows. */
static void expect_backward(claim *c, const call_target *t, const tl_pool2d_geom *g) {
    call_report r;
    size_t n = tl_pool2d_x_size(g), outs = tl_pool2d_y_size(g);
    double *x = doubles(c, n), *y = doubles(c, outs);
    int32_t *argmax = ints(c, outs);
    for (size_t i = 0; i < n; i++) x[i] = draw_int(c, 0, 2);
    oracle_maxpool2d_fwd(y, argmax, x, g);
    tl_real *dy = draw_reals(c, outs), *before = draw_reals(c, n);
    tl_real *dx = copy_reals(c, before, n), *again = copy_reals(c, before, n);
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    double *dy_d = widen(c, dy, outs);
    oracle_maxpool2d_bwd(want, scale, dy_d, argmax, g);
    oracle_maxpool2d_bwd(rough, NULL, coarsen(c, dy_d, outs), argmax, g);
    for (size_t i = 0; i < n; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    double *bound = bound_of(c, scale, n, (size_t)g->r * (size_t)g->s + 1);
    pool_case(c, t, "maxpool2d_bwd", g);
    call_maxpool2d_bwd(t, &r, dx, dy, argmax, g);
    expect_ok(c, &r);
    expect_added(c, "dx", dx, before, want, bound, AXES("nchw", g->n, g->c, g->h, g->w));
    if (c->case_failed) tell_planes(c, g, dx, before, dy, argmax);
    expect_sharp(c, rough, want, bound, n);
    /* threads may come in another order, numbers may not */
    call_target elsewhere = claim_elsewhere(t);
    call_maxpool2d_bwd(&elsewhere, &r, again, dy, argmax, g);
    expect_ok(c, &r);
    expect_same_bits(c, "dx", again, dx, AXES("nchw", g->n, g->c, g->h, g->w));
}

CLAIM(lab3_maxpool2d, backward_goes_to_the_saved_winner_and_accumulates) {
    FOR_TARGETS (t)
        for (int k = 0; k < SHAPES; k++) { /* first one window for each winner, where an = shows */
            tl_pool2d_geom g = shape(c, (AS_IN_THE_NETS + k) % SHAPES);
            expect_backward(c, t, &g);
        }
}

void expect_maxpool2d(claim *c, const call_target *t, const tl_pool2d_geom *g, const tl_real *x) {
    expect_forward(c, t, g, x);
    expect_backward(c, t, g);
}

typedef struct forward_sum {
    const tl_pool2d_geom *g;
    double *x, *y, *dy;
    int32_t *argmax;
} forward_sum;

static double weighted_output(const void *user) {
    const forward_sum *f = user;
    double sum = 0;
    oracle_maxpool2d_fwd(f->y, f->argmax, f->x, f->g);
    for (size_t i = 0; i < tl_pool2d_y_size(f->g); i++) sum += f->dy[i] * f->y[i];
    return sum;
}

/* Forward and backward of the judged code in a row; values 1/8 apart and a step of 1/64, so that no
 * difference reaches a change of winner. */
CLAIM(lab3_maxpool2d, gradient_matches_numeric) {
    call_report r;
    FOR_TARGETS (t)
        for (int s = 0; s < SMALL; s++) {
            tl_pool2d_geom g = shape(c, s);
            size_t n = tl_pool2d_x_size(&g), outs = tl_pool2d_y_size(&g);
            tl_real *x = draw_distinct(c, n, 0.125), *dy = draw_reals(c, outs), *y = reals(c, outs);
            tl_real *dx = reals(c, n);
            int32_t *argmax = ints(c, outs);
            pool_case(c, t, "maxpool2d_fwd", &g);
            call_maxpool2d_fwd(t, &r, y, argmax, x, &g);
            expect_ok(c, &r);
            pool_case(c, t, "maxpool2d_bwd", &g);
            call_maxpool2d_bwd(t, &r, dx, dy, argmax, &g);
            expect_ok(c, &r);
            forward_sum f = {&g, widen(c, x, n), doubles(c, outs), widen(c, dy, outs),
                             ints(c, outs)};
            double *numeric = doubles(c, n), *error = doubles(c, n), *scale = doubles(c, n);
            double *unused = doubles(c, n), noise = 0;
            weighted_output(&f);
            for (size_t i = 0; i < outs; i++) noise += fabs(f.dy[i] * f.y[i]);
            oracle_maxpool2d_bwd(unused, scale, f.dy, f.argmax, &g);
            numeric_gradient(numeric, error, f.x, n, 1.0 / 64, noise * bound_double(outs),
                             weighted_output, &f);
            double *bound = bound_of(c, scale, n, (size_t)g.r * (size_t)g.s);
            for (size_t i = 0; i < n; i++) bound[i] += error[i];
            expect_close(c, "dx", dx, numeric, bound, AXES("nchw", g.n, g.c, g.h, g.w));
            if (c->case_failed) tell_planes(c, &g, dx, NULL, dy, argmax);
        }
}

/* dx of drawn winners: its values are other claims' business. */
static tl_real *run_backward(claim *c, const call_target *t, const tl_pool2d_geom *g) {
    call_report r;
    size_t n = tl_pool2d_x_size(g), outs = tl_pool2d_y_size(g);
    double *x = widen(c, draw_reals(c, n), n), *y = doubles(c, outs);
    tl_real *dx = reals(c, n);
    int32_t *argmax = ints(c, outs);
    if (n > 1) oracle_maxpool2d_fwd(y, argmax, x, g); /* of one pixel it is 0 */
    pool_case(c, t, "maxpool2d_bwd", g);
    call_maxpool2d_bwd(t, &r, dx, draw_reals(c, outs), argmax, g);
    expect_ok(c, &r);
    return dx;
}

/* Work for several threads; in the last, all windows of a plane have the same winner, so that
 * threads that share outputs, and not planes, meet for as long as they run. */
static threads_result pool_threaded(claim *c, const call_target *t, int which) {
    tl_pool2d_geom g = which < 2 ? (tl_pool2d_geom){3, 5, 40, 39, 3, 3, 1, 1, 1, 1, 0, 0}
                                 : (tl_pool2d_geom){1, 1, 1, 1, 384, 384, 1, 1, 383, 383, 0, 0};
    if (tl_pool2d_check(&g) != TL_OK) claim_fail(c, "geometry: %s", tl_error());
    if (which > 0)
        return (threads_result){"dx", run_backward(c, t, &g), AXES("nchw", g.n, g.c, g.h, g.w)};
    call_report r;
    size_t outs = tl_pool2d_y_size(&g);
    tl_real *both = reals(c, 2 * outs), *x = draw_reals(c, tl_pool2d_x_size(&g));
    int32_t *argmax = ints(c, outs);
    pool_case(c, t, "maxpool2d_fwd", &g);
    call_maxpool2d_fwd(t, &r, both, argmax, x, &g);
    expect_ok(c, &r);
    for (size_t i = 0; i < outs; i++) both[outs + i] = (tl_real)argmax[i];
    return (threads_result){"y, then argmax", both, SHAPE(2, g.n * g.c, g.p, g.q)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab3_maxpool2d, pool_threaded, 3)

/* Forward, or (op 1) backward. */
static void pool(claim *c, const call_target *t, int op, tl_pool2d_geom g) {
    if (tl_pool2d_check(&g) != TL_OK) claim_fail(c, "geometry: %s", tl_error());
    if (op == 0)
        expect_forward(c, t, &g, draw_reals(c, tl_pool2d_x_size(&g)));
    else
        run_backward(c, t, &g);
}

static void pool_images(claim *c, const call_target *t, int op, int images) {
    pool(c, t, op, (tl_pool2d_geom){images, 3, 7, 6, 3, 2, 2, 2, 1, 0, 0, 0});
}

/* A pixel wins up to nine times. */
static void pool_small(claim *c, const call_target *t, int op) {
    pool(c, t, op, (tl_pool2d_geom){2, 2, 9, 8, 3, 3, 1, 1, 1, 1, 0, 0});
}

CLAIM_LAUNCHES_DO_NOT_GROW(lab3_maxpool2d, pool_images, 2)
CLAIM_NOTHING_WAITS(lab3_maxpool2d, pool_images, 2, COLD)
CLAIM_NO_TWO_THREADS_MEET(lab3_maxpool2d, pool_small, 2)
