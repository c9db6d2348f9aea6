/* optim_run.h: whole runs of an optimiser, compared with PyTorch's. */
#ifndef TESTS_OPTIM_RUN_H
#define TESTS_OPTIM_RUN_H

#include "claim.h"
#include "optim_golden.h"

/* One step of the judged optimiser with the options of the run; m and v are its state. */
typedef void (*optim_step)(const call_target *t, call_report *r, tl_real *w, tl_real *m, tl_real *v,
                           const tl_real *dw, const tl_step *step, const optim_golden *run);

/* From the golden start with the golden gradients to the end, without a look in between. `op` is
 * the call's name in messages; `memory`: the errors of how many steps the state keeps. */
void expect_golden(claim *c, const call_target *t, const char *op, optim_step call,
                   const optim_golden *run, double memory);

/* Gradients that invite a special case: in turn usual, 0, a million times as large, a millionth
 * of it, and NaN, which is the formula's, too. */
tl_real *draw_any_gradients(claim *c, int n);
/* What a step makes of them; if usual ones went right and others wrong, or all from one
 * on are wrong, the failure says so. */
void expect_any_gradients(claim *c, const char *name, const tl_real *got, const double *want,
                          const double *bound, int n);

#endif
