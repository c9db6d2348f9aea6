/* conv2d_data.c: inputs and gradients of convolutions (conv2d_data.h). */
#include "conv2d_data.h"

#include "autograder/oracle/oracle.h"
#include "bound.h"
#include "verdict.h"

conv2d_data conv2d_draw(claim *c, const tl_conv2d_geom *g) {
    conv2d_data d = {.g = *g,
                     .xs = tl_conv2d_x_size(g),
                     .ws = tl_conv2d_w_size(g),
                     .ys = tl_conv2d_y_size(g),
                     .ks = (size_t)g->k};
    d.x = draw_reals(c, d.xs);
    d.w = draw_reals(c, d.ws);
    d.b = draw_reals(c, d.ks);
    d.dy = draw_reals(c, d.ys);
    d.x_d = widen(c, d.x, d.xs);
    d.w_d = widen(c, d.w, d.ws);
    d.b_d = widen(c, d.b, d.ks);
    d.dy_d = widen(c, d.dy, d.ys);
    return d;
}

/* The same inputs with fewer digits: what a TF32 product would have seen. */
conv2d_data conv2d_coarse(claim *c, const conv2d_data *d) {
    conv2d_data coarse = *d;
    coarse.x_d = coarsen(c, d->x_d, d->xs);
    coarse.w_d = coarsen(c, d->w_d, d->ws);
    coarse.b_d = coarsen(c, d->b_d, d->ks);
    coarse.dy_d = coarsen(c, d->dy_d, d->ys);
    return coarse;
}

conv2d_data conv2d_case_data(claim *c, call_target *t, int s) {
    tl_conv2d_geom g = conv2d_shape(c, s / 2);
    if (s % 2 && g.n == 1) return (conv2d_data){.xs = 0};
    /* one image at a time, or two where that leaves a smaller chunk for the last */
    size_t image = tl_conv2d_col_rows(&g) * tl_conv2d_col_cols(&g) * sizeof(tl_real);
    if (s % 2) t->column_bytes = g.n % 2 ? 2 * image : 1;
    return conv2d_draw(c, &g);
}

/* y arrives poisoned: every element must be written, whichever taps lie in the padding. */
void expect_conv2d_forward(claim *c, const call_target *t, const conv2d_data *d, bool bias) {
    call_report r;
    const tl_conv2d_geom *g = &d->g;
    tl_real *y = reals(c, d->ys);
    double *want = doubles(c, d->ys), *scale = doubles(c, d->ys), *rough = doubles(c, d->ys);
    conv2d_data coarse = conv2d_coarse(c, d);
    oracle_conv2d_fwd(want, scale, d->x_d, d->w_d, bias ? d->b_d : NULL, g);
    oracle_conv2d_fwd(rough, NULL, coarse.x_d, coarse.w_d, bias ? coarse.b_d : NULL, g);
    conv2d_case(c, t, bias ? "conv2d_fwd" : "conv2d_fwd without bias", g);
    double *bound = bound_of(c, scale, d->ys, tl_conv2d_col_rows(g) + bias);
    call_conv2d_fwd(t, &r, y, d->x, d->w, bias ? d->b : NULL, g);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, AXES("nkpq", g->n, g->k, g->p, g->q));
    expect_sharp(c, rough, want, bound, d->ys);
}

size_t gradient_size(const conv2d_data *d, gradient of) {
    return of == OF_INPUT ? d->xs : of == OF_WEIGHT ? d->ws : d->ks;
}

size_t gradient_terms(const conv2d_data *d, gradient of) {
    const tl_conv2d_geom *g = &d->g;
    if (of == OF_INPUT) return (size_t)g->k * (size_t)g->r * (size_t)g->s;
    return (size_t)g->n * (size_t)g->p * (size_t)g->q;
}

expect_shape gradient_shape(const conv2d_data *d, gradient of) {
    const tl_conv2d_geom *g = &d->g;
    if (of == OF_INPUT) return AXES("nchw", g->n, g->c, g->h, g->w);
    return of == OF_WEIGHT ? AXES("kcrs", g->k, g->c, g->r, g->s) : AXES("k", g->k);
}

const char *const gradient_name[] = {"dx", "dw", "db"};
static const char *const gradient_op[] = {"conv2d_bwd_input", "conv2d_bwd_weight",
                                          "conv2d_bwd_bias"};

/* The definitions visit the same terms as the forward formula. */
void gradient_define(double *grad, double *scale, const conv2d_data *d, gradient of) {
    if (of == OF_INPUT) oracle_conv2d_bwd_input(grad, scale, d->dy_d, d->w_d, &d->g);
    if (of == OF_WEIGHT) oracle_conv2d_bwd_weight(grad, scale, d->dy_d, d->x_d, &d->g);
    if (of == OF_BIAS) oracle_conv2d_bwd_bias(grad, scale, d->dy_d, &d->g);
}

void gradient_call(claim *c, const call_target *t, tl_real *grad, const conv2d_data *d,
                   gradient of) {
    call_report r;
    conv2d_case(c, t, gradient_op[of], &d->g);
    if (of == OF_BIAS) claim_trait(c, "off_tile", d->g.p * d->g.q % 16 != 0);
    if (of == OF_BIAS) claim_trait(c, "long", gradient_terms(d, of) > 1 << 16);
    if (of == OF_INPUT) call_conv2d_bwd_input(t, &r, grad, d->dy, d->w, &d->g);
    if (of == OF_WEIGHT) call_conv2d_bwd_weight(t, &r, grad, d->dy, d->x, &d->g);
    if (of == OF_BIAS) call_conv2d_bwd_bias(t, &r, grad, d->dy, &d->g);
    expect_ok(c, &r);
}

/* A plane is summed in `lanes` parts side by side. What became of the outputs that do not fill the
 * last of them: are they left out, or do they stand where the first lanes' sums were? (NULL: no.)
 */
static const char *tail_told(const conv2d_data *d, const tl_real *db, const double *want,
                             const double *bound, size_t lanes) {
    size_t outputs = (size_t)d->g.p * (size_t)d->g.q, whole = outputs / lanes * lanes;
    bool out = whole < outputs, over = whole < outputs && whole > 0;
    for (size_t k = 0; k < d->ks && (out || over); k++) {
        double last = 0, first = 0;
        for (size_t i = 0; i < (size_t)d->g.n; i++) {
            const double *plane = d->dy_d + (i * d->ks + k) * outputs;
            for (size_t j = whole; j < outputs; j++) last += plane[j];
            for (size_t j = 0; j < whole; j++)
                if (j % lanes < outputs - whole) first += plane[j];
        }
        out = out && fabs(db[k] - want[k] + last) <= bound[k];
        over = over && fabs(db[k] - want[k] + first) <= bound[k];
    }
    return out ? "last_missing" : over ? "lanes_lost" : NULL;
}

/* Are the second halves of rounds of so many terms left out? Terms are counted over all images, or
 * in each plane anew. */
static bool halves_missing(const conv2d_data *d, const tl_real *db, const double *want,
                           const double *bound, size_t round, bool planes) {
    size_t outputs = (size_t)d->g.p * (size_t)d->g.q;
    for (size_t k = 0; k < d->ks; k++) {
        double missing = 0;
        for (size_t i = 0; i < (size_t)d->g.n; i++)
            for (size_t j = 0; j < outputs; j++)
                if ((planes ? j : i * outputs + j) % round >= round / 2)
                    missing += d->dy_d[(i * d->ks + k) * outputs + j];
        if (!(fabs(db[k] - want[k] + missing) <= bound[k])) return false;
    }
    return true;
}

static const char *rounds_told(const conv2d_data *d, const tl_real *db, const double *want,
                               const double *bound) {
    size_t outputs = (size_t)d->g.p * (size_t)d->g.q;
    for (size_t round = 2; round <= 1024; round *= 2)
        if (halves_missing(d, db, want, bound, round, true) ||
            (round / 2 % outputs != 0 && /* else whole images are missing */
             halves_missing(d, db, want, bound, round, false)))
            return round == 2 ? "every_other_missing" : "rounds_skipped";
    return NULL;
}

static void tell_terms(claim *c, const conv2d_data *d, const tl_real *db, const double *want,
                       const double *bound) {
    const char *told = NULL;
    for (size_t lanes = 2; lanes <= 64 && !told; lanes *= 2)
        told = tail_told(d, db, want, bound, lanes);
    if (!told) told = rounds_told(d, db, want, bound);
    if (told) finding_pattern_of_case(c, told);
}

/* Has it what the images of the first chunk give, and nothing of the others? */
static void tell_chunk(claim *c, const call_target *t, const conv2d_data *d, gradient of,
                       const tl_real *grad, const tl_real *before, const double *bound) {
    size_t n = gradient_size(d, of);
    double *part = doubles(c, n);
    conv2d_data first = *d;
    first.g.n = tl_conv2d_chunk(&d->g, t->column_bytes);
    bool alone = first.g.n < d->g.n;
    gradient_define(part, NULL, &first, of);
    for (size_t i = 0; i < n && alone; i++)
        alone = fabs((double)grad[i] - before[i] - part[i]) <= bound[i];
    if (alone) finding_pattern_of_case(c, "first_chunk_alone");
}

/* The gradient starts as random numbers, so a call that overwrites fails. */
void expect_conv2d_gradient(claim *c, const call_target *t, const conv2d_data *d, gradient of) {
    size_t n = gradient_size(d, of), terms = gradient_terms(d, of) + 1;
    if (!bound_judges(terms)) return;
    tl_real *before = draw_reals(c, n), *grad = copy_reals(c, before, n);
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    conv2d_data coarse = conv2d_coarse(c, d);
    gradient_define(want, scale, d, of);
    gradient_define(rough, NULL, &coarse, of);
    for (size_t i = 0; i < n; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    gradient_call(c, t, grad, d, of);
    double *bound = bound_of(c, scale, n, terms);
    expect_added(c, gradient_name[of], grad, before, want, bound, gradient_shape(d, of));
    if (c->case_failed && of == OF_BIAS) tell_terms(c, d, grad, want, bound);
    if (c->case_failed && of != OF_BIAS) tell_chunk(c, t, d, of, grad, before, bound);
    expect_sharp(c, rough, want, bound, n);
}
