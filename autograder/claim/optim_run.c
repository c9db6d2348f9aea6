/* optim_run.c: see optim_run.h. */
#include "optim_run.h"

#include "bound.h"
#include "expect.h"
#include "verdict.h"

/* What a run may drift: a few roundings a step, each of the size of what has been moved so far. */
void expect_golden(claim *c, const call_target *t, const char *op, optim_step call,
                   const optim_golden *run, double memory) {
    tl_real *w = reals(c, GOLDEN_N), *m = reals(c, GOLDEN_N), *v = reals(c, GOLDEN_N), dw[GOLDEN_N];
    double *want = widen(c, w, GOLDEN_N), *bound = doubles(c, GOLDEN_N), moved[GOLDEN_N];
    for (int k = 0; k < GOLDEN_N; k++) {
        w[k] = (tl_real)golden_start[k];
        want[k] = run->w[k];
        moved[k] = fabs(golden_start[k]);
    }
    for (int i = 0; i < GOLDEN_STEPS; i++) {
        call_report r;
        const tl_step step = {.index = (uint64_t)i, .lr = run->lr};
        for (int k = 0; k < GOLDEN_N; k++) dw[k] = (tl_real)golden_gradient[i][k];
        claim_case(c, t, "%s %d of the run %s", op, i, run->name);
        tl_real before[GOLDEN_N];
        for (int k = 0; k < GOLDEN_N; k++) before[k] = w[k];
        call(t, &r, w, m, v, dw, &step, run);
        expect_ok(c, &r);
        for (int k = 0; k < GOLDEN_N; k++) moved[k] += fabs((double)w[k] - (double)before[k]);
    }
    for (int k = 0; k < GOLDEN_N; k++)
        bound[k] = 8 * GOLDEN_STEPS * memory * bound_unit() * moved[k];
    expect_close(c, "w", w, want, bound, SHAPE(GOLDEN_N));
}

enum { GRADIENTS = 5 }; /* the last is NaN */

tl_real *draw_any_gradients(claim *c, int n) {
    static const tl_real factor[GRADIENTS] = {1, 0, TL_R(1e6), TL_R(1e-6), NAN};
    tl_real *dw = draw_reals(c, (size_t)n);
    for (int k = 0; k < n; k++) dw[k] *= factor[k % GRADIENTS];
    return dw;
}

/* A bound has no NaN: so these are looked at apart. Elements that a grid is too small for are those
 * from one on. */
void expect_any_gradients(claim *c, const char *name, const tl_real *got, const double *want,
                          const double *bound, int n) {
    if (c->case_failed) return;
    tl_real *numbers = copy_reals(c, got, (size_t)n);
    double *known = doubles(c, (size_t)n);
    int number = -1;
    int right = 0, changes = 0; /* of usual ones: how many, and how often a wrong one comes next */
    bool before = true;
    for (int k = 0; k < n; k++) {
        known[k] = isnan(want[k]) ? 0 : want[k];
        if (isnan(want[k]) && !isnan(got[k])) number = k;
        if (isnan(want[k])) numbers[k] = 0;
        if (k % GRADIENTS) continue;
        const bool now = fabs((double)got[k] - want[k]) <= bound[k];
        right += now;
        changes += now != before;
        before = now;
    }
    expect_close(c, name, numbers, known, bound, SHAPE(n));
    expect_true(c, number < 0, "%s(%d) is %g, and NaN by the formula, as its gradient is", name,
                number, number < 0 ? 0 : (double)got[number]);
    if (!c->case_failed) return;
    if (changes == 0 && right > 0) finding_pattern_of_case(c, "some_gradients");
    if (changes == 1 && right > 0) finding_pattern_of_case(c, "right_up_to_one");
}
