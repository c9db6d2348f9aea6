/* gemm_test.c: the matrix product through BLAS or cuBLAS. */
#include "autograder/claim/device_claims.h"
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

static threads_result multiply(claim *c, const call_target *t, int which) {
    static const tl_matmul_geom geometry[] = {{.m = 97, .n = 1003, .k = 75},
                                              {.m = 10, .n = 77, .k = 2048, .trans_b = 1}};
    const tl_matmul_geom *g = &geometry[which];
    call_report r;
    tl_real *A = draw_reals(c, (size_t)g->m * (size_t)g->k);
    tl_real *B = draw_reals(c, (size_t)g->k * (size_t)g->n);
    tl_real *C = reals(c, (size_t)g->m * (size_t)g->n);
    claim_case(c, t, "gemm C[%d,%d], k = %d", g->m, g->n, g->k);
    call_gemm(t, &r, C, A, B, g);
    expect_ok(c, &r);
    return (threads_result){"C", C, SHAPE(g->m, g->n)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab1_gemm, multiply, 2)
