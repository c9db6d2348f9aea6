/* numeric.h: gradients by central differences, in double, with an account of their own error. */
#ifndef TESTS_NUMERIC_H
#define TESTS_NUMERIC_H

#include <stddef.h>

/* A scalar function of what `user` holds; reads the array that numeric_gradient varies. */
typedef double (*numeric_fn)(const void *user);

/* grad[i] = df/dx[i] for all n elements of x, which is varied in place and restored, by the
 * fourth-order difference (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. error[i] bounds what that
 * costs: the same with 2h differs by 15 times the truncation error of h, and `noise`, the rounding
 * error of one value of f, counts 1.5 noise/h here and half of that there. A function linear in
 * each x[i] has no truncation error: take a large step. */
void numeric_gradient(double *grad, double *error, double *x, size_t n, double step, double noise,
                      numeric_fn f, const void *user);

#endif
