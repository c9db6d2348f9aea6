/* define_fused.c: blocks, and a pool with its ReLU, as the oracle has them (question.h).
 *
 * Neither a maximum nor a ReLU enlarges an error, so a block has the bounds of its convolution.
 * Which pixel of a window wins may turn on a rounding: codes are judged where sums are exact. */
#include <math.h>
#include <string.h>

#include "autograder/oracle/oracle.h"
#include "question.h"

enum { IMAGES = 3, FILTERS = 3 };

/* ---- windows ---- */

/* Planes of h x w, and windows of size x size that do not overlap. */
typedef struct windows {
    size_t planes;
    int h, w, size;
} windows;
static size_t count(const windows *g) {
    return g->planes * (size_t)(g->h / g->size) * (size_t)(g->w / g->size);
}

/* Where element e of window i stands. */
static size_t place(const windows *g, size_t i, int e) {
    size_t p = (size_t)(g->h / g->size), q = (size_t)(g->w / g->size), size = (size_t)g->size;
    size_t row = i / q % p * size + (size_t)(e / g->size), plane = i / q / p;
    size_t col = i % q * size + (size_t)(e % g->size);
    return (plane * (size_t)g->h + row) * (size_t)g->w + col;
}

/* ReLU of each window's largest, which it was (the first of equals), and the largest scale: what
 * the largest may be off. scale may be NULL. */
static void largest(const windows *g, double *y, double *code, double *y_scale, const double *x,
                    const double *scale) {
    for (size_t i = 0; i < count(g); i++) {
        int winner = 0;
        for (int e = 0; e < g->size * g->size; e++) {
            if (x[place(g, i, e)] > x[place(g, i, winner)]) winner = e;
            if (scale) y_scale[i] = fmax(y_scale[i], scale[place(g, i, e)]);
        }
        y[i] = fmax(x[place(g, i, winner)], 0);
        code[i] = y[i] > 0 ? winner : (int)TL_CODE_OFF;
    }
}

/* Codes as some forward would leave them, put into the array, and the gradient that goes to the
 * winners. */
static double *spread(question *q, const windows *g, size_t pixels) {
    double *dx = question_doubles(q, pixels);
    const double *dy = question_given(q, "dy", 0, count(g));
    uint8_t *code = question_input(q, "code");
    for (size_t i = 0; i < count(g); i++) {
        int e = (int)((i * 7 + i / 11) % (size_t)(g->size * g->size + 1));
        code[i] = (uint8_t)(e < g->size * g->size ? e : (int)TL_CODE_OFF);
        if (code[i] != TL_CODE_OFF) dx[place(g, i, e)] = dy[i];
    }
    return dx;
}

static windows windows_of(const question *q) {
    return (windows){(size_t)q->number[0], q->number[1], q->number[2], 2};
}

void define_pool_relu_fwd(question *q) {
    windows g = windows_of(q);
    size_t n = g.planes * (size_t)g.h * (size_t)g.w;
    double *y = question_doubles(q, count(&g)), *code = question_doubles(q, count(&g));
    largest(&g, y, code, NULL, question_given(q, "x", 0, n), NULL);
    question_expect_within(q, "y", 0, y, NULL, count(&g));
    question_expect_within(q, "code", 0, code, NULL, count(&g));
}

void define_pool_relu_bwd(question *q) {
    windows g = windows_of(q);
    size_t n = g.planes * (size_t)g.h * (size_t)g.w;
    question_expect_within(q, "dx", 0, spread(q, &g, n), NULL, n);
}

void define_relu_mask(question *q) {
    size_t n = (size_t)q->number[0];
    double *dy = question_given(q, "dy", 0, n);
    const tl_real *y = question_input(q, "y");
    for (size_t i = 0; i < n; i++)
        if (!(y[i] > 0)) dy[i] = 0;
    question_expect_within(q, "dy", 0, dy, NULL, n);
}

/* ---- convolution, ReLU, pool ---- */

/* of `images` images and `filters` filters alone; 0: of all */
static tl_conv2d_geom conv_of(const question *q, int images, int filters) {
    tl_conv2d_geom g = {0};
    memcpy(&g, q->number, (size_t)(q->b->numbers - 1) * sizeof(int));
    if (images) g.n = images;
    if (filters) g.k = filters;
    tl_conv2d_check(&g); /* as bench_set did */
    return g;
}
static windows of_outputs(const question *q, const tl_conv2d_geom *g) {
    bool pool = q->number[q->b->numbers - 1];
    return (windows){(size_t)g->n * (size_t)g->k, g->p, g->q, pool ? 2 : 1};
}

void define_conv2d_block_fwd(question *q) {
    int pick[IMAGES], images = question_picks(q, q->number[0], IMAGES, pick);
    tl_conv2d_geom g = conv_of(q, 1, 0);
    windows of = of_outputs(q, &g);
    const double *w = question_given(q, "w", 0, tl_conv2d_w_size(&g));
    const double *b = question_given(q, "b", 0, (size_t)g.k);
    size_t xs = tl_conv2d_x_size(&g), zs = tl_conv2d_y_size(&g), ys = count(&of);
    for (int i = 0; i < images; i++) {
        double *z = question_doubles(q, zs), *z_scale = question_doubles(q, zs);
        double *want = question_doubles(q, ys), *scale = question_doubles(q, ys);
        double *code = question_doubles(q, ys);
        size_t image = (size_t)pick[i];
        oracle_conv2d_fwd(z, z_scale, question_given(q, "x", image * xs, xs), w, b, &g);
        largest(&of, want, code, scale, z, z_scale);
        question_expect(q, "y", image * ys, want, scale, ys, tl_conv2d_col_rows(&g));
        if (q->whole) question_expect_within(q, "code", image * ys, code, NULL, ys);
    }
}

static void define_block_weights(question *q, const double *dz) {
    tl_conv2d_geom all = conv_of(q, 0, 0), one = conv_of(q, 0, 1);
    int pick[FILTERS], filters = question_picks(q, all.k, FILTERS, pick);
    const double *x = question_given(q, "x", 0, tl_conv2d_x_size(&all));
    size_t ws = tl_conv2d_w_size(&one), plane = tl_conv2d_col_cols(&one), k = (size_t)all.k;
    for (int i = 0; i < filters; i++) {
        double *want = question_doubles(q, ws), *scale = question_doubles(q, ws);
        double *dy = question_doubles(q, tl_conv2d_y_size(&one));
        for (size_t n = 0; n < (size_t)one.n; n++)
            memcpy(dy + n * plane, dz + (n * k + (size_t)pick[i]) * plane, plane * sizeof *dy);
        oracle_conv2d_bwd_weight(want, scale, dy, x, &one);
        question_expect(q, "dw", (size_t)pick[i] * ws, want, scale, ws, tl_conv2d_y_size(&one));
    }
    double *want = question_doubles(q, k), *scale = question_doubles(q, k);
    oracle_conv2d_bwd_bias(want, scale, dz, &all);
    question_expect(q, "db", 0, want, scale, k, tl_conv2d_y_size(&all) / k);
}

void define_conv2d_block_bwd(question *q) {
    tl_conv2d_geom all = conv_of(q, 0, 0), g = conv_of(q, 1, 0);
    windows of = of_outputs(q, &all);
    const double *dz = spread(q, &of, tl_conv2d_y_size(&all));
    const double *w = question_given(q, "w", 0, tl_conv2d_w_size(&g));
    int pick[IMAGES], images = question_picks(q, all.n, IMAGES, pick);
    size_t xs = tl_conv2d_x_size(&g), zs = tl_conv2d_y_size(&g);
    for (int i = 0; i < images; i++) {
        double *want = question_doubles(q, xs), *scale = question_doubles(q, xs);
        size_t image = (size_t)pick[i];
        oracle_conv2d_bwd_input(want, scale, dz + image * zs, w, &g);
        question_expect(q, "dx", image * xs, want, scale, xs, (size_t)g.k * 9);
    }
    define_block_weights(q, dz);
}

/* ---- linear layer, ReLU ---- */

static const tl_linear_geom *linear_of(const question *q) {
    return (const tl_linear_geom *)(const void *)q->number;
}

void define_linear_block_fwd(question *q) {
    const tl_linear_geom *g = linear_of(q);
    size_t n = (size_t)g->n, in = (size_t)g->in, out = (size_t)g->out;
    double *want = question_doubles(q, n * out), *scale = question_doubles(q, n * out);
    oracle_linear_fwd(want, scale, question_given(q, "x", 0, n * in),
                      question_given(q, "w", 0, out * in), question_given(q, "b", 0, out), g);
    for (size_t i = 0; i < n * out; i++) want[i] = fmax(want[i], 0);
    question_expect(q, "y", 0, want, scale, n * out, in);
}

void define_linear_block_bwd(question *q) {
    const tl_linear_geom *g = linear_of(q);
    size_t n = (size_t)g->n, in = (size_t)g->in, out = (size_t)g->out;
    double *dy = question_given(q, "dy", 0, n * out);
    const tl_real *y = question_input(q, "y");
    for (size_t i = 0; i < n * out; i++)
        if (!(y[i] > 0)) dy[i] = 0;
    double *dx = question_doubles(q, n * in), *dx_scale = question_doubles(q, n * in);
    double *dw = question_doubles(q, out * in), *dw_scale = question_doubles(q, out * in);
    double *db = question_doubles(q, out), *db_scale = question_doubles(q, out);
    oracle_linear_bwd_input(dx, dx_scale, dy, question_given(q, "w", 0, out * in), g);
    oracle_linear_bwd_weight(dw, dw_scale, dy, question_given(q, "x", 0, n * in), g);
    oracle_linear_bwd_bias(db, db_scale, dy, g);
    question_expect(q, "dx", 0, dx, dx_scale, n * in, out);
    question_expect(q, "dw", 0, dw, dw_scale, out * in, n);
    question_expect(q, "db", 0, db, db_scale, out, n);
}
