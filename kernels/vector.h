/* vector.h: vectors of numbers, as rungs of the cpu share them. (gcc's and clang's vector types:
 * the operators work lane by lane, and without AVX they become what the machine has) */
#ifndef KERNELS_VECTOR_H
#define KERNELS_VECTOR_H

#include "tl/context.h"

/* 32 bytes also where AVX-512 is there: rows of 8 pixels would leave half of a longer vector empty,
 * and two of 32 bytes, 16 floats, make a tile as well. */
#if defined(__AVX__)
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

#endif
