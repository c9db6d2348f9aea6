/* rng_test.c: claims about tl/rng.h. All seeds are fixed, so each claim holds or fails for good;
 * the limits of the chi-square statistics lie where a sound generator ends up once in a million
 * tries. */
#include "tl/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* Pearson's statistic of `cells` counts that should be equal. */
static double chi_square(const unsigned *count, int cells) {
    double total = 0, sum = 0;
    for (int i = 0; i < cells; i++) total += count[i];
    double expected = total / cells;
    for (int i = 0; i < cells; i++) sum += (count[i] - expected) * (count[i] - expected);
    return sum / expected;
}

/* The value that chi-square of `cells` cells passes with probability 1e-6 (4.75 sigma), by Wilson
 * and Hilferty's approximation: (chi/k)^(1/3) is nearly normal. */
static double chi_square_limit(int cells) {
    double k = cells - 1, spread = 2 / (9 * k);
    return k * pow(1 - spread + 4.75 * sqrt(spread), 3);
}

static void expect_even(const unsigned *count, int cells, const char *what) {
    double found = chi_square(count, cells), limit = chi_square_limit(cells);
    cr_expect(found <= limit, "%s: chi-square %.1f over %d cells, at most %.1f allowed", what,
              found, cells, limit);
}

/* The published vectors of Random123 (file kat_vectors, lines "philox4x32 10"). */
Test(rng, philox_gives_the_published_vectors) {
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const uint32_t *c = known[i].counter, *k = known[i].key;
        tl_philox r =
            tl_philox_draw((uint64_t)k[1] << 32 | k[0], (uint64_t)c[1] << 32 | c[0], c[2], c[3]);
        for (int word = 0; word < 4; word++)
            cr_expect_eq(r.v[word], known[i].expected[word],
                         "vector %zu, word %d: got %08x, expected %08x", i, word, r.v[word],
                         known[i].expected[word]);
    }
}

Test(rng, permutation_hits_every_number_once) {
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 100, 1000, 10000, 50000, 65536, 65537};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint32_t n = sizes[s];
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            char *seen = calloc(n, 1);
            cr_assert_not_null(seen);
            for (uint32_t i = 0; i < n; i++) {
                uint32_t at = tl_rng_permute(7, epoch, n, i);
                cr_assert_lt(at, n, "n %u, epoch %u: element %u is %u", n, epoch, i, at);
                cr_assert(!seen[at], "n %u, epoch %u: %u occurs twice", n, epoch, at);
                seen[at] = 1;
            }
            free(seen);
        }
    }
}

/* Two random permutations of 1,000 agree in one place on average; ten would be a miracle. */
Test(rng, permutation_changes_with_epoch_and_seed) {
    int same_epoch = 0, same_seed = 0, fixed = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t at = tl_rng_permute(7, 0, 1000, i);
        same_epoch += at == tl_rng_permute(7, 1, 1000, i);
        same_seed += at == tl_rng_permute(8, 0, 1000, i);
        fixed += at == i;
    }
    cr_expect_lt(same_epoch, 10);
    cr_expect_lt(same_seed, 10);
    cr_expect_lt(fixed, 10);
}

Test(rng, permutation_is_even) {
    unsigned place[10] = {0}, order[64] = {0}, used[24];
    for (uint32_t epoch = 0; epoch < 24000; epoch++) {
        place[tl_rng_permute(3, epoch, 10, 4)]++;
        unsigned code = 0;
        for (uint32_t i = 0; i < 3; i++) code = code * 4 + tl_rng_permute(3, epoch, 4, i);
        order[code]++;
    }
    expect_even(place, 10, "where element 4 of 10 goes");
    int orders = 0;
    for (int code = 0; code < 64; code++) {
        if (order[code] == 0) continue;
        cr_assert_lt(orders, 24, "more than 24 orders of 4 elements");
        used[orders++] = order[code];
    }
    cr_assert_eq(orders, 24, "%d of the 24 orders of 4 elements occur", orders);
    expect_even(used, 24, "orders of 4 elements");
}

Test(rng, crops_cover_the_whole_range_evenly) {
    unsigned count[9 * 9 * 2] = {0};
    for (uint32_t position = 0; position < 50000; position++)
        for (uint32_t epoch = 0; epoch < 4; epoch++) {
            tl_crop crop = tl_rng_crop(5, epoch, position, 4);
            cr_assert(crop.dy >= 0 && crop.dy <= 8 && crop.dx >= 0 && crop.dx <= 8);
            cr_assert(crop.flip == 0 || crop.flip == 1);
            count[(crop.dy * 9 + crop.dx) * 2 + crop.flip]++;
        }
    expect_even(count, 9 * 9 * 2, "crops and flips");
}

Test(rng, crop_without_padding_stays_in_place) {
    for (uint32_t position = 0; position < 1000; position++) {
        tl_crop crop = tl_rng_crop(5, 0, position, 0);
        cr_assert(crop.dy == 0 && crop.dx == 0);
    }
}

/* Keeps with p = 1/4 dropped: 0.75 within 5 standard deviations; neighbours, layers and steps are
 * independent, so two of them are kept together 0.5625 of the time. */
Test(rng, keep_rate_is_right_and_draws_are_independent) {
    enum { N = 1000000 };
    const uint32_t quarter = 0x40000000u;
    int kept = 0, neighbours = 0, layers = 0, steps = 0;
    for (uint64_t i = 0; i < N; i++) {
        int keep = tl_rng_keep(9, 100, 1, i, quarter);
        kept += keep;
        neighbours += keep && tl_rng_keep(9, 100, 1, i + 1, quarter);
        layers += keep && tl_rng_keep(9, 100, 2, i, quarter);
        steps += keep && tl_rng_keep(9, 101, 1, i, quarter);
    }
    cr_expect(fabs(kept / (double)N - 0.75) <= 5 * sqrt(0.75 * 0.25 / N), "kept %d of %d", kept, N);
    /* neighbouring pairs overlap, which nearly doubles the variance: 8 instead of 5 */
    double limit = 8 * sqrt(0.5625 * 0.4375 / N);
    cr_expect(fabs(neighbours / (double)N - 0.5625) <= limit, "neighbours: %d", neighbours);
    cr_expect(fabs(layers / (double)N - 0.5625) <= limit, "layers: %d", layers);
    cr_expect(fabs(steps / (double)N - 0.5625) <= limit, "steps: %d", steps);
}

Test(rng, threshold_zero_keeps_everything) {
    for (uint64_t i = 0; i < 10000; i++) cr_assert(tl_rng_keep(9, 3, 0, i, 0));
}

/* The distribution function turns a normal number into a uniform one, which falls evenly in 50
 * cells. */
Test(rng, normal_numbers_are_normal) {
    enum { PAIRS = 200000, CELLS = 50 };
    unsigned count[2][CELLS] = {{0}};
    double sum = 0, squares = 0, products = 0;
    for (uint64_t i = 0; i < PAIRS; i++) {
        double z[2];
        tl_rng_normal_pair(11, 2, i, z);
        for (int k = 0; k < 2; k++) {
            cr_assert(isfinite(z[k]));
            int cell = (int)(0.5 * erfc(-z[k] / sqrt(2)) * CELLS);
            count[k][cell < CELLS ? cell : CELLS - 1]++;
            sum += z[k];
            squares += z[k] * z[k];
        }
        products += z[0] * z[1];
    }
    expect_even(count[0], CELLS, "first of each normal pair");
    expect_even(count[1], CELLS, "second of each normal pair");
    double n = 2.0 * PAIRS;
    cr_expect(fabs(sum / n) <= 5 / sqrt(n), "mean %g", sum / n);
    cr_expect(fabs(squares / n - 1) <= 5 * sqrt(2 / n), "variance %g", squares / n);
    cr_expect(fabs(products / PAIRS) <= 5 / sqrt(PAIRS), "correlation %g", products / PAIRS);
}

Test(rng, uniform_numbers_are_even_and_below_one) {
    enum { N = 500000, CELLS = 100 };
    unsigned count[CELLS] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double u = tl_rng_uniform(11, 2, i);
        cr_assert(u >= 0 && u < 1);
        cr_assert_eq(u * 0x1p53, floor(u * 0x1p53), "more than 53 bits");
        count[(int)(u * CELLS)]++;
    }
    expect_even(count, CELLS, "uniform numbers");
}

/* A draw is named by all of seed, stream and index; and no two purposes share a counter. */
Test(rng, draws_differ_in_every_part_of_their_name) {
    double u = tl_rng_uniform(1, 2, 3);
    cr_expect_eq(u, tl_rng_uniform(1, 2, 3));
    cr_expect_neq(u, tl_rng_uniform(2, 2, 3));
    cr_expect_neq(u, tl_rng_uniform((uint64_t)1 << 32 | 1, 2, 3));
    cr_expect_neq(u, tl_rng_uniform(1, 3, 3));
    cr_expect_neq(u, tl_rng_uniform(1, 2, 4));
    cr_expect_neq(u, tl_rng_uniform(1, 2, (uint64_t)1 << 32 | 3));
    uint32_t first[6] = {0};
    for (uint32_t purpose = TL_DRAW_INIT; purpose <= TL_DRAW_DATA; purpose++) {
        first[purpose] = tl_philox_draw(1, 2, 3, purpose).v[0];
        for (uint32_t other = TL_DRAW_INIT; other < purpose; other++)
            cr_expect_neq(first[purpose], first[other]);
    }
}
