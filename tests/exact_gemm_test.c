/* exact_gemm_test.c: matrix products of small whole numbers, whose result is exact.
 *
 * As in exact_conv2d_test.c: sums of whole numbers below 2^24 are exact in any order and at any
 * length, so every rung must give them bit for bit. What a tile reads beyond an edge is NaN where
 * hostcuda fills fresh memory, and what it adds of a neighbour is a whole number too many. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/expect.h"
#include "autograder/oracle/oracle.h"

/* Terms are up to MOST * MOST: 2^24 / MOST^2 of them, a million, add up without rounding. */
enum { MOST = 4 };

/* m, n, k: one element; vectors, which are stored alike transposed and not; tails of one in
 * every size; sizes of whole vectors off every tile, and one more; sums of 10,000 terms and
 * more. */
static const int sizes[][3] = {{1, 1, 1},     {1, 2, 10007},  {1, 3, 10000},  {3, 1, 100},
                               {2, 1, 10000}, {33, 17, 1},    {65, 129, 9},   {129, 65, 33},
                               {64, 132, 36}, {132, 64, 20},  {128, 128, 16}, {131, 257, 47},
                               {7, 300, 5},   {300, 7, 1025}, {13, 19, 4099}, {193, 385, 261}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static tl_real *whole_numbers(claim *c, size_t n) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -MOST, MOST);
    return x;
}

static void expect_exact(claim *c, const tl_matmul_geom *g) {
    size_t as = (size_t)g->m * (size_t)g->k, bs = (size_t)g->k * (size_t)g->n;
    size_t n = (size_t)g->m * (size_t)g->n;
    tl_real *A = whole_numbers(c, as), *B = whole_numbers(c, bs), *before = whole_numbers(c, n);
    double *want = doubles(c, n);
    oracle_matmul(want, NULL, widen(c, A, as), widen(c, B, bs), g);
    for (size_t i = 0; g->accumulate && i < n; i++) want[i] += (double)before[i];
    FOR_TARGETS (t) {
        call_report r;
        tl_real *C = copy_reals(c, before, n);
        claim_case(c, t, "gemm of whole numbers C[%d,%d] %s A%s B%s, k = %d", g->m, g->n,
                   g->accumulate ? "+=" : "=", g->trans_a ? "(transposed)" : "",
                   g->trans_b ? "(transposed)" : "", g->k);
        call_gemm(t, &r, C, A, B, g);
        expect_ok(c, &r);
        expect_equal(c, "C", C, want, SHAPE(g->m, g->n));
    }
}

static void expect_all_sizes(claim *c, int trans_a, int trans_b) {
    for (int s = 0; s < SIZES; s++)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            const tl_matmul_geom g = {.m = sizes[s][0],
                                      .n = sizes[s][1],
                                      .k = sizes[s][2],
                                      .trans_a = trans_a,
                                      .trans_b = trans_b,
                                      .accumulate = accumulate};
            expect_exact(c, &g);
        }
}

CLAIM(exact_gemm, product_of_whole_numbers_is_exact) { expect_all_sizes(c, 0, 0); }
CLAIM(exact_gemm, product_with_a_transposed_is_exact) { expect_all_sizes(c, 1, 0); }
CLAIM(exact_gemm, product_with_b_transposed_is_exact) { expect_all_sizes(c, 0, 1); }
CLAIM(exact_gemm, product_of_both_transposed_is_exact) { expect_all_sizes(c, 1, 1); }
