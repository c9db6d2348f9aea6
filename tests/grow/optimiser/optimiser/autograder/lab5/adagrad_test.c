/* adagrad_test.c: Adagrad step by step. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/expect.h"

enum { N = 700, STEPS = 6 };

/* The sum starts at 1 or more, so that its root magnifies no error. */
static void expect_adagrad(claim *c, const call_target *t, const tl_adagrad_options *o) {
    tl_real *w = draw_reals(c, N), *s = draw_between(c, N, 1, 2);
    for (uint64_t i = 0; i < STEPS; i++) {
        call_report r;
        const tl_step step = {.seed = 1, .index = i, .lr = 0.1};
        tl_real *dw = draw_reals(c, N);
        double *w_d = widen(c, w, N), *s_d = widen(c, s, N), *dw_d = widen(c, dw, N);
        double *w_rough = coarsen(c, w_d, N), *s_rough = coarsen(c, s_d, N);
        double *dw_rough = coarsen(c, dw_d, N);
        double *w_scale = doubles(c, N), *s_scale = doubles(c, N);
        for (int k = 0; k < N; k++) {
            double g = fabs(dw_d[k]) + o->weight_decay * fabs(w_d[k]);
            s_scale[k] = s_d[k] + g * g;
            w_scale[k] = fabs(w_d[k]) + step.lr * g * (1 + g * g);
            oracle_adagrad_step(&w_d[k], &s_d[k], dw_d[k], step.lr, o->weight_decay, o->eps);
            oracle_adagrad_step(&w_rough[k], &s_rough[k], dw_rough[k], step.lr, o->weight_decay,
                                o->eps);
        }
        claim_case(c, t, "adagrad_step %d of [%d], weight decay %g", (int)i, N, o->weight_decay);
        call_adagrad_step(t, &r, w, s, dw, N, &step, o);
        expect_ok(c, &r);
        double *w_bound = bound_of(c, w_scale, N, 8);
        expect_close(c, "s", s, s_d, bound_of(c, s_scale, N, 6), SHAPE(N));
        expect_close(c, "w", w, w_d, w_bound, SHAPE(N));
        expect_sharp(c, w_rough, w_d, w_bound, N);
    }
}

CLAIM(lab5_adagrad, steps_follow_the_formula) {
    FOR_TARGETS (t) {
        expect_adagrad(c, t, &(tl_adagrad_options){1e-3, 0});
        expect_adagrad(c, t, &(tl_adagrad_options){1e-3, 0.1});
    }
}
