/* gemm_test.c: the matrix product through BLAS or cuBLAS. */
#include "autograder/claim/expect.h"
#include "autograder/claim/product.h"

CLAIM(lab1_gemm, blas_product_matches_definition) {
    expect_products(c, "gemm", call_gemm, 0, 0, 0);
}
CLAIM(lab1_gemm, blas_product_reads_transposed_operands) {
    expect_products(c, "gemm", call_gemm, 1, 0, 0);
    expect_products(c, "gemm", call_gemm, 0, 1, 0);
    expect_products(c, "gemm", call_gemm, 1, 1, 0);
}
CLAIM(lab1_gemm, blas_product_accumulates) {
    expect_products(c, "gemm", call_gemm, 0, 0, 1);
    expect_products(c, "gemm", call_gemm, 1, 1, 1);
}

/* Tiles may depend on sizes, never on who computes them. */
CLAIM(lab1_gemm, bits_do_not_depend_on_threads) {
    static const tl_matmul_geom geometry[] = {{.m = 97, .n = 1003, .k = 75},
                                              {.m = 10, .n = 77, .k = 2048, .trans_b = 1}};
    static const int threads[] = {2, 3, 4, 8};
    call_report r;
    FOR_CPU_ROWS(row)
    for (size_t k = 0; k < 2; k++) {
        const tl_matmul_geom *g = &geometry[k];
        size_t n = (size_t)g->m * (size_t)g->n;
        tl_real *A = draw_reals(c, (size_t)g->m * (size_t)g->k);
        tl_real *B = draw_reals(c, (size_t)g->k * (size_t)g->n);
        tl_real *first = reals(c, n), *again = reals(c, n);
        call_target t = *row;
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
