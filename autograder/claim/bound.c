/* bound.c: error bounds from the number of terms and the size of the data. */
#include "bound.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* GRANTED also keeps the reference below half the bound where there are only two or three terms. */
#define BOUND(name, value) name = value,
enum {
#include "autograder/claim/bound.def"
};
#undef BOUND

static double gamma_of(double terms, double unit) { return terms * unit / (1 - terms * unit); }

bool bound_judges(size_t terms) {
    return sizeof(tl_real) == sizeof(double) || terms <= FLOAT_TERMS;
}

double bound_double(size_t terms) { return gamma_of((double)terms + GRANTED, DBL_EPSILON / 2); }

double bound_factor(size_t terms) {
    cr_assert(bound_judges(terms), "%zu terms are too many for a float claim", terms);
    double unit = TL_REAL_ROUNDOFF, n = (double)terms;
    double own = terms <= EXACT_TERMS ? gamma_of(n + GRANTED, unit) : ROOT * sqrt(n) * unit;
    return own + bound_double(terms);
}

double *bound_of(claim *c, const double *scale, size_t n, size_t terms) {
    snprintf(c->bound, sizeof c->bound,
             "what rounding may do to a sum of up to %zu terms in " TL_REAL_NAME
             ", in any order, given the size of these terms",
             terms);
    double *bound = doubles(c, n), factor = bound_factor(terms);
    for (size_t i = 0; i < n; i++) bound[i] = factor * scale[i];
    return bound;
}

double bound_unit(void) { return TL_REAL_ROUNDOFF + DBL_EPSILON / 2; }
