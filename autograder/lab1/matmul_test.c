/* matmul_test.c: the student's own matrix product. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/product.h"

CLAIM(lab1_matmul, own_product_matches_definition) {
    expect_products(c, "matmul", call_matmul, 0, 0, 0);
}
CLAIM(lab1_matmul, own_product_reads_transposed_operands) {
    expect_products(c, "matmul", call_matmul, 1, 0, 0);
    expect_products(c, "matmul", call_matmul, 0, 1, 0);
    expect_products(c, "matmul", call_matmul, 1, 1, 0);
}
CLAIM(lab1_matmul, own_product_accumulates) {
    expect_products(c, "matmul", call_matmul, 0, 0, 1);
    expect_products(c, "matmul", call_matmul, 1, 1, 1);
}

static void multiply_small(claim *c, const call_target *t, int which) {
    (void)which;
    expect_small_product(c, t, "matmul", call_matmul);
}

CLAIM_NO_TWO_THREADS_MEET(lab1_matmul, multiply_small, 1)
