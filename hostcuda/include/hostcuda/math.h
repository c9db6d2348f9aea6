/* hostcuda/math.h: integer and floating-point intrinsics.
 *
 * The quick forms (__expf …) are the accurate host functions: a GPU's are a few ulp worse. */
#ifndef HOSTCUDA_MATH_H
#define HOSTCUDA_MATH_H

/* math.h and stdlib.h, not only their C++ names: they bring the overloads into the global
 * namespace, where a kernel's abs(x) of a float would otherwise be the int one. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostcuda/rounded.h"
#include "hostcuda/types.h"

/* ---- integers ---- */
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1u) << (31 - i);
    return r;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = selector >> 4 * i & 7; /* prmt's fourth bit, the sign, is not looked at */
        r |= ((unsigned)(bytes >> 8 * pick) & 0xff) << 8 * i;
    }
    return r;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((uint64_t)high << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline unsigned __sad(int a, int b, unsigned c) {
    return c + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a);
}
static inline unsigned __usad(unsigned a, unsigned b, unsigned c) {
    return c + (a > b ? a - b : b - a);
}
static inline int __hadd(int a, int b) { return (int)(((int64_t)a + b) >> 1); }
static inline int __rhadd(int a, int b) { return (int)(((int64_t)a + b + 1) >> 1); }
static inline unsigned __uhadd(unsigned a, unsigned b) {
    return (unsigned)(((uint64_t)a + b) >> 1);
}
/* Four products of signed (or unsigned) bytes, added to c. */
static inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++) c += (int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i);
    return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; i++) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
    return c;
}
static inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }

#define HC_MIN_MAX(type)                                                                           \
    static inline constexpr type min(type a, type b) { return b < a ? b : a; }                     \
    static inline constexpr type max(type a, type b) { return a < b ? b : a; }
HC_MIN_MAX(int)
HC_MIN_MAX(unsigned)
HC_MIN_MAX(long)
HC_MIN_MAX(unsigned long)
HC_MIN_MAX(long long)
HC_MIN_MAX(unsigned long long)
#undef HC_MIN_MAX
static inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
static inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
static inline long long llmin(long long a, long long b) { return min(a, b); }
static inline long long llmax(long long a, long long b) { return max(a, b); }
/* As CUDA's: a NaN loses against a number. */
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(float a, double b) { return fmin(a, b); }
static inline double max(float a, double b) { return fmax(a, b); }
static inline double min(double a, float b) { return fmin(a, b); }
static inline double max(double a, float b) { return fmax(a, b); }
static inline constexpr unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
static inline constexpr unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
static inline constexpr unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
static inline constexpr unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }

/* ---- floating point ---- */
/* The C library has its own __expf and so on, from glibc 2.41 on sinpif and cospif, from 2.42 on
 * rsqrt and rsqrtf: CUDA's names become ours. */
#define __expf    hc_expf
#define __exp10f  hc_exp10f
#define __logf    hc_logf
#define __log2f   hc_log2f
#define __log10f  hc_log10f
#define __sinf    hc_sinf
#define __cosf    hc_cosf
#define __tanf    hc_tanf
#define __sincosf hc_sincosf
#define __powf    hc_powf
#define rsqrtf    hc_rsqrtf
#define rsqrt     hc_rsqrt
#define sinpif    hc_sinpif
#define cospif    hc_cospif

static inline float hc_expf(float x) { return expf(x); }
static inline float hc_exp10f(float x) { return powf(10.0f, x); }
static inline float hc_logf(float x) { return logf(x); }
static inline float hc_log2f(float x) { return log2f(x); }
static inline float hc_log10f(float x) { return log10f(x); }
static inline float hc_sinf(float x) { return sinf(x); }
static inline float hc_cosf(float x) { return cosf(x); }
static inline float hc_tanf(float x) { return tanf(x); }
static inline void hc_sincosf(float x, float *s, float *c) { *s = sinf(x), *c = cosf(x); }
static inline float hc_powf(float x, float y) { return powf(x, y); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float fdividef(float x, float y) { return x / y; }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
static inline float norm3df(float x, float y, float z) { return hypotf(hypotf(x, y), z); }
static inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
static inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752440f); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
static inline float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
static inline float hc_rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double hc_rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline float hc_sinpif(float x) { return sinf(3.14159265358979323846f * x); }
static inline float hc_cospif(float x) { return cosf(3.14159265358979323846f * x); }

/* Addition and multiplication that the compiler must not contract to a fused one. */
#define HC_ROUNDED(name, type, op)                                                                 \
    static inline type name(type x, type y) {                                                      \
        volatile type r = x op y;                                                                  \
        return r;                                                                                  \
    }
HC_ROUNDED(__fadd_rn, float, +)
HC_ROUNDED(__fsub_rn, float, -)
HC_ROUNDED(__fmul_rn, float, *)
HC_ROUNDED(__dadd_rn, double, +)
HC_ROUNDED(__dsub_rn, double, -)
HC_ROUNDED(__dmul_rn, double, *)
#undef HC_ROUNDED

/* ---- conversions ---- */
template <class To, class From> static inline To hc_bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    memcpy(&result, &value, sizeof result);
    return result;
}
static inline int __float_as_int(float x) { return hc_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return hc_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return hc_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return hc_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return hc_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return hc_bits<double>(x); }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }
static inline float __double2float_rn(double x) { return (float)x; }

/* ---- cached loads: plain loads here, inlined as atomics are ---- */
template <class T> static __forceinline__ T __ldg(const T *p) { return *p; }
template <class T> static __forceinline__ T __ldcg(const T *p) { return *p; }
template <class T> static __forceinline__ T __ldcs(const T *p) { return *p; }
template <class T> static __forceinline__ void __stcs(T *p, T v) { *p = v; }
template <class T> static __forceinline__ void __stcg(T *p, T v) { *p = v; }

#endif
