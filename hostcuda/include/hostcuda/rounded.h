/* hostcuda/rounded.h: operations and conversions that name their rounding: _rn to the nearest, _rz
 * to zero, _ru up, _rd down. Each rounds once. */
#ifndef HOSTCUDA_ROUNDED_H
#define HOSTCUDA_ROUNDED_H

#include <fenv.h>
#include <math.h>
#include <string.h>

#include <type_traits>

#include "hostcuda/abi.h"

namespace hc {
/* By the processor's own mode, which takes long to change (volatile: what is computed stands
 * between the two calls). */
template <class To, class T, class Op>
__attribute__((noinline)) To by_mode(int direction, Op operation, T a, T b, T c) {
    volatile T x = a, y = b, z = c;
    hc_rounding(direction);
    volatile To result = operation(x, y, z);
    hc_rounding(FE_TONEAREST);
    return result;
}

/* Far from underflow and overflow: there an error below is exact, or has at least the right sign.
 */
inline bool is_usual(float x) { return fabsf(x) >= 0x1p-120f && fabsf(x) <= 0x1p120f; }
inline bool is_usual(double x) { return fabs(x) >= 0x1p-900 && fabs(x) <= 0x1p900; }
inline bool is_usual(int) { return true; }
inline bool is_usual(unsigned) { return true; }

/* The exact result less r, the nearest. */
template <class T> T sum_error(T x, T y, T r) {
    T part = r - x;
    return (x - (r - part)) + (y - part);
}
inline double product_error(float x, float y, float r) { return (double)x * y - r; }
inline double product_error(double x, double y, double r) { return fma(x, y, -r); }
template <class T> double quotient_error(T x, T y, T r) {
    double rest = -product_error(r, y, x);
    return y < 0 ? -rest : rest;
}

template <class T> T neighbour(T x, bool above) {
    std::conditional_t<sizeof(T) == 4, int32_t, int64_t> bits;
    memcpy(&bits, &x, sizeof x);
    bits += (x > 0) == above ? 1 : -1;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest, or its neighbour on the side of the exact result. */
template <class To, class T, class Op, class Error>
To directed(int direction, Op operation, Error error, T x, T y = 0, T z = 0) {
    To r = operation(x, y, z);
    if (!is_usual(r) || !is_usual(x)) return by_mode<To>(direction, operation, x, y, z);
    double off = error(x, y, z, r);
    bool above = off > 0, wanted = direction == FE_UPWARD     ? above
                                   : direction == FE_DOWNWARD ? !above
                                                              : above == (r < 0);
    return off != 0 && wanted ? neighbour(r, above) : r;
}

/* As on a GPU: past the range of I its end, and 0 of a NaN. */
template <class I, class T> I whole(T x) {
    constexpr I most = I(-1) < I(0) ? I((1ull << (8 * sizeof(I) - 1)) - 1) : I(-1);
    constexpr I least = I(-1) < I(0) ? I(-most - 1) : I(0);
    if (x != x) return 0;
    return x >= (T)most ? most : x <= (T)least ? least : (I)x;
}
} // namespace hc

/* Templates, so that a file which uses none of them has none. */
#define HC_ALL(...) __VA_ARGS__
#define HC_DIRECTED(name, direction, To, T, parameters, arguments, expression, error)              \
    template <class = void> static inline To name parameters {                                     \
        return hc::directed<To, T>(                                                                \
            direction, [](T x, T y, T z) -> To { return (void)x, (void)y, (void)z, expression; },  \
            [](T x, T y, T z, To r) -> double {                                                    \
                return (void)x, (void)y, (void)z, (void)r, error;                                  \
            },                                                                                     \
            HC_ALL arguments);                                                                     \
    }
#define HC_ARITHMETIC(end, direction)                                                              \
    HC_DIRECTED(__fadd_##end, direction, float, float, (float x, float y), (x, y), x + y,          \
                hc::sum_error(x, y, r))                                                            \
    HC_DIRECTED(__fsub_##end, direction, float, float, (float x, float y), (x, y), x - y,          \
                hc::sum_error(x, -y, r))                                                           \
    HC_DIRECTED(__fmul_##end, direction, float, float, (float x, float y), (x, y), x *y,           \
                hc::product_error(x, y, r))                                                        \
    HC_DIRECTED(__fdiv_##end, direction, float, float, (float x, float y), (x, y), x / y,          \
                hc::quotient_error(x, y, r))                                                       \
    HC_DIRECTED(__frcp_##end, direction, float, float, (float x), (x), 1.0f / x,                   \
                hc::quotient_error<float>(1, x, r))                                                \
    HC_DIRECTED(__fsqrt_##end, direction, float, float, (float x), (x), sqrtf(x),                  \
                -hc::product_error(r, r, x))                                                       \
    HC_DIRECTED(__dadd_##end, direction, double, double, (double x, double y), (x, y), x + y,      \
                hc::sum_error(x, y, r))                                                            \
    HC_DIRECTED(__dsub_##end, direction, double, double, (double x, double y), (x, y), x - y,      \
                hc::sum_error(x, -y, r))                                                           \
    HC_DIRECTED(__dmul_##end, direction, double, double, (double x, double y), (x, y), x *y,       \
                hc::product_error(x, y, r))                                                        \
    HC_DIRECTED(__ddiv_##end, direction, double, double, (double x, double y), (x, y), x / y,      \
                hc::quotient_error(x, y, r))                                                       \
    HC_DIRECTED(__drcp_##end, direction, double, double, (double x), (x), 1.0 / x,                 \
                hc::quotient_error<double>(1, x, r))                                               \
    HC_DIRECTED(__dsqrt_##end, direction, double, double, (double x), (x), sqrt(x),                \
                -hc::product_error(r, r, x))                                                       \
    HC_DIRECTED(__double2float_##end, direction, float, double, (double x), (x), (float)x, x - r)  \
    HC_DIRECTED(__int2float_##end, direction, float, int, (int x), (x), (float)x, (double)x - r)   \
    HC_DIRECTED(__uint2float_##end, direction, float, unsigned, (unsigned x), (x), (float)x,       \
                (double)x - r)                                                                     \
    template <class = void> static inline float __fmaf_##end(float x, float y, float z) {          \
        return hc::by_mode<float>(                                                                 \
            direction, [](float a, float b, float c) { return fmaf(a, b, c); }, x, y, z);          \
    }                                                                                              \
    template <class = void> static inline double __fma_##end(double x, double y, double z) {       \
        return hc::by_mode<double>(                                                                \
            direction, [](double a, double b, double c) { return fma(a, b, c); }, x, y, z);        \
    }
HC_ARITHMETIC(rz, FE_TOWARDZERO)
HC_ARITHMETIC(ru, FE_UPWARD)
HC_ARITHMETIC(rd, FE_DOWNWARD)
#undef HC_ARITHMETIC
#undef HC_ALL
#undef HC_DIRECTED

#define HC_WHOLE(from, T, to, I, f)                                                                \
    static inline I __##from##2##to##_rn(T x) { return hc::whole<I>(nearbyint##f(x)); }            \
    static inline I __##from##2##to##_rz(T x) { return hc::whole<I>(trunc##f(x)); }                \
    static inline I __##from##2##to##_ru(T x) { return hc::whole<I>(ceil##f(x)); }                 \
    static inline I __##from##2##to##_rd(T x) { return hc::whole<I>(floor##f(x)); }
HC_WHOLE(float, float, int, int, f)
HC_WHOLE(float, float, uint, unsigned, f)
HC_WHOLE(float, float, ll, long long, f)
HC_WHOLE(float, float, ull, unsigned long long, f)
HC_WHOLE(double, double, int, int, )
HC_WHOLE(double, double, uint, unsigned, )
HC_WHOLE(double, double, ll, long long, )
HC_WHOLE(double, double, ull, unsigned long long, )
#undef HC_WHOLE

#endif
