/* lanes16.h: sixteen numbers at a time, with the same bits on every machine that rounds as IEEE 754
 * says.
 *
 * What a result depends on is written out: which lane a number falls into (its place modulo 16; in
 * float one register of AVX-512, two of AVX2, four of SSE), the order in which lanes are joined,
 * and that a product which is added is rounded once, by fma. Whether compilers make long vectors,
 * short ones or none of these loops changes nothing then. So no `a * b + c` may stand here: where
 * -ffp-contract=off is forgotten, compilers round it once or twice. And no function of libm but
 * fma: each glibc has an exp of its own. (BITS=portable: kernels/README.md) */
#ifndef KERNELS_LANES16_H
#define KERNELS_LANES16_H

#include <stdint.h>
#include <string.h>

#include "tl/context.h"

enum { LANES = 16 };
#define LANES_INLINE static inline __attribute__((always_inline))
#define FOR_LANES(l) for (int l = 0; l < LANES; l++)

#ifdef TL_REAL_DOUBLE
typedef int64_t lane_bits;
enum { EXP_MANTISSA = 52, EXP_BIAS = 1023, EXP_TERMS = 13 };
#define lane_fma   __builtin_fma
#define EXP_ROUND  0x1.8p52              /* a number near it has no digits behind the point */
#define EXP_LN2    0x1.62e42fefap-1      /* the first 37 digits: n * EXP_LN2 is exact ... */
#define EXP_LN2_LO 0x1.cf79abc9e3b3ap-40 /* ... and the rest */
#define EXP_LEAST  (-746.0)
#define EXP_MOST   710.0
#else
typedef int32_t lane_bits;
enum { EXP_MANTISSA = 23, EXP_BIAS = 127, EXP_TERMS = 7 };
#define lane_fma   __builtin_fmaf
#define EXP_ROUND  0x1.8p23f
#define EXP_LN2    0x1.62ep-1f
#define EXP_LN2_LO 0x1.0bfbe8p-15f
#define EXP_LEAST  (-104.0f)
#define EXP_MOST   89.0f
#endif

/* 2^n for an exponent that a normal number has */
LANES_INLINE tl_real lane_power(lane_bits n) {
    lane_bits bits = (lane_bits)((n + EXP_BIAS) * ((lane_bits)1 << EXP_MANTISSA));
    tl_real power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* x[l] = exp(x[l]): x = n ln 2 + r, |r| up to ln(2) / 2, where a Taylor series of EXP_TERMS terms
 * is within a rounding; then twice half of the exponent, so that what is too small loses its digits
 * one by one. Within 2 units of the last place (tests/test_portable.py). */
LANES_INLINE void lanes_exp(tl_real x[LANES]) {
    static const double factorial[] = {
        1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800};
    tl_real r[LANES], p[LANES], of[LANES];
    lane_bits n[LANES];
    FOR_LANES(l) {
        of[l] = x[l] < EXP_LEAST ? EXP_LEAST : x[l] > EXP_MOST ? EXP_MOST : x[l];
        tl_real at = of[l] == of[l] ? of[l] : 0; /* (of a NaN the whole part is none) */
        tl_real whole = lane_fma(at, TL_R(0x1.71547652b82fep0), EXP_ROUND) - EXP_ROUND;
        n[l] = (lane_bits)whole;
        r[l] = lane_fma(-whole, EXP_LN2_LO, lane_fma(-whole, EXP_LN2, of[l]));
        p[l] = TL_R(1 / factorial[EXP_TERMS]);
    }
    for (int term = EXP_TERMS - 1; term >= 0; term--)
        FOR_LANES(l) p[l] = lane_fma(p[l], r[l], TL_R(1 / factorial[term]));
    FOR_LANES(l) {
        lane_bits half = n[l] / 2;
        x[l] = p[l] * lane_power(half) * lane_power(n[l] - half);
    }
}

/* The sum of the lanes: the upper half onto the lower, and so on. */
LANES_INLINE double lanes_join(double sum[LANES]) {
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0];
}

#endif
