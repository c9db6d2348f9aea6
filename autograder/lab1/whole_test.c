/* whole_test.c: all of lab 1 in one chain, each step fed with what the one before returned. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/expect.h"

enum { M = 5, K = 7, N = 3 };

static tl_real *draw_whole(claim *c, size_t n) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -3, 3);
    return x;
}

/* What the chain must give; whole numbers this small are exact in float, in any order. */
typedef struct chain {
    double product[M * N], twice[M * N], by_column[N], total, largest[M];
    int32_t where[M];
} chain;

static chain define(claim *c, const tl_real *a, const tl_real *b, const tl_real *x) {
    chain d;
    double sum[M * K];
    for (int i = 0; i < M * K; i++) sum[i] = (double)a[i] + (double)b[i] * (double)b[i];
    const tl_matmul_geom g = {.m = M, .n = N, .k = K};
    oracle_matmul(d.product, NULL, sum, widen(c, x, K * N), &g);
    for (int i = 0; i < M * N; i++) d.twice[i] = 2 * d.product[i];
    oracle_sum_rows(d.by_column, NULL, d.product, M, N);
    d.total = oracle_sum(d.by_column, N, 1, NULL);
    for (int i = 0; i < M; i++) {
        d.where[i] = oracle_argmax(d.product + i * N, N);
        d.largest[i] = d.product[i * N + d.where[i]];
    }
    return d;
}

static void expect_product(claim *c, const call_target *t, const chain *want, const tl_real *sum,
                           const tl_real *x, tl_real *product) {
    call_report r;
    const tl_matmul_geom plain = {.m = M, .n = N, .k = K};
    const tl_matmul_geom turned = {.m = M, .n = N, .k = K, .trans_b = 1, .accumulate = 1};
    tl_real x_turned[N * K], twice[M * N];
    call_matmul(t, &r, product, sum, x, &plain);
    expect_ok(c, &r);
    expect_equal(c, "C = (a + b*b) x", product, want->product, SHAPE(M, N));
    call_transpose(t, &r, x_turned, x, K, N);
    expect_ok(c, &r);
    for (int i = 0; i < M * N; i++) twice[i] = product[i];
    call_gemm(t, &r, twice, sum, x_turned, &turned);
    expect_ok(c, &r);
    expect_equal(c, "C + (a + b*b) (x transposed) transposed", twice, want->twice, SHAPE(M, N));
}

static void expect_reductions(claim *c, const call_target *t, const chain *want,
                              const tl_real *product) {
    call_report r;
    tl_real by_column[N], total, largest[M];
    int32_t where[M];
    call_sum_rows(t, &r, by_column, product, M, N);
    expect_ok(c, &r);
    expect_equal(c, "sums of columns", by_column, want->by_column, SHAPE(N));
    call_sum(t, &r, &total, by_column, N);
    expect_ok(c, &r);
    expect_equal(c, "sum of all", &total, &want->total, SHAPE(1));
    call_max_cols(t, &r, largest, product, M, N);
    expect_ok(c, &r);
    expect_equal(c, "largest of each row", largest, want->largest, SHAPE(M));
    call_argmax_cols(t, &r, where, product, M, N);
    expect_ok(c, &r);
    expect_ints(c, "its place", where, want->where, SHAPE(M));
}

CLAIM(lab1_whole, all_tasks_work_together) {
    call_report r;
    FOR_TARGETS (t)
        for (int round = 0; round < 3; round++) {
            const int shape[2] = {M, K};
            tl_real *a = draw_whole(c, M * K), *b = draw_whole(c, M * K);
            tl_real *x = draw_whole(c, K * N), *sum = reals(c, M * K), *product = reals(c, M * N);
            chain want = define(c, a, b, x);
            claim_case(c, t, "a chain of all operations of lab 1 on [%d,%d] and [%d,%d]", M, K, K,
                       N);
            call_tensor_copy(t, &r, sum, a, 2, shape);
            expect_ok(c, &r);
            call_mul_add(t, &r, sum, b, b, M * K);
            expect_ok(c, &r);
            expect_product(c, t, &want, sum, x, product);
            expect_reductions(c, t, &want, product);
        }
}
