/* product.c: matrix products against their definition (product.h). */
#include "product.h"

#include <math.h>
#include <string.h>

#include "autograder/oracle/oracle.h"
#include "bound.h"
#include "expect.h"
#include "device_claims.h"
#include "verdict.h"

/* m, n, k: vectors, sizes off every tile, more rows than columns and the reverse, and both kinds of
 * bound; the last two are judged in the double build alone. */
static const int sizes[][3] = {{3, 4, 5},    {1, 1, 1},    {1, 5, 3},     {7, 1, 9},
                               {1, 1, 100},  {3, 4, 1},    {17, 33, 65},  {64, 64, 64},
                               {65, 63, 31}, {5, 130, 70}, {130, 6, 40},  {33, 20, 300},
                               {8, 9, 1000}, {31, 65, 20}, {9, 70, 1500}, {2, 3, 4097},
                               {270, 3, 5},  {3, 270, 5}, /* many tiles for each block */
                               {7, 5, 64}}; /* k alone is a multiple of steps and slices */

/* Does the same call give the same numbers again? If not, something that it was not given is in
 * them. */
static void tell_again(claim *c, const call_target *t, product_call call, const tl_real *C,
                       const tl_real *C0, const tl_real *A, const tl_real *B,
                       const tl_matmul_geom *g) {
    call_report r;
    size_t n = (size_t)g->m * (size_t)g->n;
    tl_real *again = copy_reals(c, C0, n);
    call(t, &r, again, A, B, g);
    expect_ok(c, &r);
    if (memcmp(again, C, n * sizeof *C) != 0) finding_pattern_of_case(c, "other_again");
}

/* Has C the products of the last slice of k alone, for slices of some length? */
static bool has_last_slice(const tl_real *C, const tl_real *C0, const double *A, const double *B,
                           const double *bound, const tl_matmul_geom *g, int slice) {
    int first = (g->k - 1) / slice * slice;
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    for (size_t at = 0; at < m * n; at++) {
        size_t i = at / n, j = at % n;
        double sum = g->accumulate ? C0[at] : 0;
        for (size_t p = (size_t)first; p < k; p++)
            sum += A[g->trans_a ? p * m + i : i * k + p] * B[g->trans_b ? j * k + p : p * n + j];
        if (!(fabs(C[at] - sum) <= 4 * bound[at])) return false;
    }
    return first > 0;
}

static void tell_slices(claim *c, const tl_real *C, const tl_real *C0, const double *A,
                        const double *B, const double *bound, const tl_matmul_geom *g) {
    for (int slice = 2; slice < g->k; slice *= 2)
        if (has_last_slice(C, C0, A, B, bound, g, slice)) {
            finding_pattern_of_case(c, "last_slice_alone");
            return;
        }
}

/* A new case, in words: its sizes, what is stored transposed, and whether C is added to. */
static void begin_product(claim *c, const call_target *t, const char *name,
                          const tl_matmul_geom *g) {
    claim_case(c, t, "%s C[%d,%d] %s A%s B%s, k = %d", name, g->m, g->n, g->accumulate ? "+=" : "=",
               g->trans_a ? "(transposed)" : "", g->trans_b ? "(transposed)" : "", g->k);
}

/* C starts as random numbers when it is added to, and poisoned when it is overwritten. */
void expect_product(claim *c, const call_target *t, const char *name, product_call call,
                    const tl_matmul_geom *g) {
    size_t a = (size_t)g->m * (size_t)g->k, b = (size_t)g->k * (size_t)g->n;
    size_t n = (size_t)g->m * (size_t)g->n, terms = (size_t)g->k + (size_t)g->accumulate;
    if (!bound_judges(terms)) return;
    call_report r;
    tl_real *A = draw_reals(c, a), *B = draw_reals(c, b), *C0 = draw_reals(c, n);
    tl_real *C = copy_reals(c, C0, n);
    double *want = doubles(c, n), *scale = doubles(c, n), *coarse = doubles(c, n);
    double *A_wide = widen(c, A, a), *B_wide = widen(c, B, b);
    oracle_matmul(want, scale, A_wide, B_wide, g);
    oracle_matmul(coarse, NULL, coarsen(c, A_wide, a), coarsen(c, B_wide, b), g);
    for (size_t i = 0; g->accumulate && i < n; i++) {
        want[i] += C0[i];
        coarse[i] += C0[i];
        scale[i] += fabs((double)C0[i]);
    }
    begin_product(c, t, name, g);
    claim_trait(c, "transposed_operand", g->trans_a || g->trans_b);
    claim_trait(c, "nonsquare", g->m != g->n || g->n != g->k);
    claim_trait(c, "off_tile", g->m % 16 || g->n % 16 || g->k % 16);
    claim_trait(c, "k_off_slice", g->k % 64);
    claim_trait(c, "large", g->k > 256);
    claim_trait(c, "infinite", false);
    claim_size(c, "k", g->k);
    double *bound = bound_of(c, scale, n, terms);
    call(t, &r, C, A, B, g);
    expect_ok(c, &r);
    expect_added(c, "C", C, g->accumulate ? C0 : NULL, want, bound, SHAPE(g->m, g->n));
    if (c->case_failed && !c->finding->last) tell_again(c, t, call, C, C0, A, B, g);
    if (c->case_failed) tell_slices(c, C, C0, A_wide, B_wide, bound, g);
    expect_sharp(c, coarse, want, bound, n);
}

/* Transposition and accumulation are independent of sizes: each combination meets all of them, and
 * where A alone is transposed rows and columns change places, so that it is long, too. What
 * accumulates does so at every other size, so that a factor kept from the call before shows. */
void expect_products(claim *c, const char *name, product_call call, int trans_a, int trans_b,
                     int accumulate) {
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            bool turned = trans_a && !trans_b;
            const tl_matmul_geom g = {.m = sizes[s][turned],
                                      .n = sizes[s][!turned],
                                      .k = sizes[s][2],
                                      .trans_a = trans_a,
                                      .trans_b = trans_b,
                                      .accumulate = accumulate && s % 2 == 0};
            expect_product(c, t, name, call, &g);
        }
}

/* A row of A and a column of B are infinite, all other elements are 1 to 3: sums are exact. */
void expect_infinite_product(claim *c, const char *name, product_call call) {
    enum { M = 5, N = 6, K = 67, ROW = 2, COLUMN = 1 };
    const tl_matmul_geom g = {.m = M, .n = N, .k = K};
    FOR_TARGETS (t) {
        call_report r;
        tl_real *A = reals(c, M * K), *B = reals(c, K * N), *C = reals(c, M * N);
        double *want = doubles(c, M * N);
        for (int i = 0; i < M * K; i++)
            A[i] = i / K == ROW ? (tl_real)INFINITY : (tl_real)draw_int(c, 1, 3);
        for (int i = 0; i < K * N; i++)
            B[i] = i % N == COLUMN ? (tl_real)INFINITY : (tl_real)draw_int(c, 1, 3);
        oracle_matmul(want, NULL, widen(c, A, M * K), widen(c, B, K * N), &g);
        claim_case(c, t, "%s C[%d,%d] = A B, k = %d, row %d of A and column %d of B infinite", name,
                   M, N, K, ROW, COLUMN);
        claim_trait(c, "infinite", true);
        call(t, &r, C, A, B, &g);
        expect_ok(c, &r);
        expect_equal(c, "C", C, want, SHAPE(M, N));
    }
}

void expect_small_product(claim *c, const call_target *t, const char *name, product_call call) {
    const tl_matmul_geom g = {.m = 19, .n = 35, .k = 37, .accumulate = 1};
    call_target failing = launches_failing(t), recorded = recorded_step(t);
    expect_product(c, &failing, name, call, &g);
    expect_product(c, &recorded, name, call, &g);
}

threads_result product_of_threads(claim *c, const call_target *t, const char *name,
                                  product_call call, int which) {
    static const tl_matmul_geom geometry[PRODUCTS_OF_THREADS] = {
        {.m = 97, .n = 1003, .k = 75}, {.m = 10, .n = 77, .k = 2048, .trans_b = 1}};
    const tl_matmul_geom *g = &geometry[which];
    call_report r;
    tl_real *A = draw_reals(c, (size_t)g->m * (size_t)g->k);
    tl_real *B = draw_reals(c, (size_t)g->k * (size_t)g->n);
    tl_real *C = reals(c, (size_t)g->m * (size_t)g->n);
    begin_product(c, t, name, g);
    call(t, &r, C, A, B, g);
    expect_ok(c, &r);
    return (threads_result){"C", C, SHAPE(g->m, g->n)};
}
