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
    FOR_TARGETS (t) expect_small_product(c, t, "gemm", call_gemm); /* which is made to fail, too */
}

static threads_result multiply(claim *c, const call_target *t, int which) {
    return product_of_threads(c, t, "gemm", call_gemm, which);
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab1_gemm, multiply, PRODUCTS_OF_THREADS)
