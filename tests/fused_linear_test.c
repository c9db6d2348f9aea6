/* fused_linear_test.c: the linear layer with ReLU in few kernels, entry by entry (tl/fused.h).
 *
 * As in fused_conv2d_test.c: the definition in double, the bounds of the plain operations, and
 * where a target has no rungs, a clear refusal. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/expect.h"

#include <math.h>
#include <string.h>

/* n, in, out: tiles that are full, ragged and of one element; inner dimensions made as one dot
 * product, in pieces of several lengths, and no multiple of 4. */
static const tl_linear_geom shapes[] = {
    {3, 5, 4},     {1, 1, 1},      {2, 3, 1},       {65, 10, 31},    {64, 84, 10}, {33, 130, 65},
    {64, 120, 84}, {7, 512, 9},    {5, 516, 70},    {64, 1020, 8},   {2, 1001, 3}, {300, 36, 12},
    {1, 4096, 5},  {40, 640, 130}, {64, 2048, 256}, {512, 1024, 120}};
enum { SHAPES = sizeof shapes / sizeof *shapes, LARGE = 3 /* the last ones; tried one way each */ };

typedef struct linear_data {
    tl_linear_geom g;
    size_t xs, ws, ys, bs;
    tl_real *x, *w, *b, *dy, *y; /* y: what a ReLU let through, for the mask of dy */
    double *x_d, *w_d, *b_d, *dy_d;
} linear_data;

static bool has_fused(const call_target *t) {
    return strcmp(t->device, "cpu") != 0 && strcmp(t->rungs, "all") == 0;
}

static linear_data draw_data(claim *c, int s) {
    linear_data d = {.g = shapes[s]};
    d.xs = (size_t)d.g.n * (size_t)d.g.in;
    d.ws = (size_t)d.g.in * (size_t)d.g.out;
    d.ys = (size_t)d.g.n * (size_t)d.g.out;
    d.bs = (size_t)d.g.out;
    d.x_d = widen(c, d.x = draw_reals(c, d.xs), d.xs);
    d.w_d = widen(c, d.w = draw_reals(c, d.ws), d.ws);
    d.b_d = widen(c, d.b = draw_reals(c, d.bs), d.bs);
    d.dy_d = widen(c, d.dy = draw_reals(c, d.ys), d.ys);
    d.y = draw_reals(c, d.ys);
    for (size_t i = 0; i < d.ys; i++)
        if (d.y[i] < 0) d.y[i] = 0;
    return d;
}

/* The same inputs with fewer digits, for expect_sharp. */
static linear_data coarse_data(claim *c, const linear_data *d) {
    linear_data coarse = *d;
    coarse.x_d = coarsen(c, d->x_d, d->xs);
    coarse.w_d = coarsen(c, d->w_d, d->ws);
    coarse.b_d = coarsen(c, d->b_d, d->bs);
    coarse.dy_d = coarsen(c, d->dy_d, d->ys);
    return coarse;
}

static void linear_case(claim *c, const call_target *t, const char *op, const tl_linear_geom *g) {
    claim_case(c, t, "%s x[%d,%d] w[%d,%d]", op, g->n, g->in, g->out, g->in);
}

static void expect_none(claim *c, const call_target *t) {
    call_report r;
    linear_data d = draw_data(c, 0);
    tl_real *dx = reals(c, d.xs), *dw = reals(c, d.ws), *db = reals(c, d.bs), *y = reals(c, d.ys);
    linear_case(c, t, "linear_block_fwd", &d.g);
    call_linear_block_fwd(t, &r, y, d.x, d.w, d.b, &d.g, true);
    expect_status(c, &r, TL_ENOTIMPL);
    linear_case(c, t, "linear_block_bwd", &d.g);
    call_linear_block_bwd(t, &r, dx, dw, db, d.dy, d.y, d.x, d.w, &d.g, true);
    expect_status(c, &r, TL_ENOTIMPL);
}

static void define_forward(double *y, double *scale, const linear_data *d, bool bias, bool relu) {
    oracle_linear_fwd(y, scale, d->x_d, d->w_d, bias ? d->b_d : NULL, &d->g);
    for (size_t i = 0; relu && i < d->ys; i++) y[i] = fmax(y[i], 0);
}

static void expect_forward(claim *c, const call_target *t, const linear_data *d, bool bias,
                           bool relu) {
    call_report r;
    size_t terms = (size_t)d->g.in + bias;
    if (!bound_judges(terms)) return;
    tl_real *y = reals(c, d->ys);
    double *want = doubles(c, d->ys), *scale = doubles(c, d->ys), *rough = doubles(c, d->ys);
    linear_data coarse = coarse_data(c, d);
    define_forward(want, scale, d, bias, relu);
    define_forward(rough, NULL, &coarse, bias, relu);
    double *bound = bound_of(c, scale, d->ys, terms);
    linear_case(c, t, relu ? "linear_block_fwd with relu" : "linear_block_fwd", &d->g);
    call_linear_block_fwd(t, &r, y, d->x, d->w, bias ? d->b : NULL, &d->g, relu);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, SHAPE(d->g.n, d->g.out));
    expect_sharp(c, rough, want, bound, d->ys);
}

CLAIM(fused_linear, forward_matches_the_definition) {
    FOR_TARGETS (t) {
        if (!has_fused(t)) expect_none(c, t);
        for (int s = 0; has_fused(t) && s < SHAPES; s++) {
            linear_data d = draw_data(c, s);
            expect_forward(c, t, &d, true, true);
            expect_forward(c, t, &d, true, false);
            expect_forward(c, t, &d, false, true);
        }
    }
}

typedef enum gradient { OF_INPUT, OF_WEIGHT, OF_BIAS } gradient;
static const char *const gradient_name[] = {"dx", "dw", "db"};

static void define_gradient(double *grad, double *scale, const linear_data *d, const double *dy,
                            gradient of) {
    if (of == OF_INPUT) oracle_linear_bwd_input(grad, scale, dy, d->w_d, &d->g);
    if (of == OF_WEIGHT) oracle_linear_bwd_weight(grad, scale, dy, d->x_d, &d->g);
    if (of == OF_BIAS) oracle_linear_bwd_bias(grad, scale, dy, &d->g);
}

/* dy where the ReLU let something through; all of it without one. */
static double *masked(claim *c, const linear_data *d, const double *dy, bool relu) {
    double *to = doubles(c, d->ys);
    for (size_t i = 0; i < d->ys; i++) to[i] = relu && !(d->y[i] > 0) ? 0 : dy[i];
    return to;
}

static void expect_gradient(claim *c, const linear_data *d, gradient of, bool relu,
                            const tl_real *got, const tl_real *before) {
    size_t n = of == OF_INPUT ? d->xs : of == OF_WEIGHT ? d->ws : d->bs;
    size_t terms = (size_t)(of == OF_INPUT ? d->g.out : d->g.n) + 1;
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    linear_data coarse = coarse_data(c, d);
    define_gradient(want, scale, d, masked(c, d, d->dy_d, relu), of);
    define_gradient(rough, NULL, &coarse, masked(c, d, coarse.dy_d, relu), of);
    for (size_t i = 0; before && i < n; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    double *bound = bound_of(c, scale, n, terms);
    expect_shape dims = of == OF_INPUT    ? SHAPE(d->g.n, d->g.in)
                        : of == OF_WEIGHT ? SHAPE(d->g.out, d->g.in)
                                          : SHAPE(d->g.out);
    expect_close(c, gradient_name[of], got, want, bound, dims);
    expect_sharp(c, rough, want, bound, n);
}

static void expect_backward(claim *c, const call_target *t, const linear_data *d, bool relu,
                            bool with_dx, bool fresh) {
    call_report r;
    tl_real *x0 = draw_reals(c, d->xs), *w0 = draw_reals(c, d->ws), *b0 = draw_reals(c, d->bs);
    tl_real *dx = with_dx ? copy_reals(c, x0, d->xs) : NULL;
    tl_real *dw = copy_reals(c, w0, d->ws), *db = copy_reals(c, b0, d->bs);
    linear_case(c, t,
                !with_dx ? "linear_block_bwd without dx"
                : fresh  ? "linear_block_bwd, fresh"
                         : "linear_block_bwd",
                &d->g);
    call_linear_block_bwd(t, &r, dx, dw, db, d->dy, relu ? d->y : NULL, d->x, d->w, &d->g, fresh);
    expect_ok(c, &r);
    if (with_dx) expect_gradient(c, d, OF_INPUT, relu, dx, fresh ? NULL : x0);
    expect_gradient(c, d, OF_WEIGHT, relu, dw, w0);
    expect_gradient(c, d, OF_BIAS, relu, db, b0);
}

CLAIM(fused_linear, gradients_match_the_definition) {
    FOR_TARGETS (t) {
        if (!has_fused(t)) expect_none(c, t);
        for (int s = 0; has_fused(t) && s < SHAPES; s++) {
            linear_data d = draw_data(c, s);
            expect_backward(c, t, &d, true, true, s % 2 == 0);
            if (s >= SHAPES - LARGE) continue;
            expect_backward(c, t, &d, true, true, s % 2 != 0);
            expect_backward(c, t, &d, false, true, false);
            expect_backward(c, t, &d, true, false, false);
        }
    }
}
