/* claim.c: begin and end of a claim, its arrays and its draws. */
#include "claim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const call_target claim_targets[] = {
    {.device = "cpu", .rungs = "none", .threads = 1},
    {.device = "cpu", .rungs = "none", .threads = 3},
    {.device = "cpu", .rungs = "all", .threads = 1},
    {.device = "cpu", .rungs = "all", .threads = 3},
    {.device = "cuda", .rungs = "none", .threads = 1},
    {.device = "cuda", .rungs = "all", .threads = 1},
    {.device = "hostcuda", .rungs = "none", .threads = 1},
    {.device = "hostcuda", .rungs = "all", .threads = 1},
    {.device = NULL},
};

bool claim_runs_on(const call_target *t) {
    const char *wanted = getenv("GRADLAB_DEVICES");
    if (!wanted || !*wanted) wanted = "cpu";
    for (size_t length; *wanted; wanted += length + (wanted[length] == ',')) {
        length = strcspn(wanted, ",");
        if (strlen(t->device) == length && strncmp(wanted, t->device, length) == 0) return true;
    }
    return false;
}

void claim_begin(claim *c, const char *name) {
    memset(c, 0, sizeof *c);
    c->name = name;
    snprintf(c->call, sizeof c->call, "(no call yet)");
    const char *seed = getenv("GRADLAB_SEED");
    char *end = NULL;
    c->seed = seed && *seed ? strtoull(seed, &end, 10) : 1;
    if (end && *end) claim_fail(c, "GRADLAB_SEED=%s is not a whole number", seed);
    /* FNV-1a of the name, so that claims do not share their inputs */
    c->state = UINT64_C(0xCBF29CE484222325) ^ c->seed;
    for (const char *p = name; *p; p++) c->state = (c->state ^ (uint8_t)*p) * 0x100000001B3;
}

void claim_end(claim *c) {
    size_t left = call_close();
    if (left) claim_fail(c, "%zu blocks of device memory were still out at the end", left);
    /* an assertion that passes too: a test that reports none has left before its end */
    cr_assert_gt(c->compared, 0, "%s compared nothing", c->name);
    if (c->coarse && !c->sharp)
        claim_fail(c, "the bounds are blind: inputs rounded to fewer digits pass %d of %d cases",
                   c->coarse, c->coarse);
    if (getenv("GRADLAB_BOUNDS")) {
        fprintf(stderr, "bounds %s %s err/bound %.3f in %d results%s\n", TL_REAL_NAME, c->name,
                c->worst, c->compared, c->coarse ? "" : " (not tried with coarse inputs)");
        if (!(c->worst <= 0.5))
            claim_fail(c, "err/bound of the reference reached %.3f in %s", c->worst, c->worst_call);
    }
    for (size_t i = 0; i < c->blocks; i++) free(c->block[i]);
    free(c->block);
}

void claim_case(claim *c, const call_target *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(c->call, sizeof c->call, format, arguments);
    va_end(arguments);
    if (t && used >= 0 && (size_t)used < sizeof c->call)
        snprintf(c->call + used, sizeof c->call - (size_t)used, " on %s, rungs %s, %d thread%s",
                 t->device, t->rungs, t->threads, t->threads == 1 ? "" : "s");
}

void claim_fail(const claim *c, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cr_assert(0, "%s\n  call: %s\n  again: GRADLAB_SEED=%llu, filter %s", text, c->call,
              (unsigned long long)c->seed, c->name);
    abort(); /* cr_assert has left the test */
}

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
