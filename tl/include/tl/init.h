/* tl/init.h: initial weights, drawn on the host in double and rounded once. (lab 4)
 *
 * `stream` numbers the parameter within its net, so that equal shapes get different weights.
 * Weights 2i and 2i + 1 of a normal kind are made of pair number i of that seed and stream
 * (tl_rng_normal_pair), weight i of a uniform kind of number i (tl_rng_uniform): so two programs
 * have the same weights.
 * Element order is row-major. fan_in = C*R*S (or `in`), fan_out = K*R*S (or `out`); both >= 1. */
#ifndef TL_INIT_H
#define TL_INIT_H

#include <stddef.h>
#include <stdint.h>

#include "tl/real.h"
#include "tl/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Normal, mean 0, variance 2 / fan_in: keeps the variance of ReLU activations from layer to layer
 * (He, Zhang, Ren, Sun, "Delving Deep into Rectifiers", 2015, equation 10). */
tl_status tl_init_he_normal(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream);
/* Uniform in ±sqrt(6 / fan_in), the same variance. */
tl_status tl_init_he_uniform(tl_real *w, size_t n, int fan_in, uint64_t seed, uint32_t stream);
/* Normal, variance 2 / (fan_in + fan_out) (Glorot, Bengio 2010, equation 12). */
tl_status tl_init_xavier_normal(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                uint32_t stream);
/* Uniform in ±sqrt(6 / (fan_in + fan_out)) (equation 16). */
tl_status tl_init_xavier_uniform(tl_real *w, size_t n, int fan_in, int fan_out, uint64_t seed,
                                 uint32_t stream);

#ifdef __cplusplus
}
#endif
#endif
