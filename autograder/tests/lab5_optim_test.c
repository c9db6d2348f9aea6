/* lab5_optim_test.c: SGD and Adam step by step, and learning-rate schedules.
 *
 * Each step starts from what the judged code left, so its error is that of one step and the bound
 * stays sharp along the whole trajectory. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "bound.h"
#include "expect.h"

enum { N = 131, STEPS = 12 };

static const struct {
    double lr;
    tl_sgd_options o;
} sgd_cases[] = {{0.1, {0, 0, 0}},   {0.05, {0, 0.01, 0}},   {0.1, {0.9, 0, 0}},
                 {0.1, {0.9, 0, 1}}, {0.01, {0.9, 5e-4, 0}}, {0.02, {0.5, 0.1, 1}}};

/* w, velocity by definition with their bounds; the constants lr, mu and lambda may be rounded
 * first. */
static void expect_sgd(claim *c, const call_target *t, int which, bool velocity) {
    const tl_sgd_options *o = &sgd_cases[which].o;
    tl_real *w = draw_reals(c, N), *v = reals(c, N);
    for (uint64_t i = 0; i < STEPS; i++) {
        call_report r;
        const tl_step step = {.seed = 1, .index = i, .lr = sgd_cases[which].lr / (double)(i + 1)};
        const oracle_sgd definition = {step.lr, o->momentum, o->weight_decay, o->nesterov};
        tl_real *dw = draw_reals(c, N);
        double *w_d = widen(c, w, N), *v_d = widen(c, v, N), *dw_d = widen(c, dw, N);
        double *w_scale = doubles(c, N), *v_scale = doubles(c, N), unused[2];
        double *w_rough = coarsen(c, w_d, N), *dw_rough = coarsen(c, dw_d, N);
        double *v_rough = coarsen(c, v_d, N);
        for (int k = 0; k < N; k++) {
            oracle_sgd_step(&w_d[k], &v_d[k], dw_d[k], &definition, &w_scale[k], &v_scale[k]);
            oracle_sgd_step(&w_rough[k], &v_rough[k], dw_rough[k], &definition, unused, unused + 1);
        }
        claim_case(c, t, "sgd_step %d of [%d], lr %g momentum %g weight decay %g%s", (int)i, N,
                   step.lr, o->momentum, o->weight_decay, o->nesterov ? " Nesterov" : "");
        call_sgd_step(t, &r, w, velocity ? v : NULL, dw, N, &step, o);
        expect_ok(c, &r);
        double *w_bound = bound_of(c, w_scale, N, 8);
        expect_close(c, "w", w, w_d, w_bound, SHAPE(N));
        expect_sharp(c, w_rough, w_d, w_bound, N);
        /* without momentum nobody reads the velocity, so nobody need write it */
        if (o->momentum > 0)
            expect_close(c, "velocity", v, v_d, bound_of(c, v_scale, N, 6), SHAPE(N));
    }
}

CLAIM(lab5_sgd, plain_steps_follow_the_formula) {
    FOR_TARGETS (t)
        for (int i = 0; i < 2; i++) {
            expect_sgd(c, t, i, false); /* no velocity needed without momentum */
            expect_sgd(c, t, i, true);
        }
}
CLAIM(lab5_sgd, momentum_and_nesterov_follow_the_formula) {
    FOR_TARGETS (t)
        for (int i = 2; i < 4; i++) expect_sgd(c, t, i, true);
}
CLAIM(lab5_sgd, weight_decay_is_added_to_the_gradient) {
    FOR_TARGETS (t) {
        expect_sgd(c, t, 1, true);
        for (int i = 4; i < 6; i++) expect_sgd(c, t, i, true);
    }
}

static const struct {
    double lr;
    uint64_t first; /* step number of the first step */
    tl_adam_options o;
} adam_cases[] = {{1e-3, 0, {0.9, 0.999, 1e-8, 0}}, {0.01, 0, {0.9, 0.999, 1e-8, 0.01}},
                  {0.01, 0, {0.5, 0.9, 1e-3, 0}},   {1e-3, 999, {0.9, 0.999, 1e-8, 0}},
                  {0.1, 3, {0, 0.99, 1e-4, 0.1}},   {0.01, 0, {0.9, 0, 1e-8, 0}}};
enum { ADAM_CASES = sizeof adam_cases / sizeof *adam_cases };

typedef struct adam_bound {
    double w, m, v;
} adam_bound;

/* How far a step may be off. m may be formed as m + (1 - beta) (g - m), so m and g count whole; 1 -
 * beta may come from a rounded beta, so its error is u and not u (1 - beta); 1 - beta^t likewise,
 * and beta^t grows t times the error of beta. */
static adam_bound bound_adam(double w0, double m0, double v0, double dw, double m, double v,
                             const oracle_adam *o) {
    double u = bound_unit(), t = (double)o->t;
    double g = fabs(dw) + fabs(o->weight_decay * w0);
    adam_bound b = {0, bound_factor(6) * (fabs(m0) + g), bound_factor(6) * (v0 + g * g)};
    double power1 = pow(o->beta1, t), power2 = pow(o->beta2, t);
    double correct1 = 1 - power1, correct2 = 1 - power2;
    double root = sqrt(v / correct2), denominator = root + o->eps;
    double relative = u * (12 + 2 * (4 + t * power1) / correct1 + 2 * (4 + t * power2) / correct2);
    if (v > 0) relative += b.v / (2 * v) * root / denominator;
    double unit = o->lr / correct1 / denominator;
    b.w = unit * (b.m + fabs(m) * relative) + bound_factor(2) * (fabs(w0) + unit * fabs(m));
    return b;
}

static void expect_adam(claim *c, const call_target *t, int which) {
    const tl_adam_options *o = &adam_cases[which].o;
    tl_real *w = draw_between(c, N, -0.05, 0.05), *m = reals(c, N), *v = reals(c, N);
    for (uint64_t i = 0; i < STEPS; i++) {
        call_report r;
        const tl_step step = {.index = adam_cases[which].first + i, .lr = adam_cases[which].lr};
        const oracle_adam definition = {step.lr, o->beta1,        o->beta2,
                                        o->eps,  o->weight_decay, step.index + 1};
        tl_real *dw = draw_reals(c, N);
        double *w_d = widen(c, w, N), *m_d = widen(c, m, N), *v_d = widen(c, v, N);
        double *dw_d = widen(c, dw, N), *w_bound = doubles(c, N), *m_bound = doubles(c, N);
        double *v_bound = doubles(c, N), *w_rough = coarsen(c, w_d, N);
        double *m_rough = coarsen(c, m_d, N), *v_rough = coarsen(c, v_d, N);
        double *dw_rough = coarsen(c, dw_d, N);
        for (int k = 0; k < N; k++) {
            double w0 = w_d[k], m0 = m_d[k], v0 = v_d[k];
            oracle_adam_step(&w_d[k], &m_d[k], &v_d[k], dw_d[k], &definition);
            oracle_adam_step(&w_rough[k], &m_rough[k], &v_rough[k], dw_rough[k], &definition);
            adam_bound b = bound_adam(w0, m0, v0, dw_d[k], m_d[k], v_d[k], &definition);
            w_bound[k] = b.w;
            m_bound[k] = b.m;
            v_bound[k] = b.v;
        }
        claim_case(c, t, "adam_step %llu of [%d], lr %g betas %g, %g eps %g weight decay %g",
                   (unsigned long long)step.index, N, step.lr, o->beta1, o->beta2, o->eps,
                   o->weight_decay);
        call_adam_step(t, &r, w, m, v, dw, N, &step, o);
        expect_ok(c, &r);
        expect_close(c, "m", m, m_d, m_bound, SHAPE(N));
        expect_close(c, "v", v, v_d, v_bound, SHAPE(N));
        expect_close(c, "w", w, w_d, w_bound, SHAPE(N));
        expect_sharp(c, w_rough, w_d, w_bound, N);
    }
}

CLAIM(lab5_adam, steps_follow_the_formula) {
    FOR_TARGETS (t)
        for (int i = 0; i < ADAM_CASES; i++) expect_adam(c, t, i);
}

/* eps keeps 0/0 away: a parameter that never gets a gradient stays where it is. */
CLAIM(lab5_adam, no_gradient_means_no_step) {
    FOR_TARGETS (t) {
        call_report r;
        const tl_step step = {.index = 0, .lr = 0.1};
        tl_real *w = draw_reals(c, N), *before = copy_reals(c, w, N);
        tl_real *m = reals(c, N), *v = reals(c, N), *dw = reals(c, N);
        claim_case(c, t, "adam_step of zero gradients");
        call_adam_step(t, &r, w, m, v, dw, N, &step, &adam_cases[0].o);
        expect_ok(c, &r);
        expect_same_bits(c, "w", w, before, SHAPE(N));
    }
}

/* Long enough for several threads; more of them than cores. */
CLAIM(lab5_adam, bits_of_both_optimisers_do_not_depend_on_threads) {
    enum { LONG = 70001 };
    static const int threads[] = {1, 2, 3, 8};
    tl_real *start = draw_reals(c, LONG), *dw = draw_reals(c, LONG), *first[2] = {NULL, NULL};
    for (int i = 0; i < 8; i++) {
        call_report r;
        call_target t = claim_targets[2];
        t.threads = threads[i / 2];
        const tl_step step = {.index = 4, .lr = 0.01};
        tl_real *w = copy_reals(c, start, LONG), *m = copy_reals(c, start, LONG),
                *v = reals(c, LONG);
        claim_case(c, &t, "%s of [%d]", i % 2 ? "adam_step" : "sgd_step", (int)LONG);
        if (i % 2)
            call_adam_step(&t, &r, w, m, v, dw, LONG, &step, &adam_cases[1].o);
        else
            call_sgd_step(&t, &r, w, m, dw, LONG, &step, &sgd_cases[4].o);
        expect_ok(c, &r);
        if (i < 2) first[i] = w;
        expect_same_bits(c, "w", w, first[i % 2], SHAPE(LONG));
    }
}

static const tl_schedule schedules[] = {
    {TL_SCHEDULE_CONSTANT, 0.05, 0, 1, 10},   {TL_SCHEDULE_STEP, 0.1, 0.1, 7, 30},
    {TL_SCHEDULE_STEP, 0.3, 0.5, 1, 20},      {TL_SCHEDULE_STEP, 0.1, 0.1, 100, 50},
    {TL_SCHEDULE_COSINE, 0.1, 0, 1, 25},      {TL_SCHEDULE_COSINE, 0.1, 0, 1, 1},
    {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 5, 20},  {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 1, 9},
    {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 20, 20},
};

/* In double in every build. A power may be formed by multiplication, one rounding a turn. */
CLAIM(lab5_schedule, every_kind_follows_its_closed_form) {
    for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
        const tl_schedule *o = &schedules[s];
        double *lr = doubles(c, o->total);
        call_report r;
        claim_case(c, &claim_targets[0], "schedule kind %d, turn %d, total %d", (int)o->kind,
                   (int)o->turn, (int)o->total);
        call_schedule_lr(&claim_targets[0], &r, lr, o->total, 0, o);
        expect_ok(c, &r);
        for (uint64_t i = 0; i < o->total; i++) {
            double want = oracle_schedule((int)o->kind, o->base, o->factor, o->turn, o->total, i);
            expect_number(c, "learning rate", lr[i], want,
                          bound_double(16 + i / o->turn) *
                              (o->kind == TL_SCHEDULE_STEP ? want : o->base));
        }
    }
}
