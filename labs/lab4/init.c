/* init.c: initial weights by their distribution (tl/init.h). */
#include "tl/init.h"

#include "tl/rng.h"

static tl_status need_fans(int fan_in, int fan_out) {
    TL_NEED(fan_in >= 1 && fan_out >= 1, TL_EINVAL,
            "fan_in %d, fan_out %d: both must be at least 1", fan_in, fan_out);
    return TL_OK;
}

tl_status tl_init_he_normal(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream) {
    TL_TRY(need_fans(fan_in, 1));
    /* TODO(lab 4): Fill w with normal numbers of mean 0 and variance 2 / fan_in. tl_rng_normal_pair
     * (tl/rng.h) gives two of deviation 1 at a time, in double; round once. Traps: variance is not
     * deviation; n may be odd; the same seed and stream must give the same weights, and another
     * stream others. */
    (void)w, (void)n, (void)seed, (void)stream;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_init_he_uniform(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream) {
    TL_TRY(need_fans(fan_in, 1));
    /* TODO(lab 4): Uniform in ±sqrt(6 / fan_in), from tl_rng_uniform, which gives [0, 1). */
    (void)w, (void)n, (void)seed, (void)stream;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_init_xavier_normal(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                uint32_t stream) {
    TL_TRY(need_fans(fan_in, fan_out));
    /* TODO(lab 4): Normal, variance 2 / (fan_in + fan_out). The sum of two large ints may pass
     * INT_MAX. */
    (void)w, (void)n, (void)seed, (void)stream;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_init_xavier_uniform(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                 uint32_t stream) {
    TL_TRY(need_fans(fan_in, fan_out));
    /* TODO(lab 4): Uniform in ±sqrt(6 / (fan_in + fan_out)). */
    (void)w, (void)n, (void)seed, (void)stream;
    return TL_NOT_IMPLEMENTED();
}
