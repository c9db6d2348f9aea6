/* hostcuda/types.h: CUDA's qualifiers, dim3 and vector types. */
#ifndef HOSTCUDA_TYPES_H
#define HOSTCUDA_TYPES_H

#include "hostcuda/abi.h"

/* noinline keeps a kernel a frame of its own: a backtrace and a breakpoint find it by name. */
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define HC_NOINLINE     __attribute__((noinline)) /* what the rewriter makes of __noinline__ */
#define __launch_bounds__(...)
#define __grid_constant__
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif
#define __align__(n) __attribute__((aligned(n)))
#ifndef __restrict__
#define __restrict__ __restrict
#endif

/* Put before device variables by the rewriter. Their addresses are known by these sections. */
#define HC_DEVICE_VARIABLE __attribute__((section("hc_device_data"), used))
#define HC_DEVICE_CONSTANT __attribute__((section("hc_device_const"), used))

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

#define HC_VECTOR(type, name, align1, align2, align4)                                              \
    struct __attribute__((aligned(align1))) name##1 {                                              \
        type x;                                                                                    \
    };                                                                                             \
    struct __attribute__((aligned(align2))) name##2 {                                              \
        type x, y;                                                                                 \
    };                                                                                             \
    struct __attribute__((aligned(align4))) name##4 {                                              \
        type x, y, z, w;                                                                           \
    };                                                                                             \
    static inline constexpr name##1 make_##name##1(type x) { return name##1 {x}; }                 \
    static inline constexpr name##2 make_##name##2(type x, type y) { return name##2 {x, y}; }      \
    static inline constexpr name##4 make_##name##4(type x, type y, type z, type w) {               \
        return name##4 {x, y, z, w};                                                               \
    }

#define HC_VECTOR3(type, name)                                                                     \
    struct name##3 {                                                                               \
        type x, y, z;                                                                              \
    };                                                                                             \
    HC_MAKE3(type, name)
#define HC_MAKE3(type, name)                                                                       \
    static inline constexpr name##3 make_##name##3(type x, type y, type z) {                       \
        return name##3 {x, y, z};                                                                  \
    }

HC_VECTOR(signed char, char, 1, 2, 4)
HC_VECTOR(unsigned char, uchar, 1, 2, 4)
HC_VECTOR(short, short, 2, 4, 8)
HC_VECTOR(unsigned short, ushort, 2, 4, 8)
HC_VECTOR(int, int, 4, 8, 16)
HC_VECTOR(unsigned, uint, 4, 8, 16)
HC_VECTOR(long, long, 8, 16, 16)
HC_VECTOR(unsigned long, ulong, 8, 16, 16)
HC_VECTOR(long long, longlong, 8, 16, 16)
HC_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
HC_VECTOR(float, float, 4, 8, 16)
HC_VECTOR(double, double, 8, 16, 16)
HC_VECTOR3(signed char, char)
HC_VECTOR3(unsigned char, uchar)
HC_VECTOR3(short, short)
HC_VECTOR3(unsigned short, ushort)
HC_VECTOR3(int, int)
HC_MAKE3(unsigned, uint)
HC_VECTOR3(long, long)
HC_VECTOR3(unsigned long, ulong)
HC_VECTOR3(long long, longlong)
HC_VECTOR3(unsigned long long, ulonglong)
HC_VECTOR3(float, float)
HC_VECTOR3(double, double)

#endif
