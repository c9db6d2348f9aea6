/* draw.c: arrays of a claim and the random numbers in them. */
#include "claim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *claim_memory(claim *c, size_t count, size_t size) {
    void **more = realloc(c->block, (c->blocks + 1) * sizeof *more);
    void *block = calloc(count ? count : 1, size);
    if (more) c->block = more;
    if (!more || !block) claim_fail(c, "no memory for %zu elements", count);
    return c->block[c->blocks++] = block;
}

tl_real *copy_reals(claim *c, const tl_real *x, size_t n) {
    return memcpy(reals(c, n), x, n * sizeof *x);
}

double *widen(claim *c, const tl_real *x, size_t n) {
    double *y = doubles(c, n);
    for (size_t i = 0; i < n; i++) y[i] = x[i];
    return y;
}

double *coarsen(claim *c, const double *x, size_t n) {
    double *y = doubles(c, n);
    for (size_t i = 0; i < n; i++) {
#ifdef TL_REAL_DOUBLE
        y[i] = (float)x[i];
#else
        int exponent;
        double mantissa = frexp(x[i], &exponent); /* in [0.5, 1) */
        y[i] = ldexp(nearbyint(mantissa * 2048) / 2048, exponent);
#endif
    }
    return y;
}

/* splitmix64 (Steele, Lea, Flood 2014); not the generator under test */
uint64_t draw_bits(claim *c) {
    uint64_t z = c->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int draw_int(claim *c, int low, int high) {
    return low + (int)(draw_bits(c) % (uint64_t)(high - low + 1));
}

double draw_uniform(claim *c, double low, double high) {
    return low + (high - low) * (double)(draw_bits(c) >> 11) * 0x1p-53;
}

tl_real *draw_between(claim *c, size_t n, double low, double high) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_uniform(c, low, high);
    return x;
}

tl_real *draw_reals(claim *c, size_t n) { return draw_between(c, n, -1, 1); }

tl_real *draw_distinct(claim *c, size_t n, double gap) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)(gap * ((double)i - (double)(n / 2) + 0.5));
    for (size_t i = n; i > 1; i--) { /* Fisher-Yates */
        size_t j = draw_bits(c) % i;
        tl_real swap = x[i - 1];
        x[i - 1] = x[j];
        x[j] = swap;
    }
    return x;
}

int32_t *draw_labels(claim *c, size_t n, int classes) {
    int32_t *label = ints(c, n);
    for (size_t i = 0; i < n; i++) label[i] = draw_int(c, 0, classes - 1);
    return label;
}
