/* question.c: asking a rung, and judging its answer (question.h). */
#include "question.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tl/real.h"

enum { WHOLE_MOST = 4 }; /* 2^24 / 16 terms, a million, add up without rounding */

/* the constants of the labs' bound (autograder/claim/bound.h) */
#define BOUND(name, value) name = value,
enum {
#include "autograder/claim/bound.def"
};
#undef BOUND

double question_unit(void) { return TL_REAL_ROUNDOFF + 0x1p-53; }

/* How far a sum may be off, over its scale; 0: this build cannot say. */
static double bound_of(size_t terms, tl_precision precision) {
    if (precision != TL_FP32) return ((double)terms + GRANTED) * 0x1p-23; /* of tensor cores */
    double n = (double)terms, u = TL_REAL_ROUNDOFF;
    if (sizeof(tl_real) < sizeof(double) && terms > FLOAT_TERMS) return 0;
    double gamma = (n + GRANTED) * u / (1 - (n + GRANTED) * u);
    return (terms <= EXACT_TERMS ? gamma : ROOT * sqrt(n) * u) + (n + GRANTED) * 0x1p-53;
}

/* ---- memory ---- */

/* A benchmark that is out of memory on the host can do nothing else. */
static void *host_block(question *q, size_t bytes) {
    void *block = malloc(bytes ? bytes : 1);
    if (!block || q->blocks == BLOCKS) {
        fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return q->block[q->blocks++] = block;
}

double *question_doubles(question *q, size_t n) {
    double *x = host_block(q, n * sizeof *x);
    memset(x, 0, n * sizeof *x);
    return x;
}

static int index_of(const question *q, const char *name) {
    for (int i = 0; i < q->b->arrays; i++)
        if (strcmp(q->b->array[i].name, name) == 0) return i;
    fprintf(stderr, "bench: no array %s\n", name);
    exit(1);
}

void *question_input(question *q, const char *name) { return q->given[index_of(q, name)]; }

/* An operand in the precision of the question: all that is only read, of TL_TF32 but the bias. */
static tl_precision rounded_to(const question *q, int array) {
    const bench_array *a = &q->b->array[array];
    bool bias = strcmp(a->name, "b") == 0;
    return a->use == BENCH_RESULT || (bias && q->precision == TL_TF32) ? TL_FP32 : q->precision;
}

double *question_given(question *q, const char *name, size_t at, size_t count) {
    int array = index_of(q, name);
    const tl_real *from = q->given[array];
    tl_precision precision = rounded_to(q, array);
    double *x = question_doubles(q, count);
    for (size_t i = 0; i < count; i++)
        x[i] = precision == TL_FP32 ? (double)from[at + i]
                                    : (double)tl_rounded((float)from[at + i], precision);
    return x;
}

void question_free(question *q) {
    for (int i = 0; i < q->blocks; i++) free(q->block[i]);
    q->blocks = 0;
}

/* ---- inputs ---- */

/* splitmix64 (Steele, Lea, Flood 2014): inputs need be neither equal everywhere nor good. */
static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void draw(question *q, tl_real *x, size_t n, uint64_t *state) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = next(state);
        if (q->whole)
            x[i] = (tl_real)((int)(bits % (2 * WHOLE_MOST + 1)) - WHOLE_MOST);
        else
            x[i] = (tl_real)((double)(bits >> 11) * 0x1p-52 - 1);
    }
}

/* Arrays that are no tl_real: the numbers of a step, or zeros until define puts them right. */
static void draw_other(question *q, const bench_array *a, void *block) {
    (void)q;
    memset(block, 0, a->bytes);
    if (strcmp(a->name, "step") == 0)
        *(tl_step *)block = (tl_step){.seed = 1, .index = 4, .lr = 0.01};
}

tl_status question_make(question *q, const bench_case *which, const bench *b, bool whole,
                        uint64_t seed, tl_precision precision) {
    *q = (question){
        .b = b, .number = b->number, .whole = whole, .precision = precision, .seed = seed};
    uint64_t state = seed;
    for (int i = 0; i < b->arrays; i++) {
        const bench_array *a = &b->array[i];
        if (a->use == BENCH_SCRATCH || (a->use == BENCH_RESULT && !a->added)) continue;
        q->given[i] = host_block(q, a->bytes);
        if (a->element == BENCH_REAL)
            draw(q, q->given[i], a->bytes / sizeof(tl_real), &state);
        else
            draw_other(q, a, q->given[i]);
    }
    which->define(q);
    return TL_OK;
}

/* The 16 bits of a finite number that is rounded to them: of bfloat16 float's upper ones; of half
 * precision another exponent, or below 2^-14 how many times 2^-24. */
static uint16_t in_16_bits(float number, tl_precision precision) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (precision == TL_BF16) return (uint16_t)(bits >> 16);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (fabsf(number) < 0x1p-14f) return (uint16_t)(sign | (uint32_t)(fabsf(number) * 0x1p24f));
    return (uint16_t)(sign | (size - (112u << 23)) >> 13);
}

/* Rounded, and of 16 bits side by side, in the first half of `to`. */
static void store_in(void *to, const tl_real *x, size_t n, tl_precision precision) {
    for (size_t i = 0; i < n; i++) {
        float number = tl_rounded((float)x[i], precision);
        if (tl_in_16_bits(precision))
            ((uint16_t *)to)[i] = in_16_bits(number, precision);
        else
            ((float *)to)[i] = number;
    }
}

/* (all bits set is NaN, and -1) */
tl_status question_put(const question *q, const bench *b, bool stored) {
    for (int i = 0; i < b->arrays; i++) {
        const bench_array *a = &b->array[i];
        if (a->use == BENCH_SCRATCH) continue;
        bool narrow = stored && a->use == BENCH_INPUT && a->element == BENCH_REAL;
        void *made = q->given[i] && !narrow ? NULL : malloc(a->bytes);
        TL_NEED((q->given[i] && !narrow) || made, TL_ENOMEM, "no memory for %zu bytes", a->bytes);
        if (made) memset(made, 0xFF, a->bytes);
        if (narrow) store_in(made, q->given[i], a->bytes / sizeof(tl_real), q->precision);
        tl_status status =
            b->ctx->ops->copy_in(b->ctx, a->block, made ? made : q->given[i], a->bytes);
        free(made);
        TL_TRY(status);
    }
    return TL_OK;
}

int question_picks(const question *q, int n, int most, int *pick) {
    uint64_t state = q->seed + 1;
    int count = n < most ? n : most;
    for (int i = 0; i < count; i++) {
        if (count == n || i == 0)
            pick[i] = i;
        else
            pick[i] = i == 1 ? n - 1 : (int)(next(&state) % (uint64_t)n);
    }
    return count;
}

/* ---- answers ---- */

void question_expect_within(question *q, const char *name, size_t at, const double *want,
                            double *bound, size_t count) {
    if (q->expected == EXPECTATIONS) {
        fprintf(stderr, "bench: more than %d expectations\n", EXPECTATIONS);
        exit(1);
    }
    q->expects[q->expected++] = (expectation){name, at, count, want, bound};
}

/* A sum in 16 bits: of whole numbers, which are exact until then, the number itself; else as far
 * off as rounding may be. */
static double rounded(double sum, bool exact, tl_precision precision, double *allowed) {
    if (exact) return (double)tl_rounded((float)sum, precision);
    double relative = precision == TL_BF16 ? 0x1p-8 : 0x1p-11;
    double absolute = precision == TL_BF16 ? 0 : 0x1p-25; /* half of the smallest number */
    *allowed += (fabs(sum) + *allowed) * relative + absolute;
    return sum;
}

void question_expect(question *q, const char *name, size_t at, double *want, double *scale,
                     size_t count, size_t terms) {
    const bench_array *a = &q->b->array[index_of(q, name)];
    const double *before = a->added ? question_given(q, name, at, count) : NULL;
    double factor = q->whole ? 0 : bound_of(terms, q->precision);
    if (!q->whole && factor == 0) return;
    bool rounds = tl_in_16_bits(q->precision) && strcmp(name, "C") != 0;
    bool rounds_sum = rounds && strcmp(name, "dx") == 0;
    for (size_t i = 0; i < count; i++) {
        double part = want[i], sum = before ? before[i] : 0;
        scale[i] = factor * (scale[i] + fabs(sum));
        if (rounds) want[i] = rounded(part, q->whole, q->precision, &scale[i]);
        want[i] += sum;
        if (rounds_sum) want[i] = rounded(want[i], q->whole, q->precision, &scale[i]);
    }
    question_expect_within(q, name, at, want, scale, count);
}

/* Element `at`; of sums of metrics 0 is the loss, 1 the hits, 2 the count. */
static double number_at(bench_element element, const void *array, size_t at) {
    const tl_metric_sums *sums = array;
    if (element == BENCH_REAL) return (double)((const tl_real *)array)[at];
    if (element == BENCH_INT32) return ((const int32_t *)array)[at];
    if (element == BENCH_BYTE) return ((const uint8_t *)array)[at];
    return at == 0 ? sums->loss : (double)(at == 1 ? sums->hits : sums->count);
}

/* The first element that is wrong, and how many are. */
static void compare(const question *q, const expectation *e, const void *after,
                    char wrong[WRONG_TEXT], double *worst) {
    bench_element element = q->b->array[index_of(q, e->name)].element;
    size_t bad = 0;
    for (size_t i = 0; i < e->count; i++) {
        size_t at = e->at + i;
        double got = number_at(element, after, at);
        double allowed = e->bound ? e->bound[i] : 0, error = fabs(got - e->want[i]);
        if (allowed > 0 && error / allowed > *worst) *worst = error / allowed;
        if (error <= allowed) continue; /* not of NaN */
        if (bad++ == 0)
            snprintf(wrong, WRONG_TEXT, "%s[%zu] is %.9g, expected %.9g, allowed %.2g off; of %s",
                     e->name, at, got, e->want[i], allowed,
                     q->whole ? "whole numbers, whose sums are exact" : "numbers from -1 to 1");
    }
    if (bad > 1) {
        size_t used = strlen(wrong);
        snprintf(wrong + used, WRONG_TEXT - used, "; %zu of %zu are wrong", bad, e->count);
    }
}

tl_status question_ask(const question *q, const bench *b, bool stored, char wrong[WRONG_TEXT],
                       double *worst) {
    const tl_backend *ops = b->ctx->ops;
    wrong[0] = '\0';
    TL_TRY(question_put(q, b, stored));
    TL_TRY(b->row[0].run(b->ctx, b->row[0].argument));
    TL_TRY(ops->sync(b->ctx));
    for (int i = 0; i < q->expected && !wrong[0]; i++) {
        const bench_array *a = &b->array[index_of(q, q->expects[i].name)];
        void *after = malloc(a->bytes);
        TL_NEED(after, TL_ENOMEM, "no memory for %zu bytes", a->bytes);
        tl_status status = ops->copy_out(b->ctx, after, a->block, a->bytes);
        if (status == TL_OK) compare(q, &q->expects[i], after, wrong, worst);
        free(after);
        TL_TRY(status);
    }
    return TL_OK;
}
