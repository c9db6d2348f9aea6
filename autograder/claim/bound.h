/* bound.h: how far a result may be from the truth, computed from the data.
 *
 * A sum of n products in arithmetic with unit roundoff u, in any order, with or without fused
 * multiply-add, is within gamma_n * sum |a||b| of the truth, gamma_n = n u / (1 - n u) (Higham,
 * "Accuracy and Stability of Numerical Algorithms", 3.1). Three more roundings are granted: a bias,
 * adding to what was there, and storing. Beyond 256 terms gamma_n would let TF32 inputs pass, and
 * the statistical bound 6 sqrt(n) u takes over; beyond 1,024 terms that one goes blind too, so that
 * longer sums are judged in the double build alone (bound_judges).
 * The oracle rounds in double: its own share is added, so one formula serves both builds. */
#ifndef TESTS_BOUND_H
#define TESTS_BOUND_H

#include "claim.h"

/* Whether a sum of that many terms can be judged in this build. */
bool bound_judges(size_t terms);
/* Allowed error over the sum of absolute values of the terms. */
double bound_factor(size_t terms);
/* bound[i] = bound_factor(terms) * scale[i] */
double *bound_of(claim *c, const double *scale, size_t n, size_t terms);
/* What double arithmetic alone may do to a sum of that many terms. */
double bound_double(size_t terms);
/* Unit roundoff of the judged result plus that of the oracle. */
double bound_unit(void);

#endif
