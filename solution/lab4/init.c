/* init.c: initial weights by their distribution (tl/init.h). The four formulas are given; to be
 * written is what draws numbers of a given variance. */
#include "tl/init.h"

#include "tl/rng.h"

/* Normal numbers, mean 0. */
static tl_status fill_normal(tl_real *w, size_t n, double variance, uint64_t seed,
                             uint32_t stream) {
    //@lab 4: Fill w with normal numbers of mean 0 and this variance. tl_rng_normal_pair (tl/rng.h)
    //@  gives two of deviation 1 at a time, in double; round once. Weights 2i and 2i + 1 are pair
    //@  i. Traps: variance is not deviation; n may be odd; seed, stream and the number of the pair
    //@  decide, nothing else.
    double deviation = sqrt(variance);
    for (size_t i = 0; i < n; i += 2) {
        double z[2];
        tl_rng_normal_pair(seed, stream, i / 2, z);
        w[i] = (tl_real)(deviation * z[0]);
        if (i + 1 < n) w[i + 1] = (tl_real)(deviation * z[1]);
    }
    return TL_OK;
    //@skeleton
    // (void)w, (void)n, (void)variance, (void)seed, (void)stream;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

/* Uniform numbers between -limit and limit, mean 0. */
static tl_status fill_uniform(tl_real *w, size_t n, double variance, uint64_t seed,
                              uint32_t stream) {
    //@lab 4: Fill w with uniform numbers in [-limit, limit), from tl_rng_uniform, which gives
    //@  [0, 1): weight i from number i. What is the variance of such numbers, and so, for this
    //@  variance, the limit?
    double limit = sqrt(3 * variance);
    for (size_t i = 0; i < n; i++)
        w[i] = (tl_real)(limit * (2 * tl_rng_uniform(seed, stream, i) - 1));
    return TL_OK;
    //@skeleton
    // (void)w, (void)n, (void)variance, (void)seed, (void)stream;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

static tl_status need_fans(int fan_in, int fan_out) {
    TL_NEED(fan_in >= 1 && fan_out >= 1, TL_EINVAL,
            "fan_in %d, fan_out %d: both must be at least 1", fan_in, fan_out);
    return TL_OK;
}

tl_status tl_init_he_normal(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream) {
    TL_TRY(need_fans(fan_in, 1));
    return fill_normal(w, n, 2.0 / fan_in, seed, stream);
}

tl_status tl_init_he_uniform(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream) {
    TL_TRY(need_fans(fan_in, 1));
    return fill_uniform(w, n, 2.0 / fan_in, seed, stream);
}

/* The sum of two large ints may pass INT_MAX; that of an int and a double does not. */
tl_status tl_init_xavier_normal(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                uint32_t stream) {
    TL_TRY(need_fans(fan_in, fan_out));
    return fill_normal(w, n, 2 / ((double)fan_in + fan_out), seed, stream);
}

tl_status tl_init_xavier_uniform(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                 uint32_t stream) {
    TL_TRY(need_fans(fan_in, fan_out));
    return fill_uniform(w, n, 2 / ((double)fan_in + fan_out), seed, stream);
}
