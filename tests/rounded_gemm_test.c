/* rounded_gemm_test.c: matrix products in TF32, bfloat16, half precision and by three of TF32
 * (rounded.h). */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "rounded.h"

#ifndef TL_REAL_DOUBLE

/* Whole numbers up to MOST are exact in every type, and sums of a million products in float. */
enum { MOST = 4 };

/* m, n, k: one element; vectors; whole tiles, slices and vectors, and a bit more; long sums; lines
 * that are no whole vectors, and such that are, off every tile. */
static const int sizes[][3] = {{1, 1, 1},      {3, 1, 100},    {33, 17, 1},    {128, 128, 64},
                               {129, 65, 33},  {132, 260, 36}, {131, 257, 47}, {260, 136, 100},
                               {66, 130, 518}, {5, 7, 4099},   {8, 12, 10004}};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct product {
    tl_matmul_geom g;
    size_t as, bs, cs;
    tl_real *A, *B, *before;
    double *A_wide, *B_wide;
} product;

static product draw(claim *c, int s, int trans_a, int trans_b, bool whole) {
    product d = {.g = {.m = sizes[s][0],
                       .n = sizes[s][1],
                       .k = sizes[s][2],
                       .trans_a = trans_a,
                       .trans_b = trans_b,
                       .accumulate = s % 2}};
    d.as = (size_t)d.g.m * (size_t)d.g.k, d.bs = (size_t)d.g.k * (size_t)d.g.n;
    d.cs = (size_t)d.g.m * (size_t)d.g.n;
    d.A = draw_reals(c, d.as), d.B = draw_reals(c, d.bs), d.before = draw_reals(c, d.cs);
    for (size_t i = 0; whole && i < d.as; i++) d.A[i] = (tl_real)draw_int(c, -MOST, MOST);
    for (size_t i = 0; whole && i < d.bs; i++) d.B[i] = (tl_real)draw_int(c, -MOST, MOST);
    for (size_t i = 0; whole && i < d.cs; i++) d.before[i] = (tl_real)draw_int(c, -MOST, MOST);
    d.A_wide = widen(c, d.A, d.as), d.B_wide = widen(c, d.B, d.bs);
    return d;
}

static void add_before(const product *d, double *want, double *scale) {
    for (size_t i = 0; d->g.accumulate && i < d->cs; i++) {
        want[i] += (double)d->before[i];
        if (scale) scale[i] += fabs((double)d->before[i]);
    }
}

static tl_real *multiply(claim *c, const call_target *t, const product *d) {
    call_report r;
    const tl_matmul_geom *g = &d->g;
    tl_real *C = copy_reals(c, d->before, d->cs);
    claim_case(c, t, "gemm in %s C[%d,%d] %s A%s B%s, k = %d", tl_precision_name(t->precision),
               g->m, g->n, g->accumulate ? "+=" : "=", g->trans_a ? "(transposed)" : "",
               g->trans_b ? "(transposed)" : "", g->k);
    call_gemm(t, &r, C, d->A, d->B, g);
    expect_ok(c, &r);
    return C;
}

static void expect_exact(claim *c, int trans_a, int trans_b) {
    for (int s = 0; s < SIZES; s++) {
        product d = draw(c, s, trans_a, trans_b, true);
        double *want = doubles(c, d.cs);
        oracle_matmul(want, NULL, d.A_wide, d.B_wide, &d.g);
        add_before(&d, want, NULL);
        FOR_ROUNDED_TARGETS(t) {
            tl_real *C = multiply(c, t, &d);
            expect_equal(c, "C", C, want, SHAPE(d.g.m, d.g.n));
        }
    }
}

CLAIM(rounded_gemm, product_of_whole_numbers_is_exact) { expect_exact(c, 0, 0); }
CLAIM(rounded_gemm, product_with_a_transposed_is_exact) { expect_exact(c, 1, 0); }
CLAIM(rounded_gemm, product_with_b_transposed_is_exact) { expect_exact(c, 0, 1); }
CLAIM(rounded_gemm, product_of_both_transposed_is_exact) { expect_exact(c, 1, 1); }

/* ---- numbers between -1 and 1 ---- */

/* What a kernel makes that keeps its sums in `bits` of significand: half precision has 11, bfloat16
 * 8. Tensor cores add 16 terms at a time. */
static double *with_a_coarse_sum(claim *c, const product *d, const double *A, const double *B,
                                 int bits) {
    const tl_matmul_geom *g = &d->g;
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    double *C = doubles(c, d->cs);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++) {
                double a = g->trans_a ? A[l * m + i] : A[i * k + l];
                sum += a * (g->trans_b ? B[j * k + l] : B[l * n + j]);
                if (l % 16 == 15 || l + 1 == k) sum = rounded_to_bits(sum, bits);
            }
            C[i * n + j] = sum;
        }
    add_before(d, C, NULL);
    return C;
}

static bool breaks(const double *coarse, const double *want, const double *bound, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(coarse[i] - want[i]) <= bound[i])) return true;
    return false;
}

/* Kernels that the bound must not let pass: inputs cut off where they should be rounded, and sums
 * in half precision or bfloat16. */
static void expect_judged(claim *c, const product *d, tl_precision p, const double *want,
                          const double *bound, const double *A, const double *B) {
    double *cut_a = rounded_off(c, d->A, d->as, p), *cut_b = rounded_off(c, d->B, d->bs, p);
    double *cut = doubles(c, d->cs);
    oracle_matmul(cut, NULL, cut_a, cut_b, &d->g);
    add_before(d, cut, NULL);
    expect_true(c, breaks(cut, want, bound, d->cs), "inputs that are cut off pass");
    for (int bits = 8; bits <= 11; bits += 3) {
        const double *coarse = with_a_coarse_sum(c, d, A, B, bits);
        expect_true(c, breaks(coarse, want, bound, d->cs), "sums of %d bits pass", bits);
        expect_sharp(c, coarse, want, bound, d->cs);
    }
}

static void expect_within(claim *c, int s, int trans_a, int trans_b) {
    product d = draw(c, s, trans_a, trans_b, false);
    FOR_ROUNDED_TARGETS(t) {
        double u = rounded_unit(t->precision), *scale = doubles(c, d.cs);
        int most = t->precision == TL_TF32X3 ? 128 : 1024; /* terms, of which the bound is sharp */
        double *as_given = doubles(c, d.cs), *want = doubles(c, d.cs);
        double *A = rounded_numbers(c, d.A_wide, d.as, t->precision);
        double *B = rounded_numbers(c, d.B_wide, d.bs, t->precision);
        oracle_matmul(as_given, scale, d.A_wide, d.B_wide, &d.g);
        add_before(&d, as_given, NULL);
        double *wide = doubles(c, d.cs);
        double least = rounded_least(t->precision); /* (of factors up to 1) */
        for (size_t i = 0; i < d.cs; i++)
            wide[i] = (2 * u + u * u) * scale[i] + (double)d.g.k * (2 + least) * least;
        oracle_matmul(want, scale, A, B, &d.g);
        add_before(&d, want, scale);
        double *bound = rounded_bound(c, scale, d.cs, rounded_terms((size_t)d.g.k, t->precision));
        for (size_t i = 0; i < d.cs; i++) wide[i] += bound[i];
        tl_real *C = multiply(c, t, &d);
        expect_close(c, "C", C, want, bound, SHAPE(d.g.m, d.g.n));
        expect_true(
            c, !breaks(widen(c, C, d.cs), as_given, wide, d.cs),
            "a sum is further from that of the numbers as given than 2u + u^2 of its terms");
        if (d.g.k >= 64 && d.g.k <= most && d.g.m * d.g.n >= 1024)
            expect_judged(c, &d, t->precision, want, bound, A, B);
    }
}

CLAIM(rounded_gemm, product_is_a_sum_of_rounded_numbers) {
    for (int s = 0; s < SIZES; s++) expect_within(c, s, s / 2 % 2, s / 4 % 2);
}
#endif
