/* hostcuda/rounded.h: operations and conversions that name their rounding: _rn to the nearest, _rz
 * to zero, _ru up, _rd down. Each rounds once. */
#ifndef HOSTCUDA_ROUNDED_H
#define HOSTCUDA_ROUNDED_H

#include <fenv.h>
#include <math.h>

#include <limits>

#include "hostcuda/abi.h"

namespace hc {
/* (the processor rounds so; volatile: what is computed stands between the two calls) */
template <class To, class T, class Op>
To directed(int direction, Op operation, T a, T b = 0, T c = 0) {
    volatile T x = a, y = b, z = c;
    hc_rounding(direction);
    volatile To result = operation(x, y, z);
    hc_rounding(FE_TONEAREST);
    return result;
}

/* As on a GPU: past the range of I its end, and 0 of a NaN. */
template <class I, class T> I whole(T x) {
    constexpr I most = std::numeric_limits<I>::max(), least = std::numeric_limits<I>::min();
    if (x != x) return 0;
    return x >= (T)most ? most : x <= (T)least ? least : (I)x;
}
} // namespace hc

#define HC_DIRECTED(name, direction, To, T, parameters, arguments, expression)                     \
    static inline To name parameters {                                                             \
        return hc::directed<To, T>(                                                                \
            direction, [](T x, T y, T z) -> To { return (void)x, (void)y, (void)z, expression; },  \
            HC_ALL arguments);                                                                     \
    }
#define HC_ALL(...) __VA_ARGS__
#define HC_ARITHMETIC(end, direction)                                                              \
    HC_DIRECTED(__fadd_##end, direction, float, float, (float x, float y), (x, y), x + y)          \
    HC_DIRECTED(__fsub_##end, direction, float, float, (float x, float y), (x, y), x - y)          \
    HC_DIRECTED(__fmul_##end, direction, float, float, (float x, float y), (x, y), x *y)           \
    HC_DIRECTED(__fdiv_##end, direction, float, float, (float x, float y), (x, y), x / y)          \
    HC_DIRECTED(__frcp_##end, direction, float, float, (float x), (x), 1.0f / x)                   \
    HC_DIRECTED(__fsqrt_##end, direction, float, float, (float x), (x), sqrtf(x))                  \
    HC_DIRECTED(__fmaf_##end, direction, float, float, (float x, float y, float z), (x, y, z),     \
                fmaf(x, y, z))                                                                     \
    HC_DIRECTED(__dadd_##end, direction, double, double, (double x, double y), (x, y), x + y)      \
    HC_DIRECTED(__dsub_##end, direction, double, double, (double x, double y), (x, y), x - y)      \
    HC_DIRECTED(__dmul_##end, direction, double, double, (double x, double y), (x, y), x *y)       \
    HC_DIRECTED(__ddiv_##end, direction, double, double, (double x, double y), (x, y), x / y)      \
    HC_DIRECTED(__drcp_##end, direction, double, double, (double x), (x), 1.0 / x)                 \
    HC_DIRECTED(__dsqrt_##end, direction, double, double, (double x), (x), sqrt(x))                \
    HC_DIRECTED(__fma_##end, direction, double, double, (double x, double y, double z), (x, y, z), \
                fma(x, y, z))                                                                      \
    HC_DIRECTED(__double2float_##end, direction, float, double, (double x), (x), (float)x)         \
    HC_DIRECTED(__int2float_##end, direction, float, int, (int x), (x), (float)x)                  \
    HC_DIRECTED(__uint2float_##end, direction, float, unsigned, (unsigned x), (x), (float)x)
HC_ARITHMETIC(rz, FE_TOWARDZERO)
HC_ARITHMETIC(ru, FE_UPWARD)
HC_ARITHMETIC(rd, FE_DOWNWARD)
#undef HC_ARITHMETIC
#undef HC_ALL
#undef HC_DIRECTED

#define HC_WHOLE(from, T, to, I, f)                                                                \
    static inline I __##from##2##to##_rn(T x) { return hc::whole<I>(nearbyint##f(x)); }     \
    static inline I __##from##2##to##_rz(T x) { return hc::whole<I>(trunc##f(x)); }         \
    static inline I __##from##2##to##_ru(T x) { return hc::whole<I>(ceil##f(x)); }          \
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
