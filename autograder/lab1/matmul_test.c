/* matmul_test.c: the student's own matrix product. */
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

/* Small, for the checked build of hostcuda, which names every pair of threads that meet in an
 * element without a barrier, and every read of what nobody wrote; a right result proves neither. */
CLAIM(lab1_matmul, no_two_threads_meet) { expect_small_product(c, "matmul", call_matmul); }
