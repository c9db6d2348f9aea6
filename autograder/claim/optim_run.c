/* optim_run.c: see optim_run.h. */
#include "optim_run.h"

#include "bound.h"
#include "expect.h"

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
