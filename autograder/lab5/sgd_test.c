/* sgd_test.c: SGD step by step, by closed forms, and against PyTorch.
 *
 * Each step starts from what the judged code left, so its error is that of one step and the bound
 * stays sharp along the whole trajectory. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/optim_run.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

enum { N = 700, STEPS = 12 }; /* more than a block or two have threads */

static const sgd_run sgd_runs[] = {{0.1, {0, 0, 0}},       {0.05, {0, 0.01, 0}},
                                   {0.04, {0.8, 0, 0}},    {0.03, {0.9, 0, 1}},
                                   {0.01, {0.9, 5e-4, 0}}, {0.02, {0.5, 0.1, 1}}};
/* (lr is none of 1 - mu, mu and 1 + mu, so that a constant factor tells which it is) */

/* Is the velocity the gradient of this step, with nothing of the velocity before? */
static void tell_velocity(claim *c, const tl_real *v, const double *g, int n) {
    bool alone = true;
    for (int k = 0; k < n; k++) alone = alone && fabs(v[k] - g[k]) <= 1e-6 * (1 + fabs(g[k]));
    if (alone) finding_pattern_of_case(c, "gradient_alone");
}

/* w, velocity by definition with their bounds; the constants lr, mu and lambda may be rounded
 * first. */
void expect_sgd(claim *c, const call_target *t, const sgd_run *run, int n, int steps,
                bool velocity) {
    const tl_sgd_options *o = &run->o;
    bool untouched = velocity && o->momentum == 0;
    tl_real *w = draw_reals(c, n), *v = untouched ? draw_reals(c, n) : reals(c, n);
    const tl_real *before = copy_reals(c, v, n);
    for (uint64_t i = 0; i < (uint64_t)steps; i++) {
        call_report r;
        const tl_step step = {.seed = 1, .index = i, .lr = run->lr / (double)(i + 1)};
        const oracle_sgd definition = {step.lr, o->momentum, o->weight_decay, o->nesterov};
        tl_real *dw = draw_reals(c, n);
        double *w_d = widen(c, w, n), *v_d = widen(c, v, n), *dw_d = widen(c, dw, n);
        double *w_scale = doubles(c, n), *v_scale = doubles(c, n), unused[2];
        double *w_rough = coarsen(c, w_d, n), *dw_rough = coarsen(c, dw_d, n);
        double *v_rough = coarsen(c, v_d, n), *g = doubles(c, n);
        for (int k = 0; k < n; k++) {
            g[k] = dw_d[k] + o->weight_decay * w_d[k];
            oracle_sgd_step(&w_d[k], &v_d[k], dw_d[k], &definition, &w_scale[k], &v_scale[k]);
            oracle_sgd_step(&w_rough[k], &v_rough[k], dw_rough[k], &definition, unused, unused + 1);
        }
        claim_case(c, t, "sgd_step %d of [%d], lr %g momentum %g weight decay %g%s", (int)i, n,
                   step.lr, o->momentum, o->weight_decay, o->nesterov ? " Nesterov" : "");
        claim_trait(c, "weight_decay", o->weight_decay > 0);
        claim_trait(c, "plain_momentum", o->momentum > 0 && !o->nesterov);
        call_sgd_step(t, &r, w, velocity ? v : NULL, dw, n, &step, o);
        expect_ok(c, &r);
        if (o->momentum > 0)
            expect_close(c, "velocity", v, v_d, bound_of(c, v_scale, n, 6), SHAPE(n));
        else
            expect_same_bits(c, "velocity", v, before, SHAPE(n));
        if (c->case_failed) tell_velocity(c, v, g, n);
        double *w_bound = bound_of(c, w_scale, n, 8);
        expect_close(c, "w", w, w_d, w_bound, SHAPE(n));
        expect_sharp(c, w_rough, w_d, w_bound, n);
    }
}

/* One step of any gradients, of more of them than a grid of three blocks has threads. */
static void expect_special(claim *c, const call_target *t, const sgd_run *run) {
    enum { COUNT = 3500 };
    const tl_sgd_options *o = &run->o;
    call_report r;
    const tl_step step = {.index = 2, .lr = run->lr};
    const oracle_sgd definition = {step.lr, o->momentum, o->weight_decay, o->nesterov};
    tl_real *w = draw_reals(c, COUNT), *v = draw_reals(c, COUNT);
    tl_real *dw = draw_any_gradients(c, COUNT);
    double *w_d = widen(c, w, COUNT), *v_d = widen(c, v, COUNT);
    double *w_scale = doubles(c, COUNT), *v_scale = doubles(c, COUNT);
    for (int k = 0; k < COUNT; k++)
        oracle_sgd_step(&w_d[k], &v_d[k], dw[k], &definition, &w_scale[k], &v_scale[k]);
    claim_case(c, t, "sgd_step of [%d], momentum %g, gradients usual, 0, huge, tiny, NaN in turn",
               (int)COUNT, o->momentum);
    call_sgd_step(t, &r, w, v, dw, COUNT, &step, o);
    expect_ok(c, &r);
    if (o->momentum > 0)
        expect_any_gradients(c, "velocity", v, v_d, bound_of(c, v_scale, COUNT, 6), COUNT);
    expect_any_gradients(c, "w", w, w_d, bound_of(c, w_scale, COUNT, 8), COUNT);
}

CLAIM(lab5_sgd, plain_steps_follow_the_formula) {
    FOR_TARGETS (t) {
        for (int i = 0; i < 2; i++) {
            expect_sgd(c, t, &sgd_runs[i], N, STEPS,
                       false); /* no velocity needed without momentum */
            expect_sgd(c, t, &sgd_runs[i], N, STEPS, true);
        }
        expect_special(c, t, &sgd_runs[0]);
    }
}
CLAIM(lab5_sgd, momentum_and_nesterov_follow_the_formula) {
    FOR_TARGETS (t) {
        for (int i = 2; i < 4; i++) expect_sgd(c, t, &sgd_runs[i], N, STEPS, true);
        expect_special(c, t, &sgd_runs[2]);
        expect_special(c, t, &sgd_runs[3]);
    }
}
CLAIM(lab5_sgd, weight_decay_is_added_to_the_gradient) {
    FOR_TARGETS (t) {
        expect_sgd(c, t, &sgd_runs[1], N, STEPS, true);
        for (int i = 4; i < 6; i++) expect_sgd(c, t, &sgd_runs[i], N, STEPS, true);
    }
}

/* Long enough for several threads. */
static threads_result step_once(claim *c, const call_target *t, int which) {
    enum { LONG = 70001 };
    call_report r;
    const tl_step step = {.index = 4, .lr = 0.01};
    tl_real *w = draw_reals(c, LONG), *dw = draw_reals(c, LONG), *m = copy_reals(c, w, LONG);
    (void)which;
    claim_case(c, t, "sgd_step of [%d]", (int)LONG);
    call_sgd_step(t, &r, w, m, dw, LONG, &step, &sgd_runs[4].o);
    expect_ok(c, &r);
    return (threads_result){"w", w, SHAPE(LONG)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab5_sgd, step_once, 1)

/* ---- closed forms ---- */

/* A constant gradient g with momentum mu: v_t = g (1 - mu^t)/(1 - mu), and w is the sum of these.
 * No gradient with weight decay: w_t = w_0 (1 - lr lambda)^t. */
static void expect_closed_form(claim *c, const call_target *t, double mu, double lambda) {
    enum { LONG = 40 };
    const double lr = 0.0625, g = lambda > 0 ? 0 : 0.75;
    const tl_sgd_options o = {.momentum = mu, .weight_decay = lambda};
    tl_real w = 1, v = 0, dw = (tl_real)g;
    double want = 1, moved = 1;
    for (int i = 1; i <= LONG; i++) {
        call_report r;
        const tl_step step = {.index = (uint64_t)i - 1, .lr = lr};
        claim_case(c, t, "sgd_step %d of a constant gradient %g, momentum %g, weight decay %g", i,
                   g, mu, lambda);
        call_sgd_step(t, &r, &w, &v, &dw, 1, &step, &o);
        expect_ok(c, &r);
        double change = lambda > 0 ? want * lr * lambda : lr * g * (1 - pow(mu, i)) / (1 - mu);
        want -= change;
        moved += fabs(change);
        expect_number(c, "w", w, want, 8 * i / (1 - mu) * bound_unit() * moved);
    }
}

/* Options out of their range, and pointers that must be there: velocity with a momentum, too. */
static void refuse_arguments(claim *c, const call_target *t) {
    static const tl_sgd_options bad[] = {{-0.1, 0, 0}, {1, 0, 0},       {NAN, 0, 0},
                                         {0, 0, 1},    {0.9, -1e-4, 0}, {0, NAN, 0}};
    const tl_sgd_options good = {0.9, 1e-4, 0};
    const tl_step step = {.lr = 0.1};
    tl_real w[3] = {1, 1, 1}, v[3] = {0}, dw[3] = {1, 1, 1};
    call_report r;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        claim_case(c, t, "sgd_step with momentum %g, weight decay %g, nesterov %d", bad[k].momentum,
                   bad[k].weight_decay, bad[k].nesterov);
        call_sgd_step(t, &r, w, v, dw, 3, &step, &bad[k]);
        expect_refusal(c, &r);
    }
    for (int k = 0; k < 4; k++) {
        static const char *const name[] = {"w", "velocity", "dw", "step"};
        claim_case(c, t, "sgd_step, where %s is NULL", name[k]);
        call_sgd_step(t, &r, k == 0 ? NULL : w, k == 1 ? NULL : v, k == 2 ? NULL : dw, 3,
                      k == 3 ? NULL : &step, &good);
        expect_refusal(c, &r);
    }
}

CLAIM(lab5_sgd, constant_gradients_follow_the_closed_form) {
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t), recorded = recorded_step(t);
        expect_closed_form(c, &failing, 0, 0);
        expect_closed_form(c, &failing, 0.5, 0);
        expect_closed_form(c, t, 0.9, 0);
        expect_closed_form(c, &recorded, 0.9, 0);
        expect_closed_form(c, t, 0, 0.25);
        refuse_arguments(c, t);
    }
}

/* ---- whole runs, against PyTorch ---- */

static void golden_step(const call_target *t, call_report *r, tl_real *w, tl_real *m, tl_real *v,
                        const tl_real *dw, const tl_step *step, const optim_golden *run) {
    (void)v;
    call_sgd_step(t, r, w, m, dw, GOLDEN_N, step, &run->o.sgd);
}

/* A velocity keeps the errors of 1/(1 - momentum) steps. */
CLAIM(lab5_sgd, runs_end_where_pytorch_ends) {
    FOR_TARGETS (t)
        for (size_t i = 0; i < sizeof sgd_goldens / sizeof *sgd_goldens; i++) {
            const optim_golden *run = &sgd_goldens[i];
            double memory = 1 / (1 - run->o.sgd.momentum);
            expect_golden(c, t, "sgd_step", golden_step, run, memory);
        }
}
