/* batchnorm_test.c: batch normalisation in training, in evaluation, and backward. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/verdict.h"
#include "autograder/claim/numeric.h"
#include "cases.h"

static const tl_batchnorm_geom shapes[] = {
    {2, 3, 5, 1e-5, 0.1},   {1, 2, 7, 1e-3, 0.3},  {4, 1, 1, 1e-5, 0.1},
    {3, 4, 16, 1e-5, 0.25}, {8, 2, 25, 1e-5, 0.1}, {2, 1, 1, 1e-2, 0.5},
    {6, 3, 1, 1e-5, 0.2},   {2, 1, 6, 1e-4, 0.1}, /* channels or places alone */
    {5, 3, 40, 0, 0.1},     {67, 2, 6, 1e-5, 0.1}, {4, 67, 65, 1e-5, 0.1},
};
/* more images than two warps have threads; work for several threads of the cpu */
enum { SHAPES = sizeof shapes / sizeof *shapes, SMALL = SHAPES - 2 };

/* Drawn inputs, the statistics by definition, and what rounding may do to them per channel:
 *   mean     a sum of m terms, at most factor * mean |x|
 *   var      m squares of differences that carry the mean's error delta: 2 delta dev + delta^2
 *   inv_std  half the relative error of var + eps */
typedef struct bn_data {
    tl_batchnorm_geom g;
    size_t m, n, ch;
    tl_real *x, *gamma, *beta, *dy;
    double *x_d, *gamma_d, *beta_d, *dy_d;
    double *mean, *var, *inv_std, *mean_bound, *var_bound, *inv_bound;
} bn_data;

static void define_statistics(bn_data *d) {
    for (size_t k = 0; k < d->ch; k++) {
        oracle_moments o = oracle_channel_moments(d->x_d, d->g.n, d->g.c, d->g.hw, (int)k);
        double delta = bound_factor(d->m) * o.mean_scale;
        d->mean[k] = o.mean;
        d->var[k] = o.var;
        d->inv_std[k] = 1 / sqrt(o.var + d->g.eps);
        d->mean_bound[k] = delta;
        d->var_bound[k] = bound_factor(d->m + 4) * o.var + 2 * delta * sqrt(o.var) + delta * delta;
        d->inv_bound[k] =
            d->inv_std[k] * (d->var_bound[k] / (2 * (o.var + d->g.eps)) + 4 * bound_unit());
    }
}

static bn_data draw_data(claim *c, const tl_batchnorm_geom *g, double center, double spread) {
    bn_data d = {.g = *g, .m = (size_t)g->n * (size_t)g->hw, .ch = (size_t)g->c};
    d.n = d.m * d.ch;
    d.x_d = widen(c, d.x = draw_between(c, d.n, center - spread, center + spread), d.n);
    d.gamma_d = widen(c, d.gamma = draw_between(c, d.ch, 0.5, 2), d.ch);
    d.beta_d = widen(c, d.beta = draw_reals(c, d.ch), d.ch);
    d.dy_d = widen(c, d.dy = draw_reals(c, d.n), d.n);
    d.mean = doubles(c, d.ch);
    d.var = doubles(c, d.ch);
    d.inv_std = doubles(c, d.ch);
    d.mean_bound = doubles(c, d.ch);
    d.var_bound = doubles(c, d.ch);
    d.inv_bound = doubles(c, d.ch);
    define_statistics(&d);
    return d;
}

static void bn_case(claim *c, const call_target *t, const char *op, const tl_batchnorm_geom *g) {
    claim_case(c, t, "%s x[%d,%d,%d] eps %g momentum %g", op, g->n, g->c, g->hw, g->eps,
               g->momentum);
    claim_trait(c, "batch", g->n > 1);
    claim_trait(c, "several_places", g->hw > 1);
    claim_trait(c, "channels", g->c > 1);
}

/* y = gamma (x - mean) inv_std + beta: errors of mean and inv_std, and five roundings. */
static double *output_bound(claim *c, const bn_data *d, const double *scale) {
    double *bound = doubles(c, d->n);
    for (size_t i = 0; i < d->n; i++) {
        size_t k = i / (size_t)d->g.hw % d->ch;
        bound[i] = fabs(d->gamma_d[k]) * (d->inv_std[k] * d->mean_bound[k] +
                                          fabs(d->x_d[i] - d->mean[k]) * d->inv_bound[k]) +
                   6 * bound_unit() * scale[i];
    }
    return bound;
}

/* running = (1 - momentum) running + momentum batch; the coefficients are rounded too. */
static void expect_running(claim *c, const char *name, const bn_data *d, const tl_real *got,
                           const tl_real *before, const double *batch, const double *batch_bound) {
    double *want = doubles(c, d->ch), *bound = doubles(c, d->ch), mom = d->g.momentum;
    for (size_t k = 0; k < d->ch; k++) {
        want[k] = (1 - mom) * before[k] + mom * batch[k];
        bound[k] =
            mom * batch_bound[k] + 6 * bound_unit() * (fabs((double)before[k]) + fabs(batch[k]));
    }
    expect_close(c, name, got, want, bound, SHAPE(d->g.c));
}

static void expect_forward(claim *c, const call_target *t, const bn_data *d, tl_real *mean,
                           tl_real *inv_std) {
    call_report r;
    size_t ch = d->ch;
    tl_real *y = reals(c, d->n), *mean0 = draw_reals(c, ch), *var0 = draw_between(c, ch, 0.5, 2);
    tl_real *running_mean = copy_reals(c, mean0, ch), *running_var = copy_reals(c, var0, ch);
    double *want = doubles(c, d->n), *scale = doubles(c, d->n);
    bn_case(c, t, "batchnorm_fwd", &d->g);
    call_batchnorm_fwd(t, &r, y, mean, inv_std, running_mean, running_var, d->x, d->gamma, d->beta,
                       &d->g);
    expect_ok(c, &r);
    expect_close(c, "mean", mean, d->mean, d->mean_bound, SHAPE(d->g.c));
    expect_close(c, "inv_std", inv_std, d->inv_std, d->inv_bound, SHAPE(d->g.c));
    oracle_normalise(want, scale, d->x_d, d->gamma_d, d->beta_d, d->mean, d->inv_std, d->g.n,
                     d->g.c, d->g.hw);
    expect_close(c, "y", y, want, output_bound(c, d, scale), AXES("ncp", d->g.n, d->g.c, d->g.hw));
    double *var = doubles(c, ch), *var_bound = doubles(c, ch);
    double unbias = (double)d->m / ((double)d->m - 1);
    for (size_t k = 0; k < ch; k++) {
        var[k] = d->var[k] * unbias;
        var_bound[k] = d->var_bound[k] * unbias;
    }
    expect_running(c, "running_mean", d, running_mean, mean0, d->mean, d->mean_bound);
    expect_running(c, "running_var", d, running_var, var0, var, var_bound);
}

static void expect_sharp_forward(claim *c, const bn_data *d) {
    bn_data rough = *d;
    double *want = doubles(c, d->n), *scale = doubles(c, d->n), *coarse = doubles(c, d->n);
    oracle_normalise(want, scale, d->x_d, d->gamma_d, d->beta_d, d->mean, d->inv_std, d->g.n,
                     d->g.c, d->g.hw);
    double *bound = output_bound(c, d, scale);
    rough.x_d = coarsen(c, d->x_d, d->n);
    rough.mean = doubles(c, d->ch);
    rough.inv_std = doubles(c, d->ch);
    rough.var = doubles(c, d->ch);
    rough.mean_bound = doubles(c, d->ch);
    rough.var_bound = doubles(c, d->ch);
    rough.inv_bound = doubles(c, d->ch);
    define_statistics(&rough);
    oracle_normalise(coarse, NULL, rough.x_d, d->gamma_d, d->beta_d, rough.mean, rough.inv_std,
                     d->g.n, d->g.c, d->g.hw);
    expect_sharp(c, coarse, want, bound, d->n);
}

CLAIM(lab3_batchnorm, training_normalises_and_moves_running_statistics) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            bn_data d = draw_data(c, &shapes[s], 0.5, 1.5);
            expect_forward(c, t, &d, reals(c, d.ch), reals(c, d.ch));
            expect_sharp_forward(c, &d);
        }
}

/* Three numbers in a channel, M + a, M + b and M + c with a + b + c = 0, M 2^27 or so. Each partial
 * sum of them is a float, in any order, and so is the mean: rounding takes nothing from squared
 * differences. The mean of the squares is no double, for a² + b² + c² is no multiple of three, and
 * is as large as M²: what it loses in rounding is a share of the variance that a float shows. */
static bn_data draw_beside_a_power(claim *c, const tl_batchnorm_geom *g) {
    static const int beside[][3] = {{-1, 0, 1}, {-2, 0, 2}, {4, -1, -3}, {-4, 1, 3}};
    bn_data d = draw_data(c, g, 0.5, 1.5);
    for (size_t k = 0; k < d.ch; k++) {
        uint64_t bits = draw_bits(c);
        const int *of = beside[bits % 4];
        double unit = (double)(32 << (bits >> 2) % 4), center = bits >> 4 & 1 ? 0x1p22 : -0x1p22;
        for (size_t i = 0, at = bits >> 5 & 1; i < d.m; i++) { /* place i of the channel */
            size_t hw = (size_t)g->hw, place = (i / hw * d.ch + k) * hw + i % hw;
            d.x[place] = (tl_real)(unit * (center + of[(i + at) % 3]));
        }
    }
    d.x_d = widen(c, d.x, d.n);
    define_statistics(&d);
    for (size_t k = 0; k < d.ch; k++) { /* a mean without error, but for its own rounding */
        d.mean_bound[k] = bound_unit() * fabs(d.mean[k]);
        d.var_bound[k] = bound_factor(d.m + 4) * d.var[k];
        d.inv_bound[k] =
            d.inv_std[k] * (d.var_bound[k] / (2 * (d.var[k] + g->eps)) + 4 * bound_unit());
    }
    return d;
}

/* The mean of squares less the square of the mean loses all digits here (in float; in double about
 * as many as a float would cost: so first near 0, where it costs none); squared differences do
 * not. */
CLAIM(lab3_batchnorm, a_large_mean_does_not_spoil_the_variance) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            bn_data near = draw_data(c, &shapes[s], 0, 1), d = draw_data(c, &shapes[s], 1000, 1);
            expect_forward(c, t, &near, reals(c, near.ch), reals(c, near.ch));
            expect_forward(c, t, &d, reals(c, d.ch), reals(c, d.ch));
            if (c->case_failed) finding_pattern_of_case(c, "far_from_zero");
        }
    static const tl_batchnorm_geom of_three[] = {{3, 4, 1, 1e-5, 0.1}, {1, 5, 3, 0, 0.25}};
    FOR_TARGETS (t)
        for (int s = 0; s < 2; s++) {
            bn_data d = draw_beside_a_power(c, &of_three[s]);
            expect_forward(c, t, &d, reals(c, d.ch), reals(c, d.ch));
        }
}

/* All three with the pointer number k NULL, in the order of their contracts; none: -1. */
static void call_all(const call_target *t, call_report r[3], const bn_data *d, tl_real *out[5],
                     int k) {
#define OR_NULL(i, p) (k == (i) ? NULL : (p))
    call_batchnorm_fwd(t, &r[0], OR_NULL(0, out[0]), OR_NULL(1, out[1]), OR_NULL(2, out[2]),
                       OR_NULL(3, out[3]), OR_NULL(4, out[4]), OR_NULL(5, d->x),
                       OR_NULL(6, d->gamma), OR_NULL(7, d->beta), &d->g);
    call_batchnorm_eval(t, &r[1], OR_NULL(0, out[0]), OR_NULL(1, d->x), OR_NULL(2, d->gamma),
                        OR_NULL(3, d->beta), OR_NULL(4, out[3]), OR_NULL(5, out[4]), &d->g);
    call_batchnorm_bwd(t, &r[2], OR_NULL(0, out[0]), OR_NULL(1, out[1]), OR_NULL(2, out[2]),
                       OR_NULL(3, d->dy), OR_NULL(4, d->x), OR_NULL(5, d->gamma),
                       OR_NULL(6, out[3]), OR_NULL(7, out[4]), &d->g);
#undef OR_NULL
}

/* Pointers that are NULL, and numbers that the check of the geometry refuses. */
static void refuse_arguments(claim *c, const call_target *t) {
    static const char *const op[] = {"batchnorm_fwd", "batchnorm_eval", "batchnorm_bwd"};
    static const int pointers[] = {8, 6, 8};
    static const struct {
        double eps, momentum;
    } bad[] = {{NAN, 0.1}, {-1e-5, 0.1}, {1e-5, NAN}, {1e-5, 1.5}};
    call_report r[3];
    bn_data d = draw_data(c, &shapes[0], 0.5, 1.5);
    tl_real *out[5] = {reals(c, d.n)};
    for (int i = 1; i < 5; i++) out[i] = draw_between(c, d.ch, 0.5, 1);
    for (int k = 0; k < 8; k++) {
        call_all(t, r, &d, out, k);
        for (int i = 0; i < 3; i++) {
            if (k >= pointers[i]) continue;
            claim_case(c, t, "%s, where pointer %d behind ctx is NULL", op[i], k + 1);
            expect_refusal(c, &r[i]);
        }
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        d.g.eps = bad[k].eps;
        d.g.momentum = bad[k].momentum;
        call_all(t, r, &d, out, -1);
        for (int i = 0; i < 3; i++) {
            bn_case(c, t, op[i], &d.g);
            expect_refusal(c, &r[i]);
        }
    }
}

CLAIM(lab3_batchnorm, a_constant_channel_becomes_beta) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            if (shapes[s].eps == 0) continue;
            bn_data d = draw_data(c, &shapes[s], 0.75, 0); /* sums of 0.75 are exact */
            expect_forward(c, t, &d, reals(c, d.ch), reals(c, d.ch));
        }
    FOR_TARGETS (t) refuse_arguments(c, t);
}

static void expect_evaluation(claim *c, const call_target *t, const bn_data *d) {
    call_report r;
    tl_real *y = reals(c, d->n), *mean = draw_reals(c, d->ch);
    tl_real *var = draw_between(c, d->ch, 0.25, 2);
    double *want = doubles(c, d->n), *scale = doubles(c, d->n), *rough = doubles(c, d->n);
    double *inv_std = doubles(c, d->ch);
    for (size_t k = 0; k < d->ch; k++) inv_std[k] = 1 / sqrt(var[k] + d->g.eps);
    double *mean_d = widen(c, mean, d->ch), *x_rough = coarsen(c, d->x_d, d->n);
    oracle_normalise(want, scale, d->x_d, d->gamma_d, d->beta_d, mean_d, inv_std, d->g.n, d->g.c,
                     d->g.hw);
    oracle_normalise(rough, NULL, x_rough, d->gamma_d, d->beta_d, mean_d, inv_std, d->g.n, d->g.c,
                     d->g.hw);
    double *bound = bound_of(c, scale, d->n, 8); /* sum, root, quotient, product, … : 7 */
    bn_case(c, t, "batchnorm_eval", &d->g);
    call_batchnorm_eval(t, &r, y, d->x, d->gamma, d->beta, mean, var, &d->g);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, SHAPE(d->g.n, d->g.c, d->g.hw));
    expect_sharp(c, rough, want, bound, d->n);
}

CLAIM(lab3_batchnorm, evaluation_uses_running_statistics_and_leaves_them) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            call_target failing = launches_failing(t), recorded = recorded_step(t);
            bn_data d = draw_data(c, &shapes[s], 0.5, 1.5);
            expect_evaluation(c, &failing, &d);
            if (s == 0) expect_evaluation(c, &recorded, &d);
        }
}

/* The gradients and their scales by definition, from given statistics. */
static oracle_batchnorm_grad define_gradients(claim *c, const bn_data *d, const double *x,
                                              const double *dy, const double *mean,
                                              const double *inv_std) {
    oracle_batchnorm_grad g = {doubles(c, d->n), doubles(c, d->ch), doubles(c, d->ch),
                               doubles(c, d->n), doubles(c, d->ch), doubles(c, d->ch)};
    oracle_batchnorm_bwd(&g, dy, x, d->gamma_d, mean, inv_std, d->g.n, d->g.c, d->g.hw);
    return g;
}

static void add_before(double *want, double *scale, const tl_real *before, size_t n) {
    for (size_t i = 0; i < n; i++) {
        want[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
}

/* mean and inv_std are inputs here: rounded numbers, the same for both sides. */
static void expect_backward(claim *c, const call_target *t, const bn_data *d) {
    call_report r;
    tl_real *mean = reals(c, d->ch), *inv_std = reals(c, d->ch);
    for (size_t k = 0; k < d->ch; k++) {
        mean[k] = (tl_real)d->mean[k];
        inv_std[k] = (tl_real)d->inv_std[k];
    }
    double *mean_d = widen(c, mean, d->ch), *inv_d = widen(c, inv_std, d->ch);
    oracle_batchnorm_grad want = define_gradients(c, d, d->x_d, d->dy_d, mean_d, inv_d);
    oracle_batchnorm_grad rough =
        define_gradients(c, d, coarsen(c, d->x_d, d->n), coarsen(c, d->dy_d, d->n), mean_d, inv_d);
    double *dx_bound = bound_of(c, want.dx_scale, d->n, d->m + 8);
    expect_sharp(c, rough.dx, want.dx, dx_bound, d->n);
    tl_real *dx0 = draw_reals(c, d->n), *dgamma0 = draw_reals(c, d->ch);
    tl_real *dbeta0 = draw_reals(c, d->ch), *dx = copy_reals(c, dx0, d->n);
    tl_real *dgamma = copy_reals(c, dgamma0, d->ch), *dbeta = copy_reals(c, dbeta0, d->ch);
    add_before(want.dx, want.dx_scale, dx0, d->n);
    add_before(want.dgamma, want.dgamma_scale, dgamma0, d->ch);
    add_before(want.dbeta, want.dbeta_scale, dbeta0, d->ch);
    bn_case(c, t, "batchnorm_bwd", &d->g);
    call_batchnorm_bwd(t, &r, dx, dgamma, dbeta, d->dy, d->x, d->gamma, mean, inv_std, &d->g);
    expect_ok(c, &r);
    expect_added(c, "dbeta", dbeta, dbeta0, want.dbeta,
                 bound_of(c, want.dbeta_scale, d->ch, d->m + 1), AXES("c", d->g.c));
    expect_added(c, "dgamma", dgamma, dgamma0, want.dgamma,
                 bound_of(c, want.dgamma_scale, d->ch, d->m + 4), AXES("c", d->g.c));
    expect_added(c, "dx", dx, dx0, want.dx, bound_of(c, want.dx_scale, d->n, d->m + 8),
                 AXES("ncp", d->g.n, d->g.c, d->g.hw));
    tl_real *again = copy_reals(c, dgamma0, d->ch); /* threads may come in another order */
    call_target elsewhere = claim_elsewhere(t);
    call_batchnorm_bwd(&elsewhere, &r, copy_reals(c, dx0, d->n), again,
                       copy_reals(c, dbeta0, d->ch), d->dy, d->x, d->gamma, mean, inv_std, &d->g);
    expect_ok(c, &r);
    expect_same_bits(c, "dgamma", again, dgamma, AXES("c", d->g.c));
}

CLAIM(lab3_batchnorm, backward_matches_definition_and_accumulates) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            bn_data d = draw_data(c, &shapes[s], 0.5, 1.5);
            expect_backward(c, t, &d);
        }
}

void expect_batchnorm(claim *c, const call_target *t, const tl_batchnorm_geom *g, double low,
                      double high) {
    bn_data d = draw_data(c, g, (low + high) / 2, (high - low) / 2);
    expect_forward(c, t, &d, reals(c, d.ch), reals(c, d.ch));
    expect_evaluation(c, t, &d);
    expect_backward(c, t, &d);
}

static double weighted_output(const void *user) {
    const bn_data *d = user;
    double sum = 0;
    for (int k = 0; k < d->g.c; k++) {
        oracle_moments o = oracle_channel_moments(d->x_d, d->g.n, d->g.c, d->g.hw, k);
        double inv_std = 1 / sqrt(o.var + d->g.eps);
        for (size_t i = 0; i < d->n; i++)
            if (i / (size_t)d->g.hw % d->ch == (size_t)k)
                sum += d->dy_d[i] * (d->gamma_d[k] * (d->x_d[i] - o.mean) * inv_std + d->beta_d[k]);
    }
    return sum;
}

/* What errors of mean and inv_std, which forward rounded, do to dx: xhat moves by e. */
static void widen_bound(double *bound, const bn_data *d, const oracle_batchnorm_grad *g) {
    for (size_t i = 0; i < d->n; i++) {
        size_t k = i / (size_t)d->g.hw % d->ch;
        double inv = d->inv_std[k], relative = d->inv_bound[k] / inv;
        double e = d->mean_bound[k] * inv, xhat = (fabs(d->x_d[i]) + fabs(d->mean[k])) * inv;
        double moved = e * g->dgamma_scale[k] + xhat * e * g->dbeta_scale[k];
        bound[i] +=
            3 * relative * g->dx_scale[i] + fabs(d->gamma_d[k]) * inv * moved / (double)d->m;
    }
}

CLAIM(lab3_batchnorm, gradients_match_numeric) {
    call_report r;
    FOR_TARGETS (t)
        for (int s = 0; s < SMALL; s++) {
            bn_data d = draw_data(c, &shapes[s], 0.5, 1.5);
            if (d.m < 3)
                continue; /* two numbers are +-1 whatever they are: the gradient is noise */
            tl_real *mean = reals(c, d.ch), *inv_std = reals(c, d.ch);
            expect_forward(c, t, &d, mean, inv_std);
            oracle_batchnorm_grad g = define_gradients(c, &d, d.x_d, d.dy_d, d.mean, d.inv_std);
            double noise = 0;
            for (size_t i = 0; i < d.n; i++) noise += 8 * fabs(d.dy_d[i]) * bound_double(d.m + d.n);
            double *dx_n = doubles(c, d.n), *dgamma_n = doubles(c, d.ch),
                   *dbeta_n = doubles(c, d.ch);
            double *dx_e = doubles(c, d.n), *dgamma_e = doubles(c, d.ch),
                   *dbeta_e = doubles(c, d.ch);
            numeric_gradient(dx_n, dx_e, d.x_d, d.n, 1e-3, noise, weighted_output, &d);
            numeric_gradient(dgamma_n, dgamma_e, d.gamma_d, d.ch, 0.25, noise, weighted_output, &d);
            numeric_gradient(dbeta_n, dbeta_e, d.beta_d, d.ch, 0.25, noise, weighted_output, &d);
            double *dx_b = bound_of(c, g.dx_scale, d.n, d.m + 8);
            double *dgamma_b = bound_of(c, g.dgamma_scale, d.ch, d.m + 4);
            double *dbeta_b = bound_of(c, g.dbeta_scale, d.ch, d.m + 1);
            widen_bound(dx_b, &d, &g);
            for (size_t i = 0; i < d.n; i++) dx_b[i] += dx_e[i];
            for (size_t k = 0; k < d.ch; k++) {
                dgamma_b[k] += dgamma_e[k] + d.inv_bound[k] / d.inv_std[k] * g.dgamma_scale[k] +
                               d.mean_bound[k] * d.inv_std[k] * g.dbeta_scale[k];
                dbeta_b[k] += dbeta_e[k];
            }
            tl_real *dx = reals(c, d.n), *dgamma = reals(c, d.ch), *dbeta = reals(c, d.ch);
            bn_case(c, t, "batchnorm_bwd", &d.g);
            call_batchnorm_bwd(t, &r, dx, dgamma, dbeta, d.dy, d.x, d.gamma, mean, inv_std, &d.g);
            expect_ok(c, &r);
            expect_close(c, "dx", dx, dx_n, dx_b, SHAPE(d.g.n, d.g.c, d.g.hw));
            expect_close(c, "dgamma", dgamma, dgamma_n, dgamma_b, SHAPE(d.g.c));
            expect_close(c, "dbeta", dbeta, dbeta_n, dbeta_b, SHAPE(d.g.c));
        }
}

static void normalise_small(claim *c, const call_target *t, int which) {
    const tl_batchnorm_geom g = {3, 2, 100, 1e-5, 0.1};
    call_target how[] = {launches_failing(t), recorded_step(t)};
    bn_data d = draw_data(c, &g, 0.5, 1.5);
    for (int k = 0; k < 2; k++) {
        if (which == 0)
            expect_forward(c, &how[k], &d, reals(c, d.ch), reals(c, d.ch));
        else
            expect_backward(c, &how[k], &d);
    }
}

CLAIM_NO_TWO_THREADS_MEET(lab3_batchnorm, normalise_small, 2)
