/* rounded_linear_test.c: linear layers in TF32, bfloat16 and half precision (rounded.h).
 *
 * In 16 bits results are rounded, too: y, what is added to dx and dw, and dx (tl/precision.h). Of
 * whole numbers the sum is exact until then, so the number that must come out is known. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "rounded.h"

#ifndef TL_REAL_DOUBLE

enum { MOST = 4 };

/* n, in, out: one element; nothing is a vector; a net's last layer; whole tiles and slices; off
 * them by one each way; long sums of y, of dx and of dw. */
static const tl_linear_geom shapes[] = {{1, 1, 1},      {3, 5, 7},     {64, 256, 10},
                                        {128, 64, 128}, {129, 65, 33}, {31, 136, 260},
                                        {4, 2052, 6},   {5, 6, 1030},  {1027, 9, 4}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct layer {
    tl_linear_geom g;
    size_t xs, ws, ys, bs;
    tl_real *x, *w, *b, *dy;
} layer;

static tl_real *draw(claim *c, size_t n, bool whole) {
    tl_real *x = draw_reals(c, n);
    for (size_t i = 0; whole && i < n; i++) x[i] = (tl_real)draw_int(c, -MOST, MOST);
    return x;
}

static layer draw_layer(claim *c, int s, bool whole) {
    layer d = {.g = shapes[s]};
    size_t n = (size_t)d.g.n, in = (size_t)d.g.in, out = (size_t)d.g.out;
    d.xs = n * in, d.ws = out * in, d.ys = n * out, d.bs = out;
    d.x = draw(c, d.xs, whole), d.w = draw(c, d.ws, whole);
    d.b = draw(c, d.bs, whole), d.dy = draw(c, d.ys, whole);
    return d;
}

/* An operand as the definition is given it. */
static double *operand(claim *c, const tl_real *x, size_t n, tl_precision p) {
    return rounded_numbers(c, widen(c, x, n), n, p);
}

static void begin_case(claim *c, const call_target *t, const char *op, const tl_linear_geom *g) {
    claim_case(c, t, "%s in %s x[%d,%d] w[%d,%d]", op, tl_precision_name(t->precision), g->n, g->in,
               g->out, g->in);
}

static void judge(claim *c, const char *name, const tl_real *got, const double *want,
                  const double *bound, bool whole, expect_shape shape) {
    if (whole)
        expect_equal(c, name, got, want, shape);
    else
        expect_close(c, name, got, want, bound, shape);
}

static void expect_forward(claim *c, bool whole, bool bias) {
    for (int s = 0; s < SHAPES; s++) {
        layer d = draw_layer(c, s, whole);
        FOR_ROUNDED_TARGETS(t) {
            call_report r;
            tl_precision p = t->precision;
            double *want = doubles(c, d.ys), *scale = doubles(c, d.ys);
            const double *b = operand(c, d.b, d.bs, tl_in_16_bits(p) ? p : TL_FP32);
            oracle_linear_fwd(want, scale, operand(c, d.x, d.xs, p), operand(c, d.w, d.ws, p),
                              bias ? b : NULL, &d.g);
            double *bound = rounded_bound(c, scale, d.ys, (size_t)d.g.in + 1);
            for (size_t i = 0; i < d.ys; i++)
                want[i] = rounded_result(want[i], p, whole ? NULL : &bound[i]);
            tl_real *y = reals(c, d.ys);
            begin_case(c, t, bias ? "linear_fwd" : "linear_fwd without bias", &d.g);
            call_linear_fwd(t, &r, y, d.x, d.w, bias ? d.b : NULL, &d.g);
            expect_ok(c, &r);
            judge(c, "y", y, want, bound, whole, AXES("nk", d.g.n, d.g.out));
        }
    }
}

/* dx, or dw: added to what stands there. */
static void expect_gradient(claim *c, bool of_input, bool whole) {
    for (int s = 0; s < SHAPES; s++) {
        layer d = draw_layer(c, s, whole);
        size_t n = of_input ? d.xs : d.ws, terms = (size_t)(of_input ? d.g.out : d.g.n);
        tl_real *before = draw(c, n, whole);
        FOR_ROUNDED_TARGETS(t) {
            call_report r;
            tl_precision p = t->precision;
            double *want = doubles(c, n), *scale = doubles(c, n);
            double *dy = operand(c, d.dy, d.ys, p), *x = operand(c, d.x, d.xs, p);
            if (of_input)
                oracle_linear_bwd_input(want, scale, dy, operand(c, d.w, d.ws, p), &d.g);
            else
                oracle_linear_bwd_weight(want, scale, dy, x, &d.g);
            double *bound = rounded_bound(c, scale, n, terms + 1);
            for (size_t i = 0; i < n; i++) {
                double *allowed = whole ? NULL : &bound[i];
                want[i] = rounded_result(want[i], p, allowed) + (double)before[i];
                if (allowed) *allowed += fabs(want[i]) * 0x1p-23;
                if (of_input) want[i] = rounded_result(want[i], p, allowed);
            }
            tl_real *grad = copy_reals(c, before, n);
            begin_case(c, t, of_input ? "linear_bwd_input" : "linear_bwd_weight", &d.g);
            if (of_input)
                call_linear_bwd_input(t, &r, grad, d.dy, d.w, &d.g);
            else
                call_linear_bwd_weight(t, &r, grad, d.dy, d.x, &d.g);
            expect_ok(c, &r);
            judge(c, of_input ? "dx" : "dw", grad, want, bound, whole,
                  of_input ? AXES("nc", d.g.n, d.g.in) : AXES("ki", d.g.out, d.g.in));
        }
    }
}

CLAIM(rounded_linear, forward_of_whole_numbers_is_exact) {
    expect_forward(c, true, true);
    expect_forward(c, true, false);
}
CLAIM(rounded_linear, input_gradient_of_whole_numbers_is_exact) { expect_gradient(c, true, true); }
CLAIM(rounded_linear, weight_gradient_of_whole_numbers_is_exact) {
    expect_gradient(c, false, true);
}
CLAIM(rounded_linear, forward_is_a_sum_of_rounded_numbers) { expect_forward(c, false, true); }
CLAIM(rounded_linear, input_gradient_is_a_sum_of_rounded_numbers) {
    expect_gradient(c, true, false);
}
CLAIM(rounded_linear, weight_gradient_is_a_sum_of_rounded_numbers) {
    expect_gradient(c, false, false);
}
#endif
