/* tl/portable.h: functions of libm as this library makes them: of IEEE 754's additions, products,
 * quotients and fma alone, and so with the same bits on every machine.
 *
 * A libm may round as it likes, and each version of each does: a run whose weights are to be equal
 * everywhere (BITS=portable, kernels/README.md) cannot call it. Powers apart, all are within 2
 * units of the last place (tests/portable_test.c). sqrt has no place here: IEEE 754 says every bit
 * of it. */
#ifndef TL_PORTABLE_H
#define TL_PORTABLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The natural logarithm: -infinity of 0, NaN below.
 * x = 2^k m with m around 1, s = (m-1)/(m+1):  k ln 2 + 2 (s + s³/3 + … + s²¹/21), whose next term
 * is below 2^-60 of the first. (Abramowitz, Stegun 1964, 4.1.27) */
double tl_portable_log(double x);

/* cos(pi x) and sin(pi x), |x| up to 2^50, else NaN. x is a multiple of 1/2, which is exact, and a
 * rest up to 1/4, of which Taylor's series to the 18th and the 19th power is taken: the next term
 * is below 2^-60. (Abramowitz, Stegun 1964, 4.3.65 and 4.3.66) */
double tl_portable_cospi(double x);
double tl_portable_sinpi(double x);

/* x^n by squaring, within n units of the last place; 1 for n = 0. */
double tl_portable_power(double x, uint64_t n);

#ifdef __cplusplus
}
#endif
#endif
