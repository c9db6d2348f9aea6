/* rounded.h: for suites of products in another precision than float's (tl/precision.h).
 *
 * What is to come out follows from inputs that are rounded first, so all that is left to judge is
 * the sum: of small whole numbers exact, in any order; else within terms * 2^-23 of the sum of the
 * absolute values, which is what tensor cores may do to it. And against inputs as they were, each
 * product is off by 2u + u^2 of itself at most, and where halves end by as much as they do. */
#ifndef TESTS_ROUNDED_H
#define TESTS_ROUNDED_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograder/claim/claim.h"
#include "autograder/claim/expect.h"

/* Whether products on the target may be asked in this precision: of a rung that computes in one
 * (kernels/rungs.def), in that one alone. All others round between kernels for float. */
static inline bool rounded_asks(const call_target *t, tl_precision precision) {
    static const struct {
        const char *name;
        tl_precision precision;
    } rows[] = {
#define RUNG_CUDA(op, number, function, since, type) {#op ":" #number, TL_##type},
#define STEP_CUDA                                    RUNG_CUDA
#define STEP_90A(op, number, function, type)         {#op ":" #number, TL_##type},
#include "kernels/rungs.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].precision != TL_FP32 && strcmp(rows[i].name, t->rungs) == 0)
            return rows[i].precision == precision;
    return precision != TL_TF32X3; /* which has no other kernels */
}

/* Each target in each precision: `t` is one. */
#define FOR_ROUNDED_TARGETS(t)                                                                     \
    FOR_TARGETS (t0_)                                                                              \
        for (int p_ = TL_TF32; p_ < TL_PRECISIONS; p_++)                                           \
            if (!rounded_asks(t0_, (tl_precision)p_)) {                                            \
            } else                                                                                 \
                for (call_target where_ = *t0_, *t = rounded_in(&where_, (tl_precision)p_); t;     \
                     t = NULL)

static inline call_target *rounded_in(call_target *t, tl_precision precision) {
    t->precision = precision;
    return t;
}

/* (of TF32X3: two operands are off by 2^-22, and low low is left out, which is 2^-22 at most) */
static inline double rounded_unit(tl_precision p) {
    return p == TL_BF16 ? 0x1p-8 : p == TL_TF32X3 ? 0x1.8p-22 : 0x1p-11;
}

/* What rounding may do to however small a number: half of the smallest one. (float's range is that
 * of the others, and nothing here comes near its end) */
static inline double rounded_least(tl_precision p) { return p == TL_FP16 ? 0x1p-25 : 0; }

/* Terms of a sum of k products, and of what is there before: each product of TF32X3 is three, and
 * a fourth is left out. */
static inline size_t rounded_terms(size_t k, tl_precision p) {
    return p == TL_TF32X3 ? 4 * k + 1 : k + 1;
}

static inline double *rounded_numbers(claim *c, const double *x, size_t n, tl_precision p) {
    double *y = doubles(c, n);
    for (size_t i = 0; i < n; i++) y[i] = (double)tl_rounded((float)x[i], p);
    return y;
}

/* What a kernel would multiply that cuts bits off in the place of rounding. */
static inline double *rounded_off(claim *c, const tl_real *x, size_t n, tl_precision p) {
    double *y = doubles(c, n);
    for (size_t i = 0; i < n; i++) {
        float cut = (float)x[i];
        uint32_t bits;
        memcpy(&bits, &cut, sizeof bits);
        bits &= p == TL_BF16 ? 0xffff0000u : 0xffffe000u;
        memcpy(&cut, &bits, sizeof bits);
        y[i] = (double)cut;
    }
    return y;
}

/* What tensor cores may do to a sum of so many terms, whose absolute values add up to scale. */
static inline double *rounded_bound(claim *c, const double *scale, size_t n, size_t terms) {
    snprintf(c->bound, sizeof c->bound, "%zu terms, each 2^-23 of the sum of their sizes", terms);
    double *bound = doubles(c, n);
    for (size_t i = 0; i < n; i++) bound[i] = (double)terms * 0x1p-23 * scale[i];
    return bound;
}

/* A result in the precision: the number itself of an exact sum, which NULL says it is; else off by
 * its rounding, too. */
static inline double rounded_result(double sum, tl_precision p, double *allowed) {
    if (!tl_in_16_bits(p)) return sum;
    if (!allowed) return (double)tl_rounded((float)sum, p);
    *allowed += (fabs(sum) + *allowed) * rounded_unit(p) + rounded_least(p);
    return sum;
}

/* x with so many bits of significand. */
static inline double rounded_to_bits(double x, int bits) {
    int exponent;
    double mantissa = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(mantissa, bits)), exponent - bits);
}

#endif
