// rounded.cu: operations and conversions that name their rounding.
#include "cases.h"

#include <cfloat>

// Each result in the four directions: to the nearest, to zero, up, down.
#define FOUR(place, name, ...)                                                                     \
    x[place] = name##_rn(__VA_ARGS__), x[place + 1] = name##_rz(__VA_ARGS__),                      \
    x[place + 2] = name##_ru(__VA_ARGS__), x[place + 3] = name##_rd(__VA_ARGS__)
__global__ void round_floats(float *x, float one, float tiny) {
    FOUR(0, __fadd, one, tiny);
    FOUR(4, __fsub, -one, tiny);
    FOUR(8, __fmul, one + FLT_EPSILON, one + FLT_EPSILON);
    FOUR(12, __fdiv, one, 3 * one);
    FOUR(16, __frcp, -3 * one);
    FOUR(20, __fsqrt, 2 * one);
    FOUR(24, __fmaf, one, tiny, -one);
    FOUR(28, __fmul, FLT_MAX, 2 * one);
    FOUR(32, __double2float, 0.1);
    FOUR(36, __int2float, 16777217 * (int)one);
}
RIGHT(rounded_floats) {
    float *x = device_count<float>(40);
    round_floats<<<1, 1>>>(x, 1, 1e-20f);
    auto h = to_host(x, 40);
    const float e = FLT_EPSILON, third = 0xaaaaaap-25f, root = 0xb504f3p-23f, tenth = 0xccccccp-27f;
    const std::vector<float> expected = {1,
                                         1,
                                         1 + e,
                                         1,
                                         -1,
                                         -1,
                                         -1,
                                         -1 - e,
                                         1 + 2 * e,
                                         1 + 2 * e,
                                         1 + 3 * e,
                                         1 + 2 * e,
                                         third + 0x1p-25f,
                                         third,
                                         third + 0x1p-25f,
                                         third,
                                         -third - 0x1p-25f,
                                         -third,
                                         -third,
                                         -third - 0x1p-25f,
                                         root,
                                         root,
                                         root + e,
                                         root,
                                         -1,
                                         -1 + e / 2,
                                         -1 + e / 2,
                                         -1,
                                         INFINITY,
                                         FLT_MAX,
                                         INFINITY,
                                         FLT_MAX,
                                         tenth + 0x1p-27f,
                                         tenth,
                                         tenth + 0x1p-27f,
                                         tenth,
                                         16777216,
                                         16777216,
                                         16777218,
                                         16777216};
    EXPECT(h == expected);
    cudaFree(x);
}
__global__ void round_doubles(double *x, double one, double tiny) {
    FOUR(0, __dadd, one, tiny);
    FOUR(4, __dsub, -one, tiny);
    FOUR(8, __dmul, DBL_MIN, 0.75 * DBL_EPSILON * one);
    FOUR(12, __ddiv, one, 3 * one);
    FOUR(16, __drcp, -3 * one);
    FOUR(20, __dsqrt, 2 * one);
    FOUR(24, __fma, one, tiny, -one);
}
RIGHT(rounded_doubles) {
    double *x = device_count<double>(28);
    round_doubles<<<1, 1>>>(x, 1, 1e-200);
    auto h = to_host(x, 28);
    const double e = DBL_EPSILON, third = 0x15555555555555p-54, root = 0x16a09e667f3bccp-52;
    const std::vector<double> expected = {
        1,          1,          1 + e,    1,         -1,
        -1,         -1,         -1 - e,   0x1p-1074, 0,
        0x1p-1074,  0,          third,    third,     third + 0x1p-54,
        third,      -third,     -third,   -third,    -third - 0x1p-54,
        root + e,   root,       root + e, root,      -1,
        -1 + e / 2, -1 + e / 2, -1};
    EXPECT(h == expected);
    cudaFree(x);
}

__global__ void whole_numbers(long long *x, float f, double d) {
    FOUR(0, __float2int, -f);
    FOUR(4, __float2uint, f);
    FOUR(8, __double2int, -d);
    FOUR(12, __double2ll, d * 1e12);
    x[16] = __float2int_rz(1e30f), x[17] = __double2int_rd(-1e30), x[18] = __float2uint_rn(-7.0f);
}
RIGHT(rounded_to_whole_numbers) {
    long long *x = device_count<long long>(19);
    whole_numbers<<<1, 1>>>(x, 2.5f, 3.7);
    auto h = to_host(x, 19);
    const std::vector<long long> expected = {-2,
                                             -2,
                                             -2,
                                             -3,
                                             2,
                                             2,
                                             3,
                                             2,
                                             -4,
                                             -3,
                                             -3,
                                             -4,
                                             3700000000000,
                                             3700000000000,
                                             3700000000000,
                                             3700000000000,
                                             2147483647,
                                             -2147483648LL,
                                             0};
    EXPECT(h == expected);
    cudaFree(x);
}
