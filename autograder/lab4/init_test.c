/* init_test.c: initial weights by their distribution.
 *
 * Sample moments of n draws lie within six of their own standard deviations but for two seeds in a
 * thousand million: mean sigma/sqrt(n), variance sigma^2 sqrt((k - 1)/n) with kurtosis k. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/verdict.h"
#include "cases.h"
#include "tl/rng.h"

#include <math.h>

static const char *const name[KINDS] = {"he_normal", "he_uniform", "xavier_normal",
                                        "xavier_uniform"};

enum { N = 20000 };

/* Drawn on the host, whatever the device; `worker`: by which of the claim's processes. */
static tl_real *draw_by(int worker, claim *c, size_t n, int which, int in, int out, uint64_t seed,
                        uint32_t stream) {
    call_target own = claim_targets[0], *t = &own;
    call_report r;
    own.worker = worker;
    tl_real *w = reals(c, n);
    claim_case(c, t, "tl_init_%s of [%zu], fan_in %d fan_out %d", name[which], n, in, out);
    call_init(t, &r, w, n, which, in, out, seed, stream);
    expect_ok(c, &r);
    return w;
}
#define draw_weights(...) draw_by(0, __VA_ARGS__)

/* A moment; if it is the first that is off, the pattern says which it was. */
static void expect_moment(claim *c, const char *what, double got, double want, double allowed,
                          const char *pattern) {
    if (c->case_failed) return;
    expect_chance(c, what, got, want, allowed);
    finding_pattern_of_case(c, pattern);
}

CLAIM(lab4_init, moments_are_those_of_the_formula) {
    static const int fans[][2] = {
        {27, 72}, {2048, 256}, {1, 1}, {10, 1000}, {2000000000, 1500000000}};
    for (int which = 0; which < KINDS; which++)
        for (int f = 0; f < 5; f++) {
            int in = fans[f][0], out = fans[f][1];
            bool uniform = which == HE_UNIFORM || which == XAVIER_UNIFORM;
            double variance = 2.0 / (which <= HE_UNIFORM ? in : (double)in + out), n = N;
            double kurtosis = uniform ? 1.8 : 3, mean = 0, second = 0, fourth = 0, lag = 0;
            double unlike = 0;
            tl_real *w = draw_weights(c, N, which, in, out, draw_bits(c), 3);
            for (int i = 0; i < N; i++) {
                double x = w[i] / sqrt(variance);
                unlike += w[i] != w[0];
                mean += x / n;
                second += x * x / n;
                fourth += x * x * x * x / n;
                lag += x * (i ? w[i - 1] / sqrt(variance) : 0) / n;
            }
            expect_moment(c, "share of weights unlike the first", unlike / n, 1, 0.01, "all_alike");
            expect_moment(c, "mean in standard deviations", mean, 0, 6 / sqrt(n), "mean_off");
            expect_moment(c, "variance over its formula", second, 1, 6 * sqrt((kurtosis - 1) / n),
                          "variance_off");
            /* eighth moment 105 (normal), 9 (uniform): the spread of the fourth. Its tail is long:
             * eight standard deviations, which still tell 3 from 1.8. */
            expect_chance(c, "fourth moment", fourth, kurtosis,
                          8 * sqrt(((uniform ? 9 : 105) - kurtosis * kurtosis) / n));
            expect_moment(c, "correlation of neighbours", lag, 0, 6 / sqrt(n), "neighbours_alike");
        }
}

CLAIM(lab4_init, uniform_weights_fill_their_interval) {
    for (int which = HE_UNIFORM; which < KINDS; which += 2) {
        double edge = sqrt(6.0 / (which == HE_UNIFORM ? 50 : 50 + 30)), low = 0, high = 0;
        tl_real *w = draw_weights(c, N, which, 50, 30, draw_bits(c), 0);
        for (int i = 0; i < N; i++) {
            low = fmin(low, w[i]);
            high = fmax(high, w[i]);
        }
        double rounded = edge * (1 + 2 * TL_REAL_ROUNDOFF);
        expect_true(c, -low <= rounded && high <= rounded, "%g to %g leave +-%g", low, high, edge);
        /* 20,000 draws leave the outer thousandth of either side empty once in 10^8 runs */
        expect_true(c, -low > 0.998 * edge && high > 0.998 * edge, "%g to %g do not reach +-%g",
                    low, high, edge);
    }
}

/* Which number a weight draws is the contract (tl/init.h), and that it is rounded once: so it has
 * to be what the number is rounded to, or a neighbour in double of that number, which may have been
 * formed in another order. A uniform weight may be formed of two parts as large as the limit. */
void expect_draws(claim *c, const tl_real *w, int n, int which, double fans, uint64_t seed,
                  uint32_t stream) {
    double *want = doubles(c, (size_t)n);
    bool uniform = which == HE_UNIFORM || which == XAVIER_UNIFORM;
    for (int i = 0; i < n; i++) {
        double z[2], limit = sqrt(6 / fans);
        tl_rng_normal_pair(seed, stream, (uint64_t)i / 2, z);
        double x = uniform ? limit * (2 * tl_rng_uniform(seed, stream, (uint64_t)i) - 1)
                           : sqrt(2 / fans) * z[i % 2];
        double near = 2 * bound_double(4) * (uniform ? limit : fabs(x));
        bool once = (tl_real)(x - near) <= w[i] && w[i] <= (tl_real)(x + near);
        want[i] = once ? w[i] : (tl_real)x;
    }
    expect_equal(c, "weights", w, want, SHAPE(n));
}

void expect_weights(claim *c, int which, int n, int in, int out, uint64_t seed, uint32_t stream) {
    const double fans = which <= HE_UNIFORM ? in : (double)in + out;
    tl_real *w = draw_weights(c, (size_t)n, which, in, out, seed, stream);
    expect_draws(c, w, n, which, fans, seed, stream);
}

CLAIM(lab4_init, seed_and_stream_decide) {
    for (int which = 0; which < KINDS; which++) {
        uint64_t seed = draw_bits(c);
        tl_real *w = draw_weights(c, 1000, which, 9, 5, seed, 4);
        tl_real *same = draw_by(1, c, 1000, which, 9, 5, seed, 4);
        tl_real *stream = draw_weights(c, 1000, which, 9, 5, seed, 5);
        tl_real *other = draw_weights(c, 1000, which, 9, 5, seed + 1, 4);
        expect_same_bits(c, "equal seed and stream", same, w, SHAPE(1000));
        int hits = 0;
        for (int i = 0; i < 1000; i++) hits += w[i] == stream[i] || w[i] == other[i];
        expect_true(c, hits < 3, "%d of 1000 weights do not depend on seed or stream", hits);
        expect_draws(c, other, 1000, which, which <= HE_UNIFORM ? 9 : 9 + 5, seed + 1, 4);
    }
}

/* What nobody wrote is poison still, which the call reports; what was filled with zeros before the
 * draws, or with rubbish, is no draw either: those are never 0, and within nine deviations. */
/* Elements that nobody wrote are poison still, and the call reports them. A draw is not what was
 * there before, either, such as 0, and lies within nine deviations. */
CLAIM(lab4_init, any_number_of_weights_is_filled) {
    const double most = 9 * sqrt(2.0 / 3); /* the variance is 2/3 or 2/6 */
    for (int which = 0; which < KINDS; which++)
        for (size_t n = 1; n <= 9; n++) {
            tl_real *w = draw_weights(c, n, which, 3, 3, c->seed, 0);
            for (size_t i = 0; i < n && !c->unwritten[0]; i++)
                expect_true(c, w[i] != 0 && fabs(w[i]) <= most, "weight %zu of %zu is %g: no draw",
                            i, n, (double)w[i]);
        }
}
