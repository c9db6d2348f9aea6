/* dropout_test.c: inverted dropout by counter-based draws. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/verdict.h"
#include "cases.h"
#include "tl/rng.h"

/* The first that fails is told about, and many numbers show what they share. */
typedef struct drop_case {
    size_t n;
    double p;
    uint32_t layer;
    uint64_t index;
    enum { AS_IT_IS, BESIDE, AT } draw; /* or p is just above one of the draws, or is one */
} drop_case;
static const drop_case cases[] = {{1000, 0.25, 1, 0, AS_IT_IS},
                                  {7, 0.25, 0, 1, AS_IT_IS},
                                  {1, 0.5, 0, 0, AS_IT_IS},
                                  {4099, 0.5, 0, 77, AS_IT_IS},
                                  {257, 0.9, 3, 12, AS_IT_IS},
                                  {64, 0, 0, 5, AS_IT_IS},
                                  {1000, 0.001, 65535, 4000000000, AS_IT_IS},
                                  {1000, 0, 2, 9, BESIDE},
                                  {1000, 0, 3, 10, AT}};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct drop_data {
    tl_dropout_geom g;
    tl_step step;
    uint8_t *keep;
} drop_data;

/* The word that tl_rng_keep compares: the largest threshold that keeps the element. */
static uint32_t word_of(const tl_step *step, uint32_t layer, size_t i) {
    uint32_t word = 0;
    for (uint32_t bit = UINT32_C(1) << 31; bit; bit >>= 1)
        if (tl_rng_keep(step->seed, step->index, layer, i, word | bit)) word |= bit;
    return word;
}

/* A p whose threshold lies less than 128 above the draw of some element, which is dropped then. As
 * floats, which are 256 apart there, the two are equal. */
static double beside_a_draw(claim *c, const tl_step *step, const drop_case *of) {
    for (size_t i = 0; i < of->n; i++) {
        uint32_t word = word_of(step, of->layer, i);
        if (word >> 31 && (word & 0xFF) > 0x80 && word >> 8 < 0xFFFFFF)
            return ((double)(word >> 8) + 1) / (1 << 24);
    }
    claim_fail(c, "no draw of %zu lies just below a number that a float can hold", of->n);
}

/* The p whose threshold is the draw of some element, which is kept then. */
static double at_a_draw(claim *c, const tl_step *step, const drop_case *of) {
    for (size_t i = of->n / 2; i < of->n; i++) {
        uint32_t word = word_of(step, of->layer, i);
        if (word >> 30 == 1) return word / 4294967296.0; /* between a quarter and a half */
    }
    claim_fail(c, "no draw of %zu lies between a quarter and a half", of->n);
}

static drop_data draw_case(claim *c, const call_target *t, const char *op, drop_case of) {
    drop_data d = {.g = {.n = of.n, .p = of.p, .layer = of.layer},
                   .step = {.seed = draw_bits(c), .index = of.index, .epoch = 3, .first = 64}};
    if (of.draw == BESIDE) d.g.p = beside_a_draw(c, &d.step, &of);
    if (of.draw == AT) d.g.p = at_a_draw(c, &d.step, &of);
    d.keep = claim_memory(c, d.g.n, 1);
    oracle_dropout_keep(d.keep, d.g.n, d.g.p, d.g.layer, d.step.seed, d.step.index);
    claim_case(c, t, "%s of [%zu], p %g, layer %u, step %llu", op, d.g.n, d.g.p, d.g.layer,
               (unsigned long long)d.step.index);
    claim_trait(c, "layers", d.g.layer > 0);
    claim_trait(c, "beside_a_draw", of.draw == BESIDE);
    claim_trait(c, "at_a_draw", of.draw == AT);
    return d;
}

/* Is each element what it would be when dropped, or when kept? */
static bool draws_alone(const drop_data *d, const tl_real *got, const tl_real *dropped,
                        const double *kept) {
    for (size_t k = 0; k < d->g.n; k++)
        if (got[k] != (dropped ? dropped[k] : 0) &&
            !(fabs(got[k] - kept[k]) <= 8 * TL_REAL_ROUNDOFF * (1 + fabs(kept[k]))))
            return false;
    return true;
}

/* Are just those elements as they would be when dropped that draws from the epoch's number drop? */
static void tell_draws(claim *c, const drop_data *d, const tl_real *got, const tl_real *dropped,
                       const double *kept) {
    uint8_t *keep = claim_memory(c, d->g.n, 1);
    bool of_epoch = d->g.n >= 50;
    oracle_dropout_keep(keep, d->g.n, d->g.p, d->g.layer, d->step.seed, d->step.epoch);
    for (size_t k = 0; k < d->g.n; k++)
        of_epoch = of_epoch && (got[k] == (dropped ? dropped[k] : 0)) == !keep[k];
    if (of_epoch) finding_pattern_of_case(c, "draws_of_the_epoch");
    bool right = d->g.n > 2000; /* right in the first thousand */
    for (size_t k = 0; right && k < 1000; k++)
        right = (got[k] == (dropped ? dropped[k] : 0)) == !d->keep[k];
    if (right) finding_pattern_of_case(c, "right_to_1000");
    if (draws_alone(d, got, dropped, kept)) finding_pattern_of_case(c, "other_kept");
}

/* What is dropped is 0 and nothing else; what is kept is scaled: one quotient, or a rounded factor
 * and a product. */
static void expect_forward(claim *c, const call_target *t, drop_case of) {
    call_report r;
    drop_data d = draw_case(c, t, "dropout_fwd", of);
    size_t n = d.g.n;
    tl_real *x = draw_reals(c, n), *y = reals(c, n);
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    double *coarse = coarsen(c, widen(c, x, n), n), *kept = doubles(c, n);
    for (size_t k = 0; k < n; k++) {
        kept[k] = x[k] / (1 - d.g.p);
        want[k] = d.keep[k] ? x[k] / (1 - d.g.p) : 0;
        rough[k] = d.keep[k] ? coarse[k] / (1 - d.g.p) : 0;
        scale[k] = fabs(want[k]);
    }
    double *bound = bound_of(c, scale, n, 2);
    call_dropout_fwd(t, &r, y, x, &d.step, &d.g);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, SHAPE((int)n));
    if (c->case_failed) tell_draws(c, &d, y, NULL, kept);
    expect_sharp(c, rough, want, bound, n);
}

CLAIM(lab3_dropout, forward_drops_by_the_draws_and_scales_the_rest) {
    FOR_TARGETS (t)
        for (int i = 0; i < CASES; i++) {
            call_target recorded = queueing(t);
            expect_forward(c, t, cases[i]);
            if (i == 0) expect_forward(c, &recorded, cases[i]);
        }
}

static void expect_backward(claim *c, const call_target *t, drop_case of) {
    call_report r;
    drop_data d = draw_case(c, t, "dropout_bwd", of);
    size_t n = d.g.n;
    tl_real *dy = draw_reals(c, n), *before = draw_reals(c, n), *dx = copy_reals(c, before, n);
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    double *coarse = coarsen(c, widen(c, dy, n), n), *kept = doubles(c, n);
    for (size_t k = 0; k < n; k++) {
        double passed = d.keep[k] ? dy[k] / (1 - d.g.p) : 0;
        want[k] = before[k] + passed;
        kept[k] = before[k] + dy[k] / (1 - d.g.p);
        rough[k] = before[k] + (d.keep[k] ? coarse[k] / (1 - d.g.p) : 0);
        /* where nothing is added, nothing may change */
        scale[k] = d.keep[k] ? fabs((double)before[k]) + fabs(passed) : 0;
    }
    double *bound = bound_of(c, scale, n, 3);
    call_dropout_bwd(t, &r, dx, dy, &d.step, &d.g);
    expect_ok(c, &r);
    expect_added(c, "dx", dx, before, want, bound, SHAPE((int)n));
    if (c->case_failed) tell_draws(c, &d, dx, before, kept);
    expect_sharp(c, rough, want, bound, n);
}

CLAIM(lab3_dropout, backward_makes_the_same_draws_and_accumulates) {
    FOR_TARGETS (t)
        for (int i = 0; i < CASES; i++) {
            call_target failing = launches_failing(t);
            expect_backward(c, &failing, cases[i]);
            call_target recorded = queueing(t);
            if (i == 0) expect_backward(c, &recorded, cases[i]);
        }
}

void expect_dropout(claim *c, const call_target *t, size_t n, double p, uint32_t layer) {
    const drop_case of = {n, p, layer, .index = 5};
    expect_forward(c, t, of);
    expect_backward(c, t, of);
}

/* p is a probability below 1, and there is something to drop. */
static void refuse_arguments(claim *c, const call_target *t) {
    static const double bad[] = {NAN, -0.25, 1, 1.5};
    enum { N = 9 };
    const tl_step step = {.seed = 1};
    tl_dropout_geom g = {.n = N, .p = 0.5};
    tl_real *a = draw_reals(c, N), *b = draw_reals(c, N);
    call_report r;
    for (int k = 0; k < 6; k++) {
        static const char *const name[] = {"y", "x", "step", "dx", "dy", "step"};
        claim_case(c, t, "%s, where %s is NULL", k < 3 ? "dropout_fwd" : "dropout_bwd", name[k]);
        (k < 3 ? call_dropout_fwd : call_dropout_bwd)(
            t, &r, k % 3 == 0 ? NULL : a, k % 3 == 1 ? NULL : b, k % 3 == 2 ? NULL : &step, &g);
        expect_refusal(c, &r);
    }
    for (int k = 0; k < 2 * 4; k++) {
        g.p = bad[k / 2];
        claim_case(c, t, "%s, where p is %g", k % 2 ? "dropout_bwd" : "dropout_fwd", g.p);
        (k % 2 ? call_dropout_bwd : call_dropout_fwd)(t, &r, a, b, &step, &g);
        expect_refusal(c, &r);
    }
}

CLAIM(lab3_dropout, p_of_zero_is_a_copy) {
    call_report r;
    c->copies = true;
    FOR_TARGETS (t) {
        const tl_dropout_geom g = {.n = 333, .p = 0, .layer = 1};
        const tl_step step = {.seed = draw_bits(c), .index = 9};
        tl_real *x = draw_reals(c, g.n), *y = reals(c, g.n);
        claim_case(c, t, "dropout_fwd of [333], p 0");
        call_dropout_fwd(t, &r, y, x, &step, &g);
        expect_ok(c, &r);
        expect_same_bits(c, "y", y, x, SHAPE(333));
        refuse_arguments(c, t);
    }
}

/* 0 is 0, not 0 times infinity. */
CLAIM(lab3_dropout, a_dropped_infinity_is_zero) {
    call_report r;
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t);
        drop_data d = draw_case(c, t, "dropout_fwd of infinities", cases[0]);
        tl_real *x = reals(c, d.g.n), *y = reals(c, d.g.n);
        double *want = doubles(c, d.g.n);
        for (size_t k = 0; k < d.g.n; k++) {
            x[k] = (tl_real)INFINITY;
            want[k] = d.keep[k] ? (double)INFINITY : 0;
        }
        call_dropout_fwd(&failing, &r, y, x, &d.step, &d.g);
        expect_ok(c, &r);
        expect_equal(c, "y", y, want, SHAPE((int)d.g.n));
    }
}
