/* rounded_net_bound_test.c: a net in TF32 or bfloat16 is as near to its definition as sums and
 * roundings allow, of any numbers.
 *
 * What may be wrong of a number goes through the layers beside it: a product takes it times the
 * sizes of its weights, and adds what tensor cores may do to a sum, and a rounding; ReLU and pool
 * make it no larger. */
#include "autograder/oracle/oracle.h"
#include "rounded_net.h"

#ifndef TL_REAL_DOUBLE

/* clang-format off */
static const tl_layer usual[] = {CONV(17, 1), RELU, POOL, CONV(24, 0), RELU, FLATTEN, LINEAR(7),
                                 RELU, LINEAR(4), END};
static const tl_layer deep[] = {CONV(72, 1), POOL, RELU, CONV(33, 1), RELU, POOL, FLATTEN,
                                LINEAR(9), END};
/* clang-format on */
static const tl_net_spec specs[] = {{.name = "usual", .c = 3, .h = 12, .w = 10, .layer = usual},
                                    {.name = "deep", .c = 2, .h = 10, .w = 15, .layer = deep}};
enum { SPECS = sizeof specs / sizeof *specs };

/* Numbers on their way, and how far each may be off. */
typedef struct flow {
    claim *c;
    tl_precision precision;
    int channels, h, w;
    size_t size;
    double *x, *off;
} flow;

static double *sizes(claim *c, const double *x, size_t n) {
    double *y = doubles(c, n);
    for (size_t i = 0; i < n; i++) y[i] = fabs(x[i]);
    return y;
}

/* A convolution, or a linear layer as one whose filter is as large as the image. */
static void multiply(flow *f, const trial *t, const tl_layer *l, size_t *at, bool last) {
    bool conv = l->kind == TL_LAYER_CONV;
    tl_conv2d_geom g = {.n = IMAGES, .c = f->channels, .h = f->h, .w = f->w, .k = l->out};
    g.r = conv ? 3 : f->h, g.s = conv ? 3 : f->w, g.pad_h = g.pad_w = conv ? l->pad : 0;
    g.stride_h = g.stride_w = g.dil_h = g.dil_w = 1;
    ok(f->c, tl_conv2d_check(&g));
    size_t ws = tl_conv2d_w_size(&g), k = (size_t)g.k, ys = tl_conv2d_y_size(&g);
    tl_precision p = f->precision, of_bias = tl_in_16_bits(p) ? p : TL_FP32;
    double *w = rounded_numbers(f->c, widen(f->c, t->parameter + *at, ws), ws, p);
    double *b = rounded_numbers(f->c, widen(f->c, t->parameter + *at + ws, k), k, of_bias);
    double *y = doubles(f->c, ys), *scale = doubles(f->c, ys), *spread = doubles(f->c, ys);
    oracle_conv2d_fwd(spread, scale, f->off, sizes(f->c, w, ws), NULL, &g);
    oracle_conv2d_fwd(y, scale, f->x, w, b, &g);
    double *off = rounded_bound(f->c, scale, ys, ws / k + 1);
    for (size_t i = 0; i < ys; i++) {
        off[i] += spread[i] * (1 + (double)(ws / k + 1) * 0x1p-23);
        if (!last || tl_in_16_bits(p)) off[i] += (fabs(y[i]) + off[i]) * rounded_unit(p);
    }
    *at += ws + k;
    *f = (flow){f->c, p, g.k, g.p, g.q, ys, y, off};
}

static void pool(flow *f) {
    tl_pool2d_geom g = {.n = IMAGES, .c = f->channels, .h = f->h, .w = f->w};
    g.r = g.s = g.stride_h = g.stride_w = 2;
    ok(f->c, tl_pool2d_check(&g));
    size_t ys = tl_pool2d_y_size(&g);
    double *y = doubles(f->c, ys), *off = doubles(f->c, ys);
    oracle_maxpool2d_fwd(y, ints(f->c, ys), f->x, &g);
    oracle_maxpool2d_fwd(off, ints(f->c, ys), f->off, &g);
    *f = (flow){f->c, f->precision, f->channels, g.p, g.q, ys, y, off};
}

static flow define(claim *c, const trial *t, tl_precision p) {
    const tl_net_spec *spec = t->spec;
    size_t at = 0, size = (size_t)IMAGES * (size_t)(spec->c * spec->h * spec->w);
    double *x = rounded_numbers(c, widen(c, t->image, size), size, p);
    flow f = {c, p, spec->c, spec->h, spec->w, size, x, doubles(c, size)};
    for (const tl_layer *l = spec->layer; l->kind != TL_LAYER_END; l++) {
        if (l->kind == TL_LAYER_CONV || l->kind == TL_LAYER_LINEAR)
            multiply(&f, t, l, &at, l[1].kind == TL_LAYER_END);
        else if (l->kind == TL_LAYER_POOL)
            pool(&f);
        for (size_t i = 0; l->kind == TL_LAYER_RELU && i < f.size; i++)
            if (f.x[i] < 0) f.x[i] = 0;
    }
    return f;
}

CLAIM(rounded_net, results_are_sums_of_rounded_numbers) {
    FOR_ROUNDED_TARGETS(t) {
        tl_ctx *ctx = open_in(c, t);
        for (int i = 0; ctx->ops->net_plan && i < SPECS; i++) {
            trial u = new_trial(c, &specs[i], false, false, NO_ARRAY);
            begin_case(c, t, &u, "");
            run(&u, ctx);
            expect_true(c, u.planned, "the net was not planned");
            flow want = define(c, &u, t->precision);
            expect_close(c, "y", u.trace, want.x, want.off,
                         AXES("nk", IMAGES, (int)want.size / IMAGES));
        }
        tl_device_close(ctx);
    }
}
#endif
