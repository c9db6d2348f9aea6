/* hostcuda/narrow.h: floating-point numbers of 16 bits: __half (5 bits of exponent) and
 * __nv_bfloat16 (8). Each operation rounds its exact result once, to nearest even, as a GPU's does;
 * the functions of hexp's kind round what the host's float function says.
 *
 * Operators and intrinsics are friends: a compiler finds them by their arguments, and converts the
 * other argument. What takes a reference is inlined: messages name the line that uses it. */
#ifndef HOSTCUDA_NARROW_H
#define HOSTCUDA_NARROW_H

#include "hostcuda/math.h"
#include "hostcuda/types.h"

namespace hc {

typedef enum rounding { NEAREST, TO_ZERO, DOWN, UP } rounding;

/* To E bits of exponent and 15 - E of fraction. */
template <int E> unsigned short pack(double x, rounding how = NEAREST) {
    constexpr int M = 15 - E, bias = (1 << (E - 1)) - 1, lowest = 1 - bias;
    constexpr unsigned infinite = ((1u << E) - 1) << M;
    uint64_t bits = hc_bits<uint64_t>(x), whole = bits & 0xfffffffffffff;
    unsigned sign = (unsigned)(bits >> 63);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (x != x) return 0x7fff;
    if (exponent == 1024) return (unsigned short)(sign << 15 | infinite);
    whole |= exponent > -1023 ? (uint64_t)1 << 52 : 0;
    int shift = 52 - M + (exponent < lowest ? lowest - exponent : 0);
    if (shift > 54) shift = 54;
    uint64_t rest = whole & (((uint64_t)1 << shift) - 1), tie = (uint64_t)1 << (shift - 1);
    unsigned kept = (unsigned)(whole >> shift);
    bool away = how == UP ? !sign : how == DOWN ? sign : false;
    if (how == NEAREST)
        kept += rest > tie || (rest == tie && (kept & 1));
    else
        kept += away && rest;
    uint64_t value =
        exponent < lowest ? kept : ((uint64_t)(exponent + bias) << M) + kept - (1u << M);
    if (value >= infinite) value = how == NEAREST || away ? infinite : infinite - 1;
    return (unsigned short)(sign << 15 | value);
}

template <int E> float unpack(unsigned short bits) {
    if (E == 8) return hc_bits<float>((unsigned)bits << 16);
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023, sign = (bits & 0x8000u) << 16;
    if (exponent == 0) return hc_bits<float>(sign | hc_bits<unsigned>((float)fraction * 0x1p-24f));
    return hc_bits<float>(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13);
}

/* a * b + c of narrow numbers, rounded so that to round it again gives what rounding once would:
 * where bits are lost the last one is odd. */
inline double fused(double a, double b, double c) {
    double product = a * b, sum = product + c, part = sum - product;
    double lost = (product - (sum - part)) + (c - part);
    uint64_t bits = hc_bits<uint64_t>(sum);
    if (lost == 0 || lost != lost || (bits & 1)) return sum;
    return hc_bits<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/* The number's bits alone, which a union may hold. */
template <int E> struct narrow_raw { unsigned short x; };

template <int E> struct narrow {
    unsigned short __x;
    narrow() = default;
    narrow(narrow_raw<E> raw) : __x(raw.x) {}
    narrow(float v) : __x(pack<E>(v)) {}
    narrow(double v) : __x(pack<E>(v)) {}
    narrow(short v) : __x(pack<E>(v)) {}
    narrow(unsigned short v) : __x(pack<E>(v)) {}
    narrow(int v) : __x(pack<E>(v)) {}
    narrow(unsigned v) : __x(pack<E>(v)) {}
    narrow(long v) : __x(pack<E>((double)v)) {}
    narrow(unsigned long v) : __x(pack<E>((double)v)) {}
    narrow(long long v) : __x(pack<E>((double)v)) {}
    narrow(unsigned long long v) : __x(pack<E>((double)v)) {}
    __forceinline__ operator float() const { return unpack<E>(__x); }
    operator narrow_raw<E>() const { return {__x}; }
    static narrow of_bits(unsigned short bits) { return narrow(narrow_raw<E>{bits}); }
    float f() const { return unpack<E>(__x); }

    friend narrow __hadd(narrow a, narrow b) { return narrow(a.f() + b.f()); }
    friend narrow __hsub(narrow a, narrow b) { return narrow(a.f() - b.f()); }
    friend narrow __hmul(narrow a, narrow b) { return narrow(a.f() * b.f()); }
    friend narrow __hdiv(narrow a, narrow b) { return narrow(a.f() / b.f()); }
    friend narrow __hfma(narrow a, narrow b, narrow c) {
        return narrow(fused(a.f(), b.f(), c.f()));
    }
    friend narrow __hadd_rn(narrow a, narrow b) { return __hadd(a, b); }
    friend narrow __hsub_rn(narrow a, narrow b) { return __hsub(a, b); }
    friend narrow __hmul_rn(narrow a, narrow b) { return __hmul(a, b); }
    friend narrow saturated(narrow a) { return a.f() > 0 ? a.f() < 1 ? a : narrow(1) : narrow(0); }
    friend narrow __hadd_sat(narrow a, narrow b) { return saturated(__hadd(a, b)); }
    friend narrow __hsub_sat(narrow a, narrow b) { return saturated(__hsub(a, b)); }
    friend narrow __hmul_sat(narrow a, narrow b) { return saturated(__hmul(a, b)); }
    friend narrow __hfma_sat(narrow a, narrow b, narrow c) { return saturated(__hfma(a, b, c)); }
    friend narrow __hfma_relu(narrow a, narrow b, narrow c) {
        narrow r = __hfma(a, b, c);
        return r.f() < 0 ? narrow(0) : r;
    }
    friend narrow __hneg(narrow a) { return of_bits(a.__x ^ 0x8000); }
    friend narrow __habs(narrow a) { return of_bits(a.__x & 0x7fff); }
    friend narrow operator+(narrow a, narrow b) { return __hadd(a, b); }
    friend narrow operator-(narrow a, narrow b) { return __hsub(a, b); }
    friend narrow operator*(narrow a, narrow b) { return __hmul(a, b); }
    friend narrow operator/(narrow a, narrow b) { return __hdiv(a, b); }
    friend narrow operator-(narrow a) { return __hneg(a); }
    friend narrow operator+(narrow a) { return a; }
    __forceinline__ narrow &operator+=(narrow b) { return *this = *this + b; }
    __forceinline__ narrow &operator-=(narrow b) { return *this = *this - b; }
    __forceinline__ narrow &operator*=(narrow b) { return *this = *this * b; }
    __forceinline__ narrow &operator/=(narrow b) { return *this = *this / b; }
    __forceinline__ narrow &operator++() { return *this = *this + narrow(1); }
    __forceinline__ narrow &operator--() { return *this = *this - narrow(1); }
    __forceinline__ narrow operator++(int) {
        narrow old = *this;
        *this = old + narrow(1);
        return old;
    }
    __forceinline__ narrow operator--(int) {
        narrow old = *this;
        *this = old - narrow(1);
        return old;
    }

/* __hltu and its kin are true where there is no order. */
#define HC_COMPARE(name, op)                                                                       \
    friend bool operator op(narrow a, narrow b) { return a.f() op b.f(); }                         \
    friend bool __h##name(narrow a, narrow b) { return a.f() op b.f(); }                           \
    friend bool __h##name##u(narrow a, narrow b) {                                                 \
        return a.f() op b.f() || __hisnan(a) || __hisnan(b);                                       \
    }
    friend bool __hisnan(narrow a) { return a.f() != a.f(); }
    friend int __hisinf(narrow a) { return isinf(a.f()) ? a.f() > 0 ? 1 : -1 : 0; }
    HC_COMPARE(eq, ==)
    HC_COMPARE(lt, <)
    HC_COMPARE(le, <=)
    HC_COMPARE(gt, >)
    HC_COMPARE(ge, >=)
#undef HC_COMPARE
    friend bool operator!=(narrow a, narrow b) { return a.f() != b.f(); }
    friend bool __hneu(narrow a, narrow b) { return a.f() != b.f(); }
    friend bool __hne(narrow a, narrow b) { return a.f() < b.f() || a.f() > b.f(); }

    /* A NaN loses against a number, but in the _nan forms; +0 is more than -0. */
    friend bool is_more(narrow a, narrow b) {
        return a.f() > b.f() || (a.f() == b.f() && a.__x < b.__x);
    }
    friend narrow __hmax_nan(narrow a, narrow b) {
        if (__hisnan(a) || __hisnan(b)) return of_bits(0x7fff);
        return is_more(a, b) ? a : b;
    }
    friend narrow __hmin_nan(narrow a, narrow b) {
        if (__hisnan(a) || __hisnan(b)) return of_bits(0x7fff);
        return is_more(a, b) ? b : a;
    }
    friend narrow __hmax(narrow a, narrow b) {
        return __hisnan(a) ? b : __hisnan(b) ? a : __hmax_nan(a, b);
    }
    friend narrow __hmin(narrow a, narrow b) {
        return __hisnan(a) ? b : __hisnan(b) ? a : __hmin_nan(a, b);
    }

#define HC_FUNCTIONS(X)                                                                            \
    X(sqrt, sqrtf(x))                                                                              \
    X(rsqrt, 1.0f / sqrtf(x))                                                                      \
    X(rcp, 1.0f / x) X(exp, expf(x)) X(exp2, exp2f(x)) X(exp10, powf(10.0f, x)) X(log, logf(x))    \
        X(log2, log2f(x)) X(log10, log10f(x)) X(sin, sinf(x)) X(cos, cosf(x)) X(floor, floorf(x))  \
            X(ceil, ceilf(x)) X(trunc, truncf(x)) X(rint, nearbyintf(x)) X(tanh, tanhf(x))
#define HC_FUNCTION(name, value)                                                                   \
    friend narrow h##name(narrow a) {                                                              \
        float x = a.f();                                                                           \
        return narrow(value);                                                                      \
    }
    HC_FUNCTIONS(HC_FUNCTION)
#undef HC_FUNCTION
};

/* Two of them in one word; operations element by element. */
template <int E> struct __attribute__((aligned(4))) narrow2 {
    typedef narrow<E> T;
    T x, y;
    narrow2() = default;
    narrow2(T a, T b) : x(a), y(b) {}

#define HC_OF_TWO(name, of_one)                                                                    \
    friend narrow2 name(narrow2 a, narrow2 b) { return {of_one(a.x, b.x), of_one(a.y, b.y)}; }
    HC_OF_TWO(__hadd2, __hadd)
    HC_OF_TWO(__hsub2, __hsub)
    HC_OF_TWO(__hmul2, __hmul)
    HC_OF_TWO(__h2div, __hdiv)
    HC_OF_TWO(__hadd2_rn, __hadd)
    HC_OF_TWO(__hsub2_rn, __hsub)
    HC_OF_TWO(__hmul2_rn, __hmul)
    HC_OF_TWO(__hadd2_sat, __hadd_sat)
    HC_OF_TWO(__hsub2_sat, __hsub_sat)
    HC_OF_TWO(__hmul2_sat, __hmul_sat)
    HC_OF_TWO(__hmax2, __hmax)
    HC_OF_TWO(__hmin2, __hmin)
    HC_OF_TWO(__hmax2_nan, __hmax_nan)
    HC_OF_TWO(__hmin2_nan, __hmin_nan)
    HC_OF_TWO(operator+, __hadd)
    HC_OF_TWO(operator-, __hsub)
    HC_OF_TWO(operator*, __hmul)
    HC_OF_TWO(operator/, __hdiv)
    HC_OF_TWO(__heq2, __heq) /* 1 or 0 each */
    HC_OF_TWO(__hne2, __hne)
    HC_OF_TWO(__hlt2, __hlt)
    HC_OF_TWO(__hle2, __hle)
    HC_OF_TWO(__hgt2, __hgt)
    HC_OF_TWO(__hge2, __hge)
#undef HC_OF_TWO
    friend narrow2 __hfma2(narrow2 a, narrow2 b, narrow2 c) {
        return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
    }
    friend narrow2 __hfma2_sat(narrow2 a, narrow2 b, narrow2 c) {
        return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
    }
    friend narrow2 __hfma2_relu(narrow2 a, narrow2 b, narrow2 c) {
        return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
    }
    friend narrow2 __hneg2(narrow2 a) { return {__hneg(a.x), __hneg(a.y)}; }
    friend narrow2 __habs2(narrow2 a) { return {__habs(a.x), __habs(a.y)}; }
    friend narrow2 operator-(narrow2 a) { return __hneg2(a); }
    __forceinline__ narrow2 &operator+=(narrow2 b) { return *this = *this + b; }
    __forceinline__ narrow2 &operator-=(narrow2 b) { return *this = *this - b; }
    __forceinline__ narrow2 &operator*=(narrow2 b) { return *this = *this * b; }
    __forceinline__ narrow2 &operator/=(narrow2 b) { return *this = *this / b; }
    friend bool operator==(narrow2 a, narrow2 b) { return a.x == b.x && a.y == b.y; }
    friend bool operator!=(narrow2 a, narrow2 b) { return a.x != b.x && a.y != b.y; }
    friend bool __hbeq2(narrow2 a, narrow2 b) { return __heq(a.x, b.x) && __heq(a.y, b.y); }
    friend bool __hbne2(narrow2 a, narrow2 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
    friend bool __hblt2(narrow2 a, narrow2 b) { return __hlt(a.x, b.x) && __hlt(a.y, b.y); }
    friend bool __hble2(narrow2 a, narrow2 b) { return __hle(a.x, b.x) && __hle(a.y, b.y); }
    friend bool __hbgt2(narrow2 a, narrow2 b) { return __hgt(a.x, b.x) && __hgt(a.y, b.y); }
    friend bool __hbge2(narrow2 a, narrow2 b) { return __hge(a.x, b.x) && __hge(a.y, b.y); }
    friend narrow2 __hisnan2(narrow2 a) { return {T(__hisnan(a.x)), T(__hisnan(a.y))}; }
#define HC_FUNCTION(name, value)                                                                   \
    friend narrow2 h2##name(narrow2 a) { return {h##name(a.x), h##name(a.y)}; }
    HC_FUNCTIONS(HC_FUNCTION)
#undef HC_FUNCTION

    friend float __low2float(narrow2 a) { return a.x.f(); }
    friend float __high2float(narrow2 a) { return a.y.f(); }
    friend narrow2 __lowhigh2highlow(narrow2 a) { return {a.y, a.x}; }
};
#undef HC_FUNCTIONS

} // namespace hc

/* The conversions of a type: F is half or bfloat16, T its C++ name, E the bits of its exponent. */
#define HC_WHOLE(F, T, E, name, I)                                                                 \
    static inline I __##F##2##name##_rn(T a) { return hc::whole<I>(nearbyintf(a.f())); }           \
    static inline I __##F##2##name##_rz(T a) { return hc::whole<I>(truncf(a.f())); }               \
    static inline I __##F##2##name##_rd(T a) { return hc::whole<I>(floorf(a.f())); }               \
    static inline I __##F##2##name##_ru(T a) { return hc::whole<I>(ceilf(a.f())); }                \
    static inline T __##name##2##F##_rn(I a) { return T((double)a); }                              \
    static inline T __##name##2##F##_rz(I a) {                                                     \
        return T::of_bits(hc::pack<E>((double)a, hc::TO_ZERO));                                    \
    }                                                                                              \
    static inline T __##name##2##F##_rd(I a) {                                                     \
        return T::of_bits(hc::pack<E>((double)a, hc::DOWN));                                       \
    }                                                                                              \
    static inline T __##name##2##F##_ru(I a) { return T::of_bits(hc::pack<E>((double)a, hc::UP)); }

#define HC_CONVERSIONS(F, T, T2, E)                                                                \
    HC_WHOLE(F, T, E, int, int)                                                                    \
    HC_WHOLE(F, T, E, uint, unsigned)                                                              \
    HC_WHOLE(F, T, E, short, short)                                                                \
    HC_WHOLE(F, T, E, ushort, unsigned short)                                                      \
    HC_WHOLE(F, T, E, ll, long long)                                                               \
    HC_WHOLE(F, T, E, ull, unsigned long long)                                                     \
    static inline T __float2##F(float a) { return T(a); }                                          \
    static inline T __float2##F##_rn(float a) { return T(a); }                                     \
    static inline T __float2##F##_rz(float a) { return T::of_bits(hc::pack<E>(a, hc::TO_ZERO)); }  \
    static inline T __float2##F##_rd(float a) { return T::of_bits(hc::pack<E>(a, hc::DOWN)); }     \
    static inline T __float2##F##_ru(float a) { return T::of_bits(hc::pack<E>(a, hc::UP)); }       \
    static inline T __double2##F(double a) { return T(a); }                                        \
    static inline float __##F##2float(T a) { return a.f(); }                                       \
    static inline short __##F##_as_short(T a) { return (short)a.__x; }                             \
    static inline unsigned short __##F##_as_ushort(T a) { return a.__x; }                          \
    static inline T __short_as_##F(short a) { return T::of_bits((unsigned short)a); }              \
    static inline T __ushort_as_##F(unsigned short a) { return T::of_bits(a); }                    \
    static inline T2 __float2##F##2_rn(float a) { return T2(T(a), T(a)); }                         \
    static inline T2 __floats2##F##2_rn(float a, float b) { return T2(T(a), T(b)); }               \
    static inline T2 __float22##F##2_rn(float2 a) { return T2(T(a.x), T(a.y)); }                   \
    static inline float2 __##F##22float2(T2 a) { return {a.x.f(), a.y.f()}; }                      \
    static inline T2 __##F##2##F##2(T a) { return T2(a, a); }                                      \
    static inline T __low2##F(T2 a) { return a.x; }                                                \
    static inline T __high2##F(T2 a) { return a.y; }                                               \
    static inline T2 __low2##F##2(T2 a) { return T2(a.x, a.x); }                                   \
    static inline T2 __high2##F##2(T2 a) { return T2(a.y, a.y); }                                  \
    static inline T2 __lows2##F##2(T2 a, T2 b) { return T2(a.x, b.x); }                            \
    static inline T2 __highs2##F##2(T2 a, T2 b) { return T2(a.y, b.y); }

#endif
