/* rng.c: floating-point random numbers, made on the host in double (tl/rng.h). */
#include "tl/rng.h"

#include <math.h>

#include "tl/portable.h"

/* Both functions draw under the purpose TL_DRAW_INIT, and the top bit of the index tells them
 * apart: no normal number shares its bits with a uniform one. */
#define UNIFORM_INDEX ((uint64_t)1 << 63)

static uint64_t join(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

/* (bits + 1/2) / 2^64: inside (0, 1], and so small at the low end that -log of it reaches 45.
 * Rounding makes the largest values 1, whose logarithm is 0: harmless. */
static double open_uniform(uint64_t bits) { return ldexp((double)bits, -64) + ldexp(1, -65); }

void tl_rng_normal_pair(uint64_t seed, uint32_t stream, uint64_t i, double out[2]) {
    tl_philox r = tl_philox_draw(seed, i & ~UNIFORM_INDEX, stream, TL_DRAW_INIT);
    double radius = sqrt(-2 * tl_portable_log(open_uniform(join(r.v[0], r.v[1]))));
    double turns = 2 * open_uniform(join(r.v[2], r.v[3]));
    out[0] = radius * tl_portable_cospi(turns);
    out[1] = radius * tl_portable_sinpi(turns);
}

double tl_rng_uniform(uint64_t seed, uint32_t stream, uint64_t i) {
    tl_philox r = tl_philox_draw(seed, i | UNIFORM_INDEX, stream, TL_DRAW_INIT);
    return ldexp((double)(join(r.v[0], r.v[1]) >> 11), -53);
}
