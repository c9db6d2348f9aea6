/* matmul_test.c: the student's own matrix product. */
#include "autograder/claim/cost.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/product.h"

#include <stdio.h>

#include "tl/matmul.h"

CLAIM(lab1_matmul, own_product_matches_definition) {
    expect_products(c, "matmul", call_matmul, 0, 0, 0);
    expect_infinite_product(c, "matmul", call_matmul);
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

static threads_result multiply(claim *c, const call_target *t, int which) {
    return product_of_threads(c, t, "matmul", call_matmul, which);
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab1_matmul, multiply, PRODUCTS_OF_THREADS)

static void multiply_small(claim *c, const call_target *t, int which) {
    (void)which;
    expect_small_product(c, t, "matmul", call_matmul);
}

CLAIM_NO_TWO_THREADS_MEET(lab1_matmul, multiply_small, 1)

/* A and B are read, and C is written: what nobody gets around. */
static int64_t sectors_at_least(const tl_matmul_geom *g) {
    int64_t m = g->m, n = g->n, k = g->k;
    return (m * k + k * n + m * n) * (int64_t)sizeof(tl_real) / 32;
}

CLAIM(lab1_matmul, elements_are_fetched_few_times) {
    char known[60];
    snprintf(known, sizeof known, "plain tiles of 16 x 16 have %d", (int)TL_MATMUL_PLAIN_TILES);
    FOR_TARGETS (t) {
        call_target counted = counting(t);
        expect_product(c, &counted, "matmul", call_matmul, &tl_matmul_counted);
        expect_cost(c, t,
                    &(cost){.which = CALL_SECTORS,
                            .what = "sectors of global memory",
                            .allowed = TL_MATMUL_SECTORS,
                            .least = sectors_at_least(&tl_matmul_counted),
                            .arrays = "A, B and C",
                            .known = known});
    }
}
