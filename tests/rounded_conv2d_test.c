/* rounded_conv2d_test.c: convolutions in TF32, bfloat16 and half precision (rounded.h).
 *
 * In 16 bits results are rounded, too: y, what is added to dx and dw, and dx (tl/precision.h). Of
 * whole numbers the sum is exact until then, so the number that must come out is known. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/conv2d_data.h"
#include "autograder/oracle/oracle.h"
#include "rounded.h"

#ifndef TL_REAL_DOUBLE

enum { MOST = 4 };

/*  n, c, h, w, k, r, s, stride, pad, dilation (h and w each). Channels of whole slices, off them,
 *  and for tiles of either width; few, which tensor cores leave. */
static const tl_conv2d_geom shapes[] = {
    {2, 32, 9, 7, 64, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},   /* whole slices */
    {3, 17, 8, 11, 19, 3, 2, 2, 3, 1, 0, 1, 2, 0, 0},  /* nothing is square */
    {2, 40, 11, 6, 70, 2, 3, 1, 2, 2, 2, 2, 1, 0, 0},  /* wide tiles of y */
    {1, 130, 5, 7, 33, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},  /* wide tiles of dx, one tap */
    {9, 16, 13, 12, 16, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0}, /* outputs for some shares of dw */
    {40, 16, 1, 1, 20, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},  /* planes of one pixel */
    {2, 5, 7, 9, 18, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},    /* few channels */
    /* squares of 8x8 outputs, which read patches: */
    {3, 33, 8, 8, 100, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},  /* odd in number, wide tiles */
    {2, 100, 8, 8, 34, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},  /* wide tiles of dx */
    {13, 40, 8, 16, 33, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0}, /* for some shares of dw */
    {2, 34, 10, 18, 36, 3, 3, 1, 1, 0, 0, 1, 1, 0, 0}, /* forward alone, without padding */
    {2, 36, 8, 8, 34, 3, 3, 1, 1, 2, 2, 1, 1, 0, 0},   /* dx alone */
    {2, 36, 10, 6, 34, 3, 3, 1, 1, 0, 2, 1, 1, 0, 0},  /* padded one way */
    {400, 16, 8, 8, 16, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0}, /* more than there are warpgroups */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static conv2d_data draw(claim *c, int s, bool whole) {
    tl_conv2d_geom g = shapes[s];
    if (tl_conv2d_check(&g) != TL_OK) claim_fail(c, "shape %d: %s", s, tl_error());
    conv2d_data d = conv2d_draw(c, &g);
    tl_real *array[] = {d.x, d.w, d.b, d.dy};
    double *wide[] = {d.x_d, d.w_d, d.b_d, d.dy_d};
    size_t size[] = {d.xs, d.ws, d.ks, d.ys};
    for (int a = 0; whole && a < 4; a++)
        for (size_t i = 0; i < size[a]; i++)
            wide[a][i] = array[a][i] = (tl_real)draw_int(c, -MOST, MOST);
    return d;
}

/* What the definition is given: operands as the contract has them. */
static conv2d_data operands(claim *c, const conv2d_data *d, tl_precision p) {
    conv2d_data r = *d;
    r.x_d = rounded_numbers(c, d->x_d, d->xs, p);
    r.w_d = rounded_numbers(c, d->w_d, d->ws, p);
    r.dy_d = rounded_numbers(c, d->dy_d, d->ys, p);
    if (tl_in_16_bits(p)) r.b_d = rounded_numbers(c, d->b_d, d->ks, p);
    return r;
}

/* One image at a time, or as many as there is room for. */
static void in_chunks(call_target *t, const tl_conv2d_geom *g, bool single) {
    t->column_bytes = single ? tl_conv2d_col_rows(g) * tl_conv2d_col_cols(g) * sizeof(tl_real) : 0;
}

static void expect_forward(claim *c, bool whole) {
    for (int s = 0; s < SHAPES; s++) {
        conv2d_data d = draw(c, s, whole);
        FOR_ROUNDED_TARGETS(t) {
            call_report r;
            char name[32];
            conv2d_data in = operands(c, &d, t->precision);
            double *want = doubles(c, d.ys), *scale = doubles(c, d.ys);
            oracle_conv2d_fwd(want, scale, in.x_d, in.w_d, in.b_d, &d.g);
            double *bound = rounded_bound(c, scale, d.ys, d.ws / d.ks + 1);
            for (size_t i = 0; i < d.ys; i++)
                want[i] = rounded_result(want[i], t->precision, whole ? NULL : &bound[i]);
            tl_real *y = reals(c, d.ys);
            in_chunks(t, &d.g, s % 2);
            snprintf(name, sizeof name, "conv2d_fwd in %s", tl_precision_name(t->precision));
            conv2d_case(c, t, name, &d.g);
            call_conv2d_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
            expect_ok(c, &r);
            expect_shape shape = AXES("nkpq", d.g.n, d.g.k, d.g.p, d.g.q);
            if (whole)
                expect_equal(c, "y", y, want, shape);
            else
                expect_close(c, "y", y, want, bound, shape);
        }
    }
}

static void expect_gradient(claim *c, gradient of, bool whole) {
    for (int s = 0; s < SHAPES; s++) {
        conv2d_data d = draw(c, s, whole);
        size_t n = gradient_size(&d, of);
        tl_real *before = draw_reals(c, n);
        for (size_t i = 0; whole && i < n; i++) before[i] = (tl_real)draw_int(c, -MOST, MOST);
        FOR_ROUNDED_TARGETS(t) {
            conv2d_data in = operands(c, &d, t->precision);
            double *want = doubles(c, n), *scale = doubles(c, n);
            gradient_define(want, scale, &in, of);
            double *bound = rounded_bound(c, scale, n, gradient_terms(&d, of) + 1);
            for (size_t i = 0; i < n; i++) {
                double *allowed = whole ? NULL : &bound[i];
                want[i] = rounded_result(want[i], t->precision, allowed) + (double)before[i];
                if (allowed) *allowed += fabs(want[i]) * 0x1p-23;
                if (of == OF_INPUT) want[i] = rounded_result(want[i], t->precision, allowed);
            }
            tl_real *grad = copy_reals(c, before, n);
            in_chunks(t, &d.g, s % 2);
            gradient_call(c, t, grad, &d, of);
            if (whole)
                expect_equal(c, gradient_name[of], grad, want, gradient_shape(&d, of));
            else
                expect_close(c, gradient_name[of], grad, want, bound, gradient_shape(&d, of));
        }
    }
}

CLAIM(rounded_conv2d, forward_of_whole_numbers_is_exact) { expect_forward(c, true); }
CLAIM(rounded_conv2d, input_gradient_of_whole_numbers_is_exact) {
    expect_gradient(c, OF_INPUT, true);
}
CLAIM(rounded_conv2d, weight_gradient_of_whole_numbers_is_exact) {
    expect_gradient(c, OF_WEIGHT, true);
}
CLAIM(rounded_conv2d, forward_is_a_sum_of_rounded_numbers) { expect_forward(c, false); }
CLAIM(rounded_conv2d, input_gradient_is_a_sum_of_rounded_numbers) {
    expect_gradient(c, OF_INPUT, false);
}
CLAIM(rounded_conv2d, weight_gradient_is_a_sum_of_rounded_numbers) {
    expect_gradient(c, OF_WEIGHT, false);
}
#endif
