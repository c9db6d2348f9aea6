/* pattern.h: what the wrong elements of an array have in common. */
#ifndef TESTS_PATTERN_H
#define TESTS_PATTERN_H

#include "verdict.h"

/* An array beside what it should be. bound NULL: equal numbers are wanted. before: its content when
 * the call started, or NULL. */
typedef struct comparison {
    expect_shape shape;
    size_t n;
    const double *got, *want, *bound, *before;
} comparison;

/* How bad one element is: 0 right, up to 1 allowed, above 1 (NaN made infinite) wrong. */
double comparison_badness(const comparison *x, size_t i);

/* Is it wrong? */
static inline bool pattern_wrong(const comparison *x, size_t i) {
    return !(comparison_badness(x, i) <= 1);
}

/* Names where the wrong elements lie. */
void pattern_places(finding *f, const comparison *x);
/* Names every pattern that all wrong elements share, draws the plane of the worst one, and keeps
 * the numbers around that. */
void pattern_find(finding *f, const comparison *x);
/* Names traits that all failed cases have and passed ones lack (claim_trait), unless chance says as
 * much. */
void pattern_over_cases(finding *f, const claim *c);

#endif
