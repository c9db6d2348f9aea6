/* define_optim.c: a step of the optimisers as the oracle has it (question.h), with the options and
 * the step that bench_rows.c and question.c give. */
#include <math.h>

#include "autograder/oracle/oracle.h"
#include "question.h"

/* Allowed in sums of six roundings, as the labs grant. */
static double few(void) { return 9 * question_unit(); }

void define_sgd_step(question *q) {
    size_t n = (size_t)q->number[0];
    const tl_step *step = question_input(q, "step");
    const oracle_sgd o = {step->lr, 0.9, 5e-4, 0};
    double *w = question_given(q, "w", 0, n), *v = question_given(q, "velocity", 0, n);
    const double *dw = question_given(q, "dw", 0, n);
    double *w_bound = question_doubles(q, n), *v_bound = question_doubles(q, n);
    for (size_t i = 0; i < n; i++) {
        oracle_sgd_step(&w[i], &v[i], dw[i], &o, &w_bound[i], &v_bound[i]);
        w_bound[i] *= few() * 11 / 9; /* two roundings more */
        v_bound[i] *= few();
    }
    question_expect_within(q, "velocity", 0, v, v_bound, n);
    question_expect_within(q, "w", 0, w, w_bound, n);
}

/* (autograder/lab5's bound: beta may be rounded first, and 1 - beta^t is small) */
static double bound_of_w(double w0, double m, double v, const double bound[2],
                         const oracle_adam *o) {
    double t = (double)o->t, power1 = pow(o->beta1, t), power2 = pow(o->beta2, t);
    double root = sqrt(v / (1 - power2)), denominator = root + o->eps;
    double unit = o->lr / (1 - power1) / denominator;
    double relative = question_unit() * (12 + 2 * (4 + t * power1) / (1 - power1) +
                                         2 * (4 + t * power2) / (1 - power2));
    if (v > 0) relative += bound[1] / (2 * v) * root / denominator;
    return unit * (bound[0] + fabs(m) * relative) +
           5 * question_unit() * (fabs(w0) + unit * fabs(m));
}

void define_adam_step(question *q) {
    size_t n = (size_t)q->number[0];
    const tl_step *step = question_input(q, "step");
    const oracle_adam o = {step->lr, 0.9, 0.999, 1e-8, 0, step->index + 1};
    tl_real *squares = question_input(q, "v");
    for (size_t i = 0; i < n; i++)
        if (squares[i] < 0) squares[i] = -squares[i];
    double *w = question_given(q, "w", 0, n), *m = question_given(q, "m", 0, n);
    double *v = question_given(q, "v", 0, n), *w_bound = question_doubles(q, n);
    const double *dw = question_given(q, "dw", 0, n);
    double *m_bound = question_doubles(q, n), *v_bound = question_doubles(q, n);
    for (size_t i = 0; i < n; i++) {
        double w0 = w[i],
               bound[2] = {few() * (fabs(m[i]) + fabs(dw[i])), few() * (v[i] + dw[i] * dw[i])};
        oracle_adam_step(&w[i], &m[i], &v[i], dw[i], &o);
        m_bound[i] = bound[0];
        v_bound[i] = bound[1];
        w_bound[i] = bound_of_w(w0, m[i], v[i], bound, &o);
    }
    question_expect_within(q, "m", 0, m, m_bound, n);
    question_expect_within(q, "v", 0, v, v_bound, n);
    question_expect_within(q, "w", 0, w, w_bound, n);
}
