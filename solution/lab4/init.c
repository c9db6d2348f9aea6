/* init.c: initial weights by their distribution (tl/init.h). */
#include "tl/init.h"

#include "tl/rng.h"

//@lab 4:
/* w[i] = deviation * standard normal number i of the stream. */
static tl_status normal(tl_real *w, size_t n, double deviation, uint64_t seed, uint32_t stream) {
    for (size_t i = 0; i < n; i += 2) {
        double z[2];
        tl_rng_normal_pair(seed, stream, i / 2, z);
        w[i] = (tl_real)(deviation * z[0]);
        if (i + 1 < n) w[i + 1] = (tl_real)(deviation * z[1]);
    }
    return TL_OK;
}
//@end

//@lab 4:
/* w[i] uniform in [-limit, limit). */
static tl_status uniform(tl_real *w, size_t n, double limit, uint64_t seed, uint32_t stream) {
    for (size_t i = 0; i < n; i++)
        w[i] = (tl_real)(limit * (2 * tl_rng_uniform(seed, stream, i) - 1));
    return TL_OK;
}
//@end

static tl_status need_fans(int fan_in, int fan_out) {
    TL_NEED(fan_in >= 1 && fan_out >= 1, TL_EINVAL,
            "fan_in %d, fan_out %d: both must be at least 1", fan_in, fan_out);
    return TL_OK;
}

tl_status tl_init_he_normal(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream) {
    TL_TRY(need_fans(fan_in, 1));
    //@lab 4: Fill w with normal numbers of mean 0 and variance 2 / fan_in. tl_rng_normal_pair
    //@  (tl/rng.h) gives two of deviation 1 at a time, in double; round once. Traps: variance is
    //@  not deviation; n may be odd; the same seed and stream must give the same weights, and
    //@  another stream others.
    return normal(w, n, sqrt(2.0 / fan_in), seed, stream);
    //@skeleton
    // (void)w, (void)n, (void)seed, (void)stream;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_init_he_uniform(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream) {
    TL_TRY(need_fans(fan_in, 1));
    //@lab 4: Uniform in ±sqrt(6 / fan_in), from tl_rng_uniform, which gives [0, 1).
    return uniform(w, n, sqrt(6.0 / fan_in), seed, stream);
    //@skeleton
    // (void)w, (void)n, (void)seed, (void)stream;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_init_xavier_normal(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                uint32_t stream) {
    TL_TRY(need_fans(fan_in, fan_out));
    //@lab 4: Normal, variance 2 / (fan_in + fan_out). The sum of two large ints may pass INT_MAX.
    return normal(w, n, sqrt(2.0 / ((double)fan_in + fan_out)), seed, stream);
    //@skeleton
    // (void)w, (void)n, (void)seed, (void)stream;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_init_xavier_uniform(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                 uint32_t stream) {
    TL_TRY(need_fans(fan_in, fan_out));
    //@lab 4: Uniform in ±sqrt(6 / (fan_in + fan_out)).
    return uniform(w, n, sqrt(6.0 / ((double)fan_in + fan_out)), seed, stream);
    //@skeleton
    // (void)w, (void)n, (void)seed, (void)stream;
    // return TL_NOT_IMPLEMENTED();
    //@end
}
