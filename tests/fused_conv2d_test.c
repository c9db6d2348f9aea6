/* fused_conv2d_test.c: convolution, ReLU and pool in one kernel, entry by entry (tl/fused.h).
 *
 * Each entry is judged against its definition in double with the bounds of the plain operations:
 * neither a maximum nor a ReLU enlarges an error. A target without rungs has no such entry and must
 * say so; a GPU with all rungs must have it. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/expect.h"

#include <math.h>
#include <string.h>

enum reals { FLOAT = 1, DOUBLE = 2, BOTH = 3 };

/* n, c, h, w, k, pad, whether a pool follows, and in which precision it is judged: in double fewer
 * channels fit a block of threads */
typedef struct shape {
    int n, c, h, w, k, pad;
    bool pool;
    enum reals in;
} shape;

/* What a kernel may cut wrongly: odd sizes, rows of four and not, one channel, channels for 1, 2
 * and 4 of them a thread, more input channels than a warp has threads, several images to a chunk.
 */
static const shape shapes[] = {
    {2, 3, 5, 7, 4, 1, true, BOTH},       {1, 1, 3, 3, 1, 0, false, BOTH},
    {3, 2, 6, 9, 5, 2, true, BOTH},       {2, 3, 7, 6, 3, 0, false, BOTH},
    {1, 1, 1, 1, 2, 2, true, BOTH},       {5, 4, 4, 8, 6, 1, false, BOTH},
    {2, 33, 4, 4, 3, 1, true, BOTH},      {1, 20, 5, 4, 13, 1, false, BOTH},
    {3, 3, 32, 32, 8, 1, true, FLOAT},    {1, 6, 16, 16, 16, 1, true, FLOAT},
    {4, 16, 8, 8, 32, 1, false, FLOAT},   {1, 1, 32, 4, 7, 2, false, BOTH},
    {257, 2, 2, 2, 3, 1, true, BOTH},     {600, 1, 3, 2, 2, 1, true, BOTH},
    {64, 3, 32, 32, 8, 1, true, FLOAT},   {64, 3, 32, 32, 4, 1, true, DOUBLE},
    {300, 8, 16, 16, 16, 1, true, FLOAT}, {300, 8, 16, 16, 8, 1, true, DOUBLE},
    {70, 16, 8, 8, 32, 1, false, FLOAT},  {70, 16, 8, 8, 8, 1, false, DOUBLE},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };
enum { HERE = sizeof(tl_real) > sizeof(float) ? DOUBLE : FLOAT };

/* One shape's inputs, drawn; _d are the same numbers for the oracle. z is the sum before the ReLU,
 * y what the block gives, and dy its gradient; code is the winner that bwd gets. */
typedef struct block_data {
    tl_conv2d_block g;
    size_t xs, ws, zs, ys, ks;
    int p, q; /* of y */
    tl_real *x, *w, *b, *dy;
    double *x_d, *w_d, *b_d, *dz_d;
    uint8_t *code;
} block_data;

static bool has_fused(const call_target *t) {
    return strcmp(t->device, "cpu") != 0 && strcmp(t->rungs, "all") == 0;
}

static void block_case(claim *c, const call_target *t, const char *op, const block_data *d) {
    const tl_conv2d_geom *g = &d->g.conv;
    claim_case(c, t, "%s x[%d,%d,%d,%d] w[%d,%d,3,3] pad %d%s", op, g->n, g->c, g->h, g->w, g->k,
               g->c, g->pad_h, d->g.pool ? ", pool" : "");
}

/* Element e (row by row) of the window of output i, as an offset in z; a window is 1x1 or 2x2. */
static size_t before_pool(const block_data *d, size_t i, int e) {
    const tl_conv2d_geom *g = &d->g.conv;
    int scale = d->g.pool ? 2 : 1;
    size_t row = i / (size_t)d->q, plane = row / (size_t)d->p;
    size_t h = row % (size_t)d->p * (size_t)scale + (size_t)(e / 2);
    size_t w = i % (size_t)d->q * (size_t)scale + (size_t)(e % 2);
    return (plane * (size_t)g->p + h) * (size_t)g->q + w;
}

static int window_size(const block_data *d) { return d->g.pool ? 4 : 1; }

/* Gradients come from given winners: any element of a window, or none. */
static void draw_winners(claim *c, block_data *d) {
    d->code = claim_memory(c, d->ys, 1);
    d->dz_d = doubles(c, d->zs);
    for (size_t i = 0; i < d->ys; i++) {
        int e = draw_int(c, -1, window_size(d) - 1);
        d->code[i] = (uint8_t)(e < 0 ? (int)TL_CODE_OFF : e);
        if (e >= 0) d->dz_d[before_pool(d, i, e)] = d->dy[i];
    }
}

static block_data draw_data(claim *c, int s) {
    const shape *f = &shapes[s];
    block_data d = {
        .g = {.conv = {f->n, f->c, f->h, f->w, f->k, 3, 3, 1, 1, f->pad, f->pad, 1, 1, 0, 0},
              .pool = f->pool}};
    tl_conv2d_geom *g = &d.g.conv;
    if (tl_conv2d_check(g) != TL_OK) claim_fail(c, "shape %d: %s", s, tl_error());
    d.p = f->pool ? g->p / 2 : g->p;
    d.q = f->pool ? g->q / 2 : g->q;
    d.xs = tl_conv2d_x_size(g);
    d.ws = tl_conv2d_w_size(g);
    d.zs = tl_conv2d_y_size(g);
    d.ks = (size_t)g->k;
    d.ys = (size_t)g->n * d.ks * (size_t)d.p * (size_t)d.q;
    d.x_d = widen(c, d.x = draw_reals(c, d.xs), d.xs);
    d.w_d = widen(c, d.w = draw_reals(c, d.ws), d.ws);
    d.b_d = widen(c, d.b = draw_reals(c, d.ks), d.ks);
    d.dy = draw_reals(c, d.ys);
    draw_winners(c, &d);
    return d;
}

static block_data coarse_data(claim *c, const block_data *d) {
    block_data coarse = *d;
    coarse.x_d = coarsen(c, d->x_d, d->xs);
    coarse.w_d = coarsen(c, d->w_d, d->ws);
    coarse.b_d = coarsen(c, d->b_d, d->ks);
    coarse.dz_d = coarsen(c, d->dz_d, d->zs);
    return coarse;
}

/* z, its largest of each window with ReLU, and how far off the latter may be. */
static void define_forward(double *y, double *z, double *scale, const block_data *d) {
    oracle_conv2d_fwd(z, scale, d->x_d, d->w_d, d->b_d, &d->g.conv);
    for (size_t i = 0; i < d->ys; i++) {
        y[i] = 0;
        for (int e = 0; e < window_size(d); e++) y[i] = fmax(y[i], z[before_pool(d, i, e)]);
    }
}

/* A winner is right if no element of its window is larger by more than rounding can tell. */
static void expect_winners(claim *c, const block_data *d, const uint8_t *code, const double *z,
                           const double *bound, const tl_real *y) {
    for (size_t i = 0; i < d->ys; i++) {
        bool off = code[i] == TL_CODE_OFF;
        expect_true(c, off || code[i] < window_size(d), "code %zu is %d", i, code[i]);
        expect_true(c, off == !(y[i] > 0), "code %zu is %d where y is %g", i, code[i],
                    (double)y[i]);
        size_t won = before_pool(d, i, code[i] < window_size(d) ? code[i] : 0);
        double low = off ? 0 : z[won] + bound[won];
        for (int e = 0; e < window_size(d); e++) {
            size_t at = before_pool(d, i, e);
            expect_true(c, z[at] - bound[at] <= low, "output %zu: winner %d has %.9g, %d has %.9g",
                        i, code[i], low, e, z[at]);
        }
    }
}

static void expect_forward(claim *c, const call_target *t, const block_data *d, bool with_code) {
    call_report r;
    if (!bound_judges(tl_conv2d_col_rows(&d->g.conv) + 1)) return;
    tl_real *y = reals(c, d->ys);
    uint8_t *code = with_code ? claim_memory(c, d->ys, 1) : NULL;
    double *want = doubles(c, d->ys), *rough = doubles(c, d->ys), *bound = doubles(c, d->ys);
    double *z = doubles(c, d->zs), *scale = doubles(c, d->zs), *rough_z = doubles(c, d->zs);
    block_data coarse = coarse_data(c, d);
    define_forward(want, z, scale, d);
    define_forward(rough, rough_z, NULL, &coarse);
    double *z_bound = bound_of(c, scale, d->zs, tl_conv2d_col_rows(&d->g.conv) + 1);
    for (size_t i = 0; i < d->ys; i++)
        for (int e = 0; e < window_size(d); e++)
            bound[i] = fmax(bound[i], z_bound[before_pool(d, i, e)]);
    block_case(c, t, with_code ? "conv2d_block_fwd" : "conv2d_block_fwd without codes", d);
    call_conv2d_block_fwd(t, &r, y, code, d->x, d->w, d->b, &d->g);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, SHAPE(d->g.conv.n, d->g.conv.k, d->p, d->q));
    expect_sharp(c, rough, want, bound, d->ys);
    if (with_code) expect_winners(c, d, code, z, z_bound, y);
}

/* On a target without fused entries the claim is that it says so. */
static void expect_none(claim *c, const call_target *t) {
    call_report r;
    block_data d = draw_data(c, 0);
    tl_real *y = reals(c, d.ys), *dw = reals(c, d.ws), *db = reals(c, d.ks), *dx = reals(c, d.xs);
    block_case(c, t, "conv2d_block_fwd", &d);
    call_conv2d_block_fwd(t, &r, y, d.code, d.x, d.w, d.b, &d.g);
    expect_status(c, &r, TL_ENOTIMPL);
    block_case(c, t, "conv2d_block_bwd", &d);
    call_conv2d_block_bwd(t, &r, dx, dw, db, d.dy, d.code, d.x, d.w, &d.g, true);
    expect_status(c, &r, TL_ENOTIMPL);
}

CLAIM(fused_conv2d, forward_and_its_winners_match_the_definition) {
    FOR_TARGETS (t) {
        if (!has_fused(t)) expect_none(c, t);
        for (int s = 0; has_fused(t) && s < SHAPES; s++) {
            if (!(shapes[s].in & HERE)) continue;
            block_data d = draw_data(c, s);
            expect_forward(c, t, &d, true);
            expect_forward(c, t, &d, false);
        }
    }
}

/* NaN must not vanish behind a comparison: it wins its window, and its gradient goes nowhere. */
CLAIM(fused_conv2d, a_nan_stays_a_nan) {
    FOR_TARGETS (t) {
        if (!has_fused(t)) expect_none(c, t);
        for (int s = 0; has_fused(t) && s < 3; s++) {
            call_report r;
            block_data d = draw_data(c, s);
            tl_real *y = reals(c, d.ys);
            d.x[d.xs / 2] = (tl_real)NAN;
            block_case(c, t, "conv2d_block_fwd of a NaN", &d);
            call_conv2d_block_fwd(t, &r, y, d.code, d.x, d.w, d.b, &d.g);
            expect_ok(c, &r);
            double *z = doubles(c, d.zs), *x = widen(c, d.x, d.xs);
            oracle_conv2d_fwd(z, NULL, x, d.w_d, d.b_d, &d.g.conv);
            for (size_t i = 0; i < d.ys; i++) {
                bool nan = false;
                for (int e = 0; e < window_size(&d); e++) nan |= isnan(z[before_pool(&d, i, e)]);
                expect_true(c, nan == (bool)isnan(y[i]), "output %zu is %g, %s NaN comes in", i,
                            (double)y[i], nan ? "a" : "no");
            }
        }
    }
}

typedef enum gradient { OF_INPUT, OF_WEIGHT, OF_BIAS } gradient;
static const char *const gradient_name[] = {"dx", "dw", "db"};

/* Terms of an element: each output that has a winner adds one to its weights. */
static size_t gradient_terms(const block_data *d, gradient of) {
    if (of == OF_INPUT) return (size_t)d->g.conv.k * 9 + 1;
    return (size_t)d->g.conv.n * (size_t)d->p * (size_t)d->q + 1;
}

static void define_gradient(double *grad, double *scale, const block_data *d, gradient of) {
    const tl_conv2d_geom *g = &d->g.conv;
    if (of == OF_INPUT) oracle_conv2d_bwd_input(grad, scale, d->dz_d, d->w_d, g);
    if (of == OF_WEIGHT) oracle_conv2d_bwd_weight(grad, scale, d->dz_d, d->x_d, g);
    if (of == OF_BIAS) oracle_conv2d_bwd_bias(grad, scale, d->dz_d, g);
}

/* got started as before, or overwrote it. */
static void expect_gradient(claim *c, const block_data *d, gradient of, const tl_real *got,
                            const tl_real *before) {
    const tl_conv2d_geom *g = &d->g.conv;
    size_t n = of == OF_INPUT ? d->xs : of == OF_WEIGHT ? d->ws : d->ks;
    if (!bound_judges(gradient_terms(d, of))) return;
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    block_data coarse = coarse_data(c, d);
    define_gradient(want, scale, d, of);
    define_gradient(rough, NULL, &coarse, of);
    for (size_t i = 0; before && i < n; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    double *bound = bound_of(c, scale, n, gradient_terms(d, of));
    expect_shape dims = of == OF_INPUT    ? SHAPE(g->n, g->c, g->h, g->w)
                        : of == OF_WEIGHT ? SHAPE(g->k, g->c, 3, 3)
                                          : SHAPE(g->k);
    expect_close(c, gradient_name[of], got, want, bound, dims);
    expect_sharp(c, rough, want, bound, n);
}

/* dx is added to, overwritten where it is fresh, or not wanted; dw and db are always added to. */
static void expect_backward(claim *c, const call_target *t, const block_data *d, bool with_dx,
                            bool fresh) {
    call_report r;
    tl_real *x0 = draw_reals(c, d->xs), *w0 = draw_reals(c, d->ws), *b0 = draw_reals(c, d->ks);
    tl_real *dx = with_dx ? copy_reals(c, x0, d->xs) : NULL;
    tl_real *dw = copy_reals(c, w0, d->ws), *db = copy_reals(c, b0, d->ks);
    block_case(c, t,
               !with_dx ? "conv2d_block_bwd without dx"
               : fresh  ? "conv2d_block_bwd, fresh"
                        : "conv2d_block_bwd",
               d);
    call_conv2d_block_bwd(t, &r, dx, dw, db, d->dy, d->code, d->x, d->w, &d->g, fresh);
    expect_ok(c, &r);
    if (with_dx) expect_gradient(c, d, OF_INPUT, dx, fresh ? NULL : x0);
    expect_gradient(c, d, OF_WEIGHT, dw, w0);
    expect_gradient(c, d, OF_BIAS, db, b0);
}

CLAIM(fused_conv2d, gradients_match_the_definition) {
    FOR_TARGETS (t) {
        if (!has_fused(t)) expect_none(c, t);
        for (int s = 0; has_fused(t) && s < SHAPES; s++) {
            if (!(shapes[s].in & HERE)) continue;
            block_data d = draw_data(c, s);
            expect_backward(c, t, &d, true, false);
            expect_backward(c, t, &d, true, true);
            expect_backward(c, t, &d, false, false);
        }
    }
}
