/* define_conv2d.c: the passes of a convolution as the oracle has them (question.h). */
#include <math.h>
#include <string.h>

#include "autograder/oracle/oracle.h"
#include "question.h"

enum { IMAGES = 3, FILTERS = 3 };

/* of `images` images and `filters` filters alone */
static tl_conv2d_geom part_of(const question *q, int images, int filters) {
    tl_conv2d_geom g = {0};
    memcpy(&g, q->number, (size_t)q->b->numbers * sizeof(int));
    if (images) g.n = images;
    if (filters) g.k = filters;
    tl_conv2d_check(&g); /* as bench_set did */
    return g;
}

static double *filters_of(question *q, const tl_conv2d_geom *g) {
    return question_given(q, "w", 0, tl_conv2d_w_size(g));
}

static void define_forward(question *q, bool relu) {
    int pick[IMAGES], images = question_picks(q, q->number[0], IMAGES, pick);
    tl_conv2d_geom g = part_of(q, 1, 0);
    const double *w = filters_of(q, &g), *b = question_given(q, "b", 0, (size_t)g.k);
    size_t xs = tl_conv2d_x_size(&g), ys = tl_conv2d_y_size(&g);
    for (int i = 0; i < images; i++) {
        double *want = question_doubles(q, ys), *scale = question_doubles(q, ys);
        const double *x = question_given(q, "x", (size_t)pick[i] * xs, xs);
        oracle_conv2d_fwd(want, scale, x, w, b, &g);
        for (size_t j = 0; relu && j < ys; j++) want[j] = fmax(want[j], 0);
        question_expect(q, "y", (size_t)pick[i] * ys, want, scale, ys, tl_conv2d_col_rows(&g));
    }
}

void define_conv2d_fwd(question *q) { define_forward(q, false); }
void define_conv2d_relu_fwd(question *q) { define_forward(q, true); }

/* Back through the ReLU that made x: nothing where x is not positive. */
static void define_input_gradient(question *q, bool relu) {
    int pick[IMAGES], images = question_picks(q, q->number[0], IMAGES, pick);
    tl_conv2d_geom g = part_of(q, 1, 0);
    const double *w = filters_of(q, &g);
    size_t xs = tl_conv2d_x_size(&g), ys = tl_conv2d_y_size(&g);
    size_t terms = (size_t)g.k * (size_t)g.r * (size_t)g.s;
    for (int i = 0; i < images; i++) {
        double *want = question_doubles(q, xs), *scale = question_doubles(q, xs);
        const double *dy = question_given(q, "dy", (size_t)pick[i] * ys, ys);
        const tl_real *x = relu ? (const tl_real *)question_input(q, "x") + pick[i] * xs : NULL;
        oracle_conv2d_bwd_input(want, scale, dy, w, &g);
        for (size_t j = 0; relu && j < xs; j++)
            if (!(x[j] > 0)) want[j] = scale[j] = 0;
        question_expect(q, "dx", (size_t)pick[i] * xs, want, scale, xs, terms);
    }
}

void define_conv2d_bwd_input(question *q) { define_input_gradient(q, false); }
void define_conv2d_relu_bwd_input(question *q) { define_input_gradient(q, true); }

/* One filter's share of dy: [n, 1, p, q] of [n, k, p, q]. */
static double *one_channel(question *q, int filter, const tl_conv2d_geom *one, int filters) {
    size_t plane = tl_conv2d_col_cols(one);
    double *dy = question_doubles(q, tl_conv2d_y_size(one));
    const double *from = question_given(q, "dy", 0, (size_t)filters * tl_conv2d_y_size(one));
    for (size_t n = 0; n < (size_t)one->n; n++)
        for (size_t i = 0; i < plane; i++)
            dy[n * plane + i] = from[(n * (size_t)filters + (size_t)filter) * plane + i];
    return dy;
}

void define_conv2d_bwd_weight(question *q) {
    tl_conv2d_geom all = part_of(q, 0, 0), one = part_of(q, 0, 1);
    int pick[FILTERS], filters = question_picks(q, all.k, FILTERS, pick);
    const double *x = question_given(q, "x", 0, tl_conv2d_x_size(&all));
    size_t ws = tl_conv2d_w_size(&one);
    for (int i = 0; i < filters; i++) {
        double *want = question_doubles(q, ws), *scale = question_doubles(q, ws);
        const double *dy = one_channel(q, pick[i], &one, all.k);
        oracle_conv2d_bwd_weight(want, scale, dy, x, &one);
        question_expect(q, "dw", (size_t)pick[i] * ws, want, scale, ws, tl_conv2d_y_size(&one));
    }
}

void define_conv2d_bwd_bias(question *q) {
    tl_conv2d_geom g = part_of(q, 0, 0);
    size_t k = (size_t)g.k, ys = tl_conv2d_y_size(&g);
    double *want = question_doubles(q, k), *scale = question_doubles(q, k);
    oracle_conv2d_bwd_bias(want, scale, question_given(q, "dy", 0, ys), &g);
    question_expect(q, "db", 0, want, scale, k, ys / k);
}
