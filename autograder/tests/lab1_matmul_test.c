/* lab1_matmul_test.c: matrix products (one's own and through BLAS) and transposition. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "bound.h"
#include "expect.h"

typedef void (*product)(call_where, call_report *, tl_real *, const tl_real *, const tl_real *,
                        const tl_matmul_geom *);

/* m, n, k: vectors, sizes off every tile, more rows than columns and the reverse, and both kinds of
 * bound; the last two are judged in the double build alone. */
static const int sizes[][3] = {{1, 1, 1},     {1, 5, 3},    {7, 1, 9},     {1, 1, 100},
                               {3, 4, 1},     {17, 33, 65}, {64, 64, 64},  {65, 63, 31},
                               {5, 130, 70},  {130, 6, 40}, {33, 20, 300}, {8, 9, 1000},
                               {9, 70, 1500}, {2, 3, 4097}};

/* C starts as random numbers when it is added to, and poisoned when it is overwritten. */
static void expect_product(claim *c, const char *name, product call, const call_target *t,
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
    double *bound = bound_of(c, scale, n, terms);
    claim_case(c, t, "%s C[%d,%d] %s A%s B%s, k = %d", name, g->m, g->n, g->accumulate ? "+=" : "=",
               g->trans_a ? "(transposed)" : "", g->trans_b ? "(transposed)" : "", g->k);
    call(t, &r, C, A, B, g);
    expect_ok(c, &r);
    expect_close(c, "C", C, want, bound, SHAPE(g->m, g->n));
    expect_sharp(c, coarse, want, bound, n);
}

/* Transposition and accumulation are independent of sizes: each combination meets all of them. */
static void expect_all_sizes(claim *c, const char *name, product call, int trans_a, int trans_b,
                             int accumulate) {
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const tl_matmul_geom g = {.m = sizes[s][0],
                                      .n = sizes[s][1],
                                      .k = sizes[s][2],
                                      .trans_a = trans_a,
                                      .trans_b = trans_b,
                                      .accumulate = accumulate};
            expect_product(c, name, call, t, &g);
        }
}

CLAIM(lab1_matmul, own_product_matches_definition) {
    expect_all_sizes(c, "matmul", call_matmul, 0, 0, 0);
}
CLAIM(lab1_matmul, own_product_reads_transposed_operands) {
    expect_all_sizes(c, "matmul", call_matmul, 1, 0, 0);
    expect_all_sizes(c, "matmul", call_matmul, 0, 1, 0);
    expect_all_sizes(c, "matmul", call_matmul, 1, 1, 0);
}
CLAIM(lab1_matmul, own_product_accumulates) {
    expect_all_sizes(c, "matmul", call_matmul, 0, 0, 1);
    expect_all_sizes(c, "matmul", call_matmul, 1, 1, 1);
}
CLAIM(lab1_gemm, blas_product_matches_definition) {
    expect_all_sizes(c, "gemm", call_gemm, 0, 0, 0);
}
CLAIM(lab1_gemm, blas_product_reads_transposed_operands) {
    expect_all_sizes(c, "gemm", call_gemm, 1, 0, 0);
    expect_all_sizes(c, "gemm", call_gemm, 0, 1, 0);
    expect_all_sizes(c, "gemm", call_gemm, 1, 1, 0);
}
CLAIM(lab1_gemm, blas_product_accumulates) {
    expect_all_sizes(c, "gemm", call_gemm, 0, 0, 1);
    expect_all_sizes(c, "gemm", call_gemm, 1, 1, 1);
}

/* Tiles may depend on sizes, never on who computes them. */
CLAIM(lab1_gemm, bits_do_not_depend_on_threads) {
    static const tl_matmul_geom geometry[] = {{.m = 97, .n = 1003, .k = 75},
                                              {.m = 10, .n = 77, .k = 2048, .trans_b = 1}};
    static const int threads[] = {2, 3, 4, 8};
    call_report r;
    for (size_t k = 0; k < 2; k++) {
        const tl_matmul_geom *g = &geometry[k];
        size_t n = (size_t)g->m * (size_t)g->n;
        tl_real *A = draw_reals(c, (size_t)g->m * (size_t)g->k);
        tl_real *B = draw_reals(c, (size_t)g->k * (size_t)g->n);
        tl_real *first = reals(c, n), *again = reals(c, n);
        call_target t = claim_targets[2]; /* one thread, all rungs */
        claim_case(c, &t, "gemm C[%d,%d], k = %d", g->m, g->n, g->k);
        call_gemm(&t, &r, first, A, B, g);
        expect_ok(c, &r);
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
            t.threads = threads[i];
            claim_case(c, &t, "gemm C[%d,%d], k = %d", g->m, g->n, g->k);
            call_gemm(&t, &r, again, A, B, g);
            expect_ok(c, &r);
            expect_same_bits(c, "C", again, first, SHAPE(g->m, g->n));
        }
    }
}

/* Copies: exact. Shapes around the usual tile of 32. */
CLAIM(lab1_transpose, rows_become_columns) {
    static const int shapes[][2] = {{1, 1}, {1, 17}, {17, 1}, {3, 5}, {32, 32}, {33, 65}, {130, 7}};
    call_report r;
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            int rows = shapes[s][0], cols = shapes[s][1];
            size_t n = (size_t)rows * (size_t)cols;
            tl_real *x = draw_reals(c, n), *y = reals(c, n);
            double *want = doubles(c, n);
            oracle_transpose(want, widen(c, x, n), rows, cols);
            claim_case(c, t, "transpose of x[%d,%d]", rows, cols);
            call_transpose(t, &r, y, x, rows, cols);
            expect_ok(c, &r);
            expect_equal(c, "y", y, want, SHAPE(cols, rows));
        }
}
