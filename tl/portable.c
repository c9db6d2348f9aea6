/* portable.c: logarithm, cosine, sine and powers with the same bits everywhere (tl/portable.h).
 *
 * Each sum of a product is an fma that is written out, and mk/modes.mk lets compilers make no other
 * (-ffp-contract=off). */
#include "tl/portable.h"

#include <math.h>
#include <string.h>

/* c[0] + c[1] x + … + c[terms - 1] x^(terms - 1) */
static double polynomial(const double *c, int terms, double x) {
    double sum = c[terms - 1];
    for (int i = terms - 2; i >= 0; i--) sum = fma(sum, x, c[i]);
    return sum;
}

double tl_portable_log(double x) {
    static const double odd[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    static const uint64_t sqrt_half = 0x3fe6a09e667f3bcd; /* the bits of sqrt(1/2) */
    static const double ln2 = 0x1.62e42feep-1;            /* so few digits that k * ln2 is exact, */
    static const double ln2_rest = 0x1.a39ef35793c76p-33; /* and the rest */
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (x == INFINITY) return x;
    int64_t small = x < 0x1p-1022; /* too small for a full number of digits */
    uint64_t bits;
    if (small) x *= 0x1p54;
    memcpy(&bits, &x, sizeof bits);
    int64_t k = (int64_t)(bits - sqrt_half) >> 52;
    bits -= (uint64_t)k << 52;
    double m, whole = (double)(k - 54 * small);
    memcpy(&m, &bits, sizeof m);
    double s = (m - 1) / (m + 1), twice = 2 * s, square = s * s;
    double rest = fma(whole, ln2_rest, twice * square * polynomial(odd, 10, square));
    return fma(whole, ln2, twice + rest);
}

/* cos(pi x + turns pi / 2) */
static double turned(double x, unsigned turns) {
    static const double even[] = {1.0,
                                  -1.0 / 2,
                                  1.0 / 24,
                                  -1.0 / 720,
                                  1.0 / 40320,
                                  -1.0 / 3628800,
                                  1.0 / 479001600,
                                  -1.0 / 87178291200,
                                  1.0 / 20922789888000,
                                  -1.0 / 6402373705728000};
    static const double odd[] = {-1.0 / 6,
                                 1.0 / 120,
                                 -1.0 / 5040,
                                 1.0 / 362880,
                                 -1.0 / 39916800,
                                 1.0 / 6227020800,
                                 -1.0 / 1307674368000,
                                 1.0 / 355687428096000,
                                 -1.0 / 121645100408832000};
    static const double no_digits = 0x1.8p52; /* a number near it has none behind the point */
    if (!(fabs(x) <= 0x1p50)) return NAN;
    double halves = fma(2, x, no_digits) - no_digits, t = 3.14159265358979323846 * (x - halves / 2);
    double square = t * t;
    turns += (unsigned)(int64_t)halves;
    double value =
        turns & 1 ? -fma(t * square, polynomial(odd, 9, square), t) : polynomial(even, 10, square);
    return turns & 2 ? -value : value;
}

double tl_portable_cospi(double x) { return turned(x, 0); }

double tl_portable_sinpi(double x) { return turned(x, 3); }

double tl_portable_power(double x, uint64_t n) {
    double power = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) power *= x;
    return power;
}
