/* vector.h: vectors of numbers, as rungs of the cpu share them. (gcc's and clang's vector types:
 * the operators work lane by lane, and without AVX they become what the machine has) */
#ifndef KERNELS_VECTOR_H
#define KERNELS_VECTOR_H

#include "tl/context.h"

#ifdef __FMA__
#include <immintrin.h>
#endif

/* 32 bytes also where AVX-512 is there: rows of 8 pixels would leave half of a longer vector empty,
 * and two of 32 bytes, 16 floats, make a tile as well. How many numbers a vector has is part of
 * what BITS=portable promises: it decides which are added first. (-DVEC_PLAIN: as many, whatever
 * machine it is compiled for; tests/test_portable.py) */
#if defined(__AVX__) || defined(VEC_PLAIN)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif
#define VEC_LANES ((int)(VEC_BYTES / sizeof(tl_real)))

typedef tl_real vec __attribute__((vector_size(VEC_BYTES)));

/* The same vector where it lies in memory: aligned as one tl_real, and allowed to alias tl_real. */
typedef tl_real vec_unaligned
    __attribute__((vector_size(VEC_BYTES), aligned(sizeof(tl_real)), may_alias));

#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE vec vec_load(const tl_real *from) { return *(const vec_unaligned *)from; }

/* For a vector that several multiply-adds use: volatile makes the compiler keep it in a register.
 * gcc would else load it again in each of them, and loads are what the kernels are short of. */
VEC_INLINE vec vec_load_once(const tl_real *from) { return *(const volatile vec_unaligned *)from; }

VEC_INLINE void vec_store(tl_real *to, vec v) { *(vec_unaligned *)to = v; }

/* x in every lane */
VEC_INLINE vec vec_all(tl_real x) { return x - (vec){0}; }

/* x * y + sum. VEC_SAME_BITS: rounded once, whoever compiles; else this build is for a machine that
 * has no such instruction, and it is rounded twice. (Where nobody writes fma nothing is one:
 * kernels are built with -ffp-contract=off, mk/modes.mk) */
#if defined(__FMA__) || defined(VEC_PLAIN)
#define VEC_SAME_BITS 1
#else
#define VEC_SAME_BITS 0
#endif

VEC_INLINE tl_real real_fma(tl_real x, tl_real y, tl_real sum) {
#if !VEC_SAME_BITS
    return x * y + sum;
#elif defined(TL_REAL_DOUBLE)
    return __builtin_fma(x, y, sum);
#else
    return __builtin_fmaf(x, y, sum);
#endif
}

VEC_INLINE vec vec_fma(vec x, vec y, vec sum) {
#if !VEC_SAME_BITS
    return x * y + sum;
#elif defined(VEC_PLAIN)
    for (int l = 0; l < VEC_LANES; l++) sum[l] = real_fma(x[l], y[l], sum[l]);
    return sum;
#elif defined(TL_REAL_DOUBLE)
    return (vec)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)sum);
#else
    return (vec)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)sum);
#endif
}

#endif
