/* numeric.c: fourth-order central differences. */
#include "numeric.h"

#include <math.h>

static double difference(double *x, double step, numeric_fn f, const void *user) {
    double x0 = *x, value[4], at[4] = {-2, -1, 1, 2};
    for (int i = 0; i < 4; i++) {
        *x = x0 + at[i] * step;
        value[i] = f(user);
    }
    *x = x0;
    return (8 * (value[2] - value[1]) - (value[3] - value[0])) / (12 * step);
}

void numeric_gradient(double *grad, double *error, double *x, size_t n, double step, double noise,
                      numeric_fn f, const void *user) {
    for (size_t i = 0; i < n; i++) {
        double fine = difference(&x[i], step, f, user);
        double wide = difference(&x[i], 2 * step, f, user);
        grad[i] = fine;
        error[i] = fabs(fine - wide) + 3 * noise / step;
    }
}
