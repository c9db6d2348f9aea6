/* tl/rng.h: counter-based random numbers, the same on every device and at any thread count.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC
 * 2011) maps (key, counter) to four 32-bit words by integer arithmetic alone. There is no state to
 * carry: whoever knows the seed, the purpose of a draw and its index can make the draw. Every
 * decision on a device (shuffle, crop, flip, dropout) is one of the integer functions below;
 * floating-point draws (initial weights) are made on the host in double. */
#ifndef TL_RNG_H
#define TL_RNG_H

#include <stdint.h>

#include "tl/real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a draw is for: the last counter word, so that no two purposes share a number. */
enum { TL_DRAW_INIT = 1, TL_DRAW_SHUFFLE, TL_DRAW_AUGMENT, TL_DRAW_DROPOUT, TL_DRAW_DATA };

typedef struct tl_philox {
    uint32_t v[4];
} tl_philox;

/* The four words of counter (a, b, purpose) under `seed`; a is 64 bits wide: an index, b 32 bits.
 */
static inline TL_HD tl_philox tl_philox_draw(uint64_t seed, uint64_t a, uint32_t b,
                                             uint32_t purpose) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)a, c1 = (uint32_t)(a >> 32), c2 = b, c3 = purpose;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    tl_philox out = {{c0, c1, c2, c3}};
    return out;
}

/* Element `i` of a random permutation of 0..n-1 (n >= 1) that (seed, epoch) names, without storing
 * it: a Feistel network of 8 rounds over the smallest even number of bits that covers n, walked
 * until the value falls below n (Black, Rogaway: "Ciphers with Arbitrary Finite Domains", CT-RSA
 * 2002). A bijection for every n; on average fewer than 4 walks. */
static inline TL_HD uint32_t tl_rng_permute(uint64_t seed, uint32_t epoch, uint32_t n, uint32_t i) {
    uint32_t half = 1;
    while (half < 16 && ((uint64_t)1 << (2 * half)) < n) half++;
    uint32_t mask = ((uint32_t)1 << half) - 1, x = i;
    do {
        uint32_t left = x >> half, right = x & mask;
        for (uint32_t round = 0; round < 8; round++) {
            uint64_t index = ((uint64_t)(round + 1) << 32) | right;
            uint32_t next =
                left ^ (tl_philox_draw(seed, index, epoch, TL_DRAW_SHUFFLE).v[0] & mask);
            left = right;
            right = next;
        }
        x = (left << half) | right;
    } while (x >= n);
    return x;
}

/* How training image number `position` of `epoch` is cropped and flipped: the crop starts dy rows
 * and dx columns into the image padded by `pad` (0 <= dy, dx <= 2*pad); flip mirrors columns. */
typedef struct tl_crop {
    int dy, dx, flip;
} tl_crop;

static inline TL_HD tl_crop tl_rng_crop(uint64_t seed, uint32_t epoch, uint32_t position, int pad) {
    tl_philox r = tl_philox_draw(seed, position, epoch, TL_DRAW_AUGMENT);
    uint64_t range = (uint64_t)(2 * pad + 1);
    tl_crop crop = {(int)((r.v[0] * range) >> 32), (int)((r.v[1] * range) >> 32),
                    (int)(r.v[2] >> 31)};
    return crop;
}

/* Dropout keeps element i of a layer in step `step` if its 32-bit draw is >= threshold, where
 * threshold = floor(p * 2^32) is what tl_dropout_threshold gives. `layer` tells apart the dropout
 * layers of one net (below 2^16); elements beyond 2^48 and steps beyond 2^32 would repeat. */
static inline TL_HD int tl_rng_keep(uint64_t seed, uint64_t step, uint32_t layer, uint64_t i,
                                    uint32_t threshold) {
    uint64_t index = (i >> 2) | ((uint64_t)layer << 46);
    tl_philox r = tl_philox_draw(seed, index, (uint32_t)step, TL_DRAW_DROPOUT);
    return r.v[i & 3] >= threshold;
}

/* Two independent standard normal numbers (Box-Muller), host only: element pair `i` of stream
 * `stream`. Uses 64 random bits for each uniform, so tails reach beyond 8 sigma; the same bits on
 * every machine (tl/portable.h). */
void tl_rng_normal_pair(uint64_t seed, uint32_t stream, uint64_t i, double out[2]);

/* A uniform number in [0, 1) with 53 random bits, host only. */
double tl_rng_uniform(uint64_t seed, uint32_t stream, uint64_t i);

#ifdef __cplusplus
}
#endif
#endif
