/* mma_host.h: fragments and their products on hostcuda, whose lanes exchange them. (mma.h says what
 * they do, and includes this file.) */
#ifndef KERNELS_MMA_HOST_H
#define KERNELS_MMA_HOST_H

#include "tl/precision.h"

/* Words of shared memory, whatever they are there. */
typedef uint32_t __attribute__((may_alias)) mma_word;
typedef uint16_t __attribute__((may_alias)) mma_half;
typedef struct __attribute__((may_alias, aligned(16))) mma_line {
    uint32_t word[4];
} mma_line;

/* Where the elements of the fragments lie, row by row, as hostcuda wants it: 32 * their place among
 * the lane's elements + the lane. */
struct mma_places {
    uint16_t bf16_a[16 * 16], bf16_b[16 * 8], tf32_a[16 * 8], tf32_b[8 * 8], d[16 * 8];
    constexpr mma_places() : bf16_a(), bf16_b(), tf32_a(), tf32_b(), d() {
        for (int row = 0; row < 16; row++) {
            int g = row % 8 * 4, upper = row / 8;
            for (int k = 0; k < 16; k++)
                bf16_a[row * 16 + k] =
                    (uint16_t)(32 * (2 * (upper + k / 8 * 2) + k % 2) + g + k % 8 / 2);
            for (int k = 0; k < 8; k++)
                tf32_a[row * 8 + k] = (uint16_t)(32 * (upper + k / 4 * 2) + g + k % 4);
            for (int j = 0; j < 8; j++)
                d[row * 8 + j] = (uint16_t)(32 * (2 * upper + j % 2) + g + j / 2);
        }
        for (int j = 0; j < 8; j++) {
            for (int k = 0; k < 16; k++)
                bf16_b[k * 8 + j] = (uint16_t)(32 * (k / 8 * 2 + k % 2) + 4 * j + k % 8 / 2);
            for (int k = 0; k < 8; k++)
                tf32_b[k * 8 + j] = (uint16_t)(32 * (k / 4) + 4 * j + k % 4);
        }
    }
};
static constexpr mma_places mma_at = mma_places();

static inline double mma_number(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static inline void mma_meet(float (&d)[4], hc_mma mine, int line) {
    double c[4], sum[4];
    for (int i = 0; i < 4; i++) c[i] = (double)d[i];
    mine.at_c = mma_at.d, mine.c = c, mine.d = sum;
    hc_warp(HC_MMA, ~0u, (uint64_t)(uintptr_t)&mine, 0, 32, __FILE__, line);
    for (int i = 0; i < 4; i++) d[i] = (float)sum[i];
}

static inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    double in_a[8], in_b[4];
    for (int i = 0; i < 8; i++)
        in_a[i] = mma_number(i % 2 ? a[i / 2] & 0xffff0000u : a[i / 2] << 16);
    for (int i = 0; i < 4; i++)
        in_b[i] = mma_number(i % 2 ? b[i / 2] & 0xffff0000u : b[i / 2] << 16);
    mma_meet(d, {16, 8, 16, mma_at.bf16_a, mma_at.bf16_b, NULL, in_a, in_b, NULL, NULL}, __LINE__);
}

/* The low 13 bits of an operand are not looked at. */
static inline void mma_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    double in_a[4], in_b[2];
    for (int i = 0; i < 4; i++) in_a[i] = mma_number(a[i] & 0xffffe000u);
    for (int i = 0; i < 2; i++) in_b[i] = mma_number(b[i] & 0xffffe000u);
    mma_meet(d, {16, 8, 8, mma_at.tf32_a, mma_at.tf32_b, NULL, in_a, in_b, NULL, NULL}, __LINE__);
}

static inline int mma_lane() {
    return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

/* The row that a lane has named. */
static inline const void *mma_row_of(const void *row, int lane) {
    return (const void *)(uintptr_t)__shfl_sync(~0u, (unsigned long long)(uintptr_t)row, lane);
}

static inline void ldmatrix(uint32_t (&r)[4], const void *row) {
    hc_warp_aligned(row, 16, __FILE__, __LINE__);
    int lane = mma_lane();
    for (int i = 0; i < 4; i++)
        r[i] = ((const mma_word *)mma_row_of(row, 8 * i + lane / 4))[lane % 4];
}

static inline void ldmatrix_turned(uint32_t (&r)[4], const void *row) {
    hc_warp_aligned(row, 16, __FILE__, __LINE__);
    int lane = mma_lane(), from = lane % 4 * 2;
    for (int i = 0; i < 4; i++) {
        uint32_t low = ((const mma_half *)mma_row_of(row, 8 * i + from))[lane / 4];
        uint32_t high = ((const mma_half *)mma_row_of(row, 8 * i + from + 1))[lane / 4];
        r[i] = low | high << 16;
    }
}

static inline uint32_t mma_rounded(float x, tl_precision precision) {
    uint32_t bits;
    x = tl_rounded(x, precision);
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline uint32_t to_tf32(float x) { return mma_rounded(x, TL_TF32); }
static inline uint32_t to_bf16(float low, float high) {
    return mma_rounded(low, TL_BF16) >> 16 | mma_rounded(high, TL_BF16);
}

static inline void copy_16_async(void *to, const void *from, bool there) {
    mma_line line = {};
    if (there) line = *(const mma_line *)from;
    *(mma_line *)to = line;
}
static inline void copy_16_async_again(void *to, const void *from, bool there) {
    copy_16_async(to, from, there);
}

#endif
