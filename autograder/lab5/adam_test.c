/* adam_test.c: Adam step by step, by a closed form, and against PyTorch.
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

#include <string.h>

enum { N = 700, STEPS = 12 }; /* more than a block or two have threads */

static const adam_run adam_runs[] = {
    {1e-3, 0, {0.9, 0.999, 1e-8, 0}}, {0.01, 0, {0.9, 0.999, 1e-8, 0.01}},
    {0.01, 0, {0.5, 0.9, 1e-3, 0}},   {1e-3, 999, {0.9, 0.999, 1e-8, 0}},
    {0.1, 3, {0, 0.99, 1e-4, 0.1}},   {0.01, 0, {0.9, 0, 1e-8, 0}}};
enum { ADAM_RUNS = sizeof adam_runs / sizeof *adam_runs };

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

/* A first step that moved no weight from 0: does the next one, of no gradient, move them by the m
 * that this one has left, and not by its own? */
static void tell_old_m(claim *c, const call_target *t, const tl_real *w, const tl_real *m,
                       const tl_real *v, int n, double lr, const tl_adam_options *o) {
    call_report r;
    const tl_step next = {.index = 1, .lr = lr};
    tl_real *w2 = copy_reals(c, w, n), *m2 = copy_reals(c, m, n), *v2 = copy_reals(c, v, n);
    bool old = true;
    call_adam_step(t, &r, w2, m2, v2, reals(c, n), n, &next, o);
    expect_ok(c, &r);
    for (int k = 0; k < n; k++) {
        double root = sqrt((double)v2[k] / (1 - pow(o->beta2, 2)));
        double step = lr / (1 - pow(o->beta1, 2)) * (double)m[k] / (root + o->eps);
        old = old && w[k] == 0 && fabs((double)w2[k] + step) <= 1e-3 * fabs(step);
    }
    if (old) finding_pattern_of_case(c, "moves_by_old_m");
}

void expect_adam(claim *c, const call_target *t, const adam_run *run, int n, int steps) {
    const tl_adam_options *o = &run->o;
    const bool from_zero = run == &adam_runs[0];
    tl_real *w = draw_between(c, n, -0.05, 0.05), *m = reals(c, n), *v = reals(c, n);
    if (from_zero)
        memset(w, 0, (size_t)n * sizeof *w); /* so w becomes the step: its factor tells */
    for (uint64_t i = 0; i < (uint64_t)steps; i++) {
        call_report r;
        const tl_step step = {.index = run->first + i, .lr = run->lr};
        const oracle_adam definition = {step.lr, o->beta1,        o->beta2,
                                        o->eps,  o->weight_decay, step.index + 1};
        tl_real *dw = draw_reals(c, n);
        double *w_d = widen(c, w, n), *m_d = widen(c, m, n), *v_d = widen(c, v, n);
        double *dw_d = widen(c, dw, n), *w_bound = doubles(c, n), *m_bound = doubles(c, n);
        double *v_bound = doubles(c, n), *w_rough = coarsen(c, w_d, n);
        double *m_rough = coarsen(c, m_d, n), *v_rough = coarsen(c, v_d, n);
        double *dw_rough = coarsen(c, dw_d, n);
        for (int k = 0; k < n; k++) {
            double w0 = w_d[k], m0 = m_d[k], v0 = v_d[k];
            oracle_adam_step(&w_d[k], &m_d[k], &v_d[k], dw_d[k], &definition);
            oracle_adam_step(&w_rough[k], &m_rough[k], &v_rough[k], dw_rough[k], &definition);
            adam_bound b = bound_adam(w0, m0, v0, dw_d[k], m_d[k], v_d[k], &definition);
            w_bound[k] = b.w;
            m_bound[k] = b.m;
            v_bound[k] = b.v;
        }
        claim_case(c, t, "adam_step %llu of [%d], lr %g betas %g, %g eps %g weight decay %g",
                   (unsigned long long)step.index, n, step.lr, o->beta1, o->beta2, o->eps,
                   o->weight_decay);
        call_adam_step(t, &r, w, m, v, dw, n, &step, o);
        expect_ok(c, &r);
        expect_close(c, "m", m, m_d, m_bound, SHAPE(n));
        expect_close(c, "v", v, v_d, v_bound, SHAPE(n));
        expect_close(c, "w", w, w_d, w_bound, SHAPE(n));
        if (c->case_failed && from_zero && i == 0) tell_old_m(c, t, w, m, v, n, step.lr, o);
        expect_sharp(c, w_rough, w_d, w_bound, n);
    }
}

/* Betas so near to 1 that 1 - beta^t has no digits of a rounded beta left; only one of them in
 * each step, so that two errors cannot cancel: a beta of 0 has a correction of 1. The weights
 * start at 0, so w is the step, and the step is that of the m and v that the judged code left:
 * whatever way it went to them, there remain a dozen roundings, of which LIMIT is the double.
 * A beta that was rounded to float makes the error of 1 - beta 1e-5 and more. */
static void expect_corrections(claim *c, const call_target *t) {
    static const double beta[][2] = {{0.999, 0}, {0, 0.9999}};
    enum { COUNT = 50, LIMIT = 24 };
    for (int k = 0; k < 2; k++)
        for (uint64_t index = 0; index < 3; index++) {
            call_report r;
            const tl_step step = {.index = index, .lr = 0.01};
            const tl_adam_options o = {.beta1 = beta[k][0], .beta2 = beta[k][1], .eps = 1e-8};
            const double time = (double)index + 1;
            const double correct1 = 1 - pow(o.beta1, time), correct2 = 1 - pow(o.beta2, time);
            tl_real *w = reals(c, COUNT), *m = draw_between(c, COUNT, 0.5, 1);
            tl_real *v = draw_between(c, COUNT, 0.5, 1), *dw = draw_between(c, COUNT, 0.5, 1);
            double *want = doubles(c, COUNT), *bound = doubles(c, COUNT);
            claim_case(c, t, "adam_step %llu of [%d] from weights of 0, betas %g, %g",
                       (unsigned long long)index, (int)COUNT, o.beta1, o.beta2);
            call_adam_step(t, &r, w, m, v, dw, COUNT, &step, &o);
            expect_ok(c, &r);
            for (int i = 0; i < COUNT; i++) {
                want[i] = -step.lr / correct1 * (double)m[i];
                want[i] /= sqrt((double)v[i] / correct2) + o.eps;
                bound[i] = LIMIT * bound_unit() * fabs(want[i]);
            }
            expect_close(c, "w", w, want, bound, SHAPE(COUNT));
            double off = 0; /* what a rounded beta can do */
            for (int i = 0; i < COUNT; i++)
                off = fmax(off, fabs((double)w[i] - want[i]) / fabs(want[i]));
            if (off < 1e-3) finding_pattern_of_case(c, "nearly_corrected");
        }
}

/* One step of any gradients, of more of them than a grid of three blocks has threads. */
static void expect_special(claim *c, const call_target *t, const adam_run *run) {
    enum { COUNT = 3500 };
    const tl_adam_options *o = &run->o;
    call_report r;
    const tl_step step = {.index = 2, .lr = run->lr};
    const oracle_adam definition = {step.lr, o->beta1, o->beta2, o->eps, o->weight_decay, 3};
    tl_real *w = draw_reals(c, COUNT), *m = draw_reals(c, COUNT);
    tl_real *v = draw_between(c, COUNT, 0.5, 1), *dw = draw_any_gradients(c, COUNT);
    double *w_d = widen(c, w, COUNT), *m_d = widen(c, m, COUNT), *v_d = widen(c, v, COUNT);
    double *w_bound = doubles(c, COUNT), *m_bound = doubles(c, COUNT), *v_bound = doubles(c, COUNT);
    for (int k = 0; k < COUNT; k++) {
        double w0 = w_d[k], m0 = m_d[k], v0 = v_d[k];
        oracle_adam_step(&w_d[k], &m_d[k], &v_d[k], dw[k], &definition);
        adam_bound b = bound_adam(w0, m0, v0, dw[k], m_d[k], v_d[k], &definition);
        w_bound[k] = b.w;
        m_bound[k] = b.m;
        v_bound[k] = b.v;
    }
    claim_case(c, t, "adam_step of [%d], gradients usual, 0, huge, tiny, NaN in turn", (int)COUNT);
    call_adam_step(t, &r, w, m, v, dw, COUNT, &step, o);
    expect_ok(c, &r);
    expect_any_gradients(c, "m", m, m_d, m_bound, COUNT);
    expect_any_gradients(c, "v", v, v_d, v_bound, COUNT);
    expect_any_gradients(c, "w", w, w_d, w_bound, COUNT);
}

CLAIM(lab5_adam, steps_follow_the_formula) {
    FOR_TARGETS (t) {
        for (int i = 0; i < ADAM_RUNS; i++) expect_adam(c, t, &adam_runs[i], N, STEPS);
        expect_special(c, t, &adam_runs[1]);
        expect_corrections(c, t);
    }
}

/* Options out of their range, and pointers that must be there. */
static void refuse_arguments(claim *c, const call_target *t) {
    static const tl_adam_options bad[] = {
        {1, 0.999, 1e-8, 0},  {0.9, NAN, 1e-8, 0},      {0.9, 0.999, 0, 0},     {0.9, 0.999, -1, 0},
        {0.9, 0.999, NAN, 0}, {0.9, 0.999, 1e-8, -0.1}, {0.9, 0.999, 1e-8, NAN}};
    const tl_step step = {.lr = 0.1};
    tl_real w[3] = {1, 1, 1}, m[3] = {0}, v[3] = {0}, dw[3] = {1, 1, 1};
    call_report r;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        claim_case(c, t, "adam_step with betas %g, %g, eps %g, weight decay %g", bad[k].beta1,
                   bad[k].beta2, bad[k].eps, bad[k].weight_decay);
        call_adam_step(t, &r, w, m, v, dw, 3, &step, &bad[k]);
        expect_refusal(c, &r);
    }
    for (int k = 0; k < 5; k++) {
        static const char *const name[] = {"w", "m", "v", "dw", "step"};
        claim_case(c, t, "adam_step, where %s is NULL", name[k]);
        call_adam_step(t, &r, k == 0 ? NULL : w, k == 1 ? NULL : m, k == 2 ? NULL : v,
                       k == 3 ? NULL : dw, 3, k == 4 ? NULL : &step, &adam_runs[0].o);
        expect_refusal(c, &r);
    }
}

/* eps keeps 0/0 away: a parameter that never gets a gradient stays where it is. */
CLAIM(lab5_adam, no_gradient_means_no_step) {
    FOR_TARGETS (t) {
        call_report r;
        const tl_step step = {.index = 0, .lr = 0.1};
        tl_real *w = draw_reals(c, N), *before = copy_reals(c, w, N);
        tl_real *m = reals(c, N), *v = reals(c, N), *dw = reals(c, N);
        claim_case(c, t, "adam_step of zero gradients");
        call_adam_step(t, &r, w, m, v, dw, N, &step, &adam_runs[0].o);
        expect_ok(c, &r);
        expect_same_bits(c, "w", w, before, SHAPE(N));
        refuse_arguments(c, t);
    }
}

/* Long enough for several threads. */
static threads_result step_once(claim *c, const call_target *t, int which) {
    enum { LONG = 70001 };
    call_report r;
    const tl_step step = {.index = 4, .lr = 0.01};
    tl_real *w = draw_reals(c, LONG), *dw = draw_reals(c, LONG);
    tl_real *m = copy_reals(c, w, LONG), *v = reals(c, LONG);
    (void)which;
    claim_case(c, t, "adam_step of [%d]", (int)LONG);
    call_adam_step(t, &r, w, m, v, dw, LONG, &step, &adam_runs[1].o);
    expect_ok(c, &r);
    return (threads_result){"w", w, SHAPE(LONG)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab5_adam, step_once, 1)

/* With a constant gradient both corrected averages are the gradient and its square from the first
 * step on: every step is lr * g / (|g| + eps), whatever the betas are. */
CLAIM(lab5_adam, a_constant_gradient_gives_equal_steps) {
    FOR_TARGETS (t)
        for (int k = 0; k < 4; k++) {
            static const double beta[4][2] = {{0.9, 0.999}, {0.5, 0.9}, {0, 0.99}, {0.99, 0.9}};
            const double lr = 0.125, g = k % 2 ? -0.5 : 0.25, eps = 1e-3;
            const tl_adam_options o = {.beta1 = beta[k][0], .beta2 = beta[k][1], .eps = eps};
            tl_real w = 1, m = 0, v = 0, dw = (tl_real)g;
            for (int i = 1; i <= 20; i++) {
                call_report r;
                const tl_step step = {.index = (uint64_t)i - 1, .lr = lr};
                double one = lr * g / (fabs(g) + eps), want = 1 - i * one;
                claim_case(c, t, "adam_step %d of a constant gradient %g, betas %g, %g", i, g,
                           beta[k][0], beta[k][1]);
                call_adam_step(t, &r, &w, &m, &v, &dw, 1, &step, &o);
                expect_ok(c, &r);
                /* 1 - beta^t loses the digits that beta and t are short of: 4 t/(1 - beta) */
                double lost = 8 + 4 / (1 - beta[k][0]) + 4 / (1 - beta[k][1]);
                expect_number(c, "w", w, want, 4 * lost * i * bound_unit() * (1 + fabs(one)));
            }
        }
}

/* ---- whole runs, against PyTorch ---- */

static void golden_step(const call_target *t, call_report *r, tl_real *w, tl_real *m, tl_real *v,
                        const tl_real *dw, const tl_step *step, const optim_golden *run) {
    call_adam_step(t, r, w, m, v, dw, GOLDEN_N, step, &run->o.adam);
}

/* A velocity keeps the errors of 1/(1 - momentum) steps. */
CLAIM(lab5_adam, runs_end_where_pytorch_ends) {
    FOR_TARGETS (t)
        for (size_t i = 0; i < sizeof adam_goldens / sizeof *adam_goldens; i++) {
            const optim_golden *run = &adam_goldens[i];
            double memory = 1 / (1 - run->o.adam.beta1) + 1 / (1 - run->o.adam.beta2);
            expect_golden(c, t, "adam_step", golden_step, run, memory);
        }
}

static void step_small(claim *c, const call_target *t, int which) {
    call_target failing = launches_failing(t), recorded = recorded_step(t);
    (void)which;
    expect_adam(c, &failing, &adam_runs[1], N, STEPS);
    expect_adam(c, &recorded, &adam_runs[1], N, STEPS);
}

CLAIM_NO_TWO_THREADS_MEET(lab5_adam, step_small, 1)
