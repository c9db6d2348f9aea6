/* cases_test.c: a student's own cases of lab 1 (labs/lab1/cases.toml). */
#include "autograder/claim/cases.h"
#include "autograder/claim/product.h"
#include "cases.h"

/* The numbers of a case, in the order of lab.toml: a shape, an index, another shape, and so on. */
enum { SHAPE_A = 0, INDEX = 4, SHAPE_B = 8, SIZE = 12, SAME, ROWS, COLS, LOW, HIGH };
enum { M = HIGH + 1, N, K, TRANS_A, TRANS_B, ACCUMULATE };

/* The sizes of a shape, of which the first 0 ends it; returns how many there are. */
static int shape_of(int dim[4], const double number[]) {
    int ndim = 0;
    for (int i = 0; i < 4; i++) dim[i] = (int)number[i];
    while (ndim < 4 && dim[ndim] != 0) ndim++;
    return ndim;
}

static tl_status check_shape(const char *name, const double number[]) {
    int dim[4], ndim = shape_of(dim, number);
    for (int i = ndim; i < 4; i++)
        TL_NEED(dim[i] == 0, TL_EINVAL, "%c%d is %d, and there is no %c%d", *name, i, dim[i], *name,
                ndim);
    return TL_OK;
}

/* Offsets are compared as doubles, in which whole numbers are exact up to 2^53. */
static tl_status check_offset(const double number[]) {
    int dim[4], ndim = shape_of(dim, number + SHAPE_A);
    double size = 1;
    TL_TRY(check_shape("d", number + SHAPE_A));
    for (int i = 0; i < 4; i++) {
        int at = (int)number[INDEX + i];
        TL_NEED(at < (i < ndim ? dim[i] : 1), TL_EINVAL, "i%d is %d, and d%d is %d", i, at, i,
                dim[i]);
        if (i < ndim) size *= dim[i];
    }
    TL_NEED(size <= 0x1p53, TL_EINVAL, "the tensor has more than 2^53 elements");
    return TL_OK;
}

static void find(claim *c, const call_target *t, const double number[]) {
    int dim[4], index[4], ndim = shape_of(dim, number + SHAPE_A);
    for (int i = 0; i < 4; i++) index[i] = (int)number[INDEX + i];
    expect_offset(c, t, ndim, dim, index);
}

static tl_status check_shapes(const double number[]) {
    TL_TRY(check_shape("d", number + SHAPE_A));
    return check_shape("e", number + SHAPE_B);
}

static void compare(claim *c, const call_target *t, const double number[]) {
    int a[4], b[4];
    int ndim_a = shape_of(a, number + SHAPE_A), ndim_b = shape_of(b, number + SHAPE_B);
    expect_same_shape(c, t, ndim_a, a, ndim_b, b);
}

static void each_alone(claim *c, const call_target *t, const double number[]) {
    expect_elementwise(c, t, (size_t)number[SIZE], (int)number[SAME]);
}

static tl_status check_range(const double number[]) {
    TL_NEED(number[LOW] <= number[HIGH], TL_EINVAL, "low is %g and high %g: high is below low",
            number[LOW], number[HIGH]);
    return TL_OK;
}

static void reduce(claim *c, const call_target *t, const double number[]) {
    int rows = (int)number[ROWS], cols = (int)number[COLS];
    size_t n = (size_t)rows * (size_t)cols;
    expect_all_sums(c, t, rows, cols);
    expect_maxima(c, t, draw_between(c, n, number[LOW], number[HIGH]), rows, cols);
}

static void turn(claim *c, const call_target *t, const double number[]) {
    expect_transposed(c, t, (int)number[ROWS], (int)number[COLS]);
}

static tl_matmul_geom product_of(const double number[]) {
    return (tl_matmul_geom){.m = (int)number[M],
                            .n = (int)number[N],
                            .k = (int)number[K],
                            .trans_a = number[TRANS_A] != 0,
                            .trans_b = number[TRANS_B] != 0,
                            .accumulate = number[ACCUMULATE] != 0};
}

static void multiply(claim *c, const call_target *t, const double number[]) {
    const tl_matmul_geom g = product_of(number);
    expect_product(c, t, "matmul", call_matmul, &g);
}

static void multiply_by_blas(claim *c, const call_target *t, const double number[]) {
    const tl_matmul_geom g = product_of(number);
    expect_product(c, t, "gemm", call_gemm, &g);
}

static const case_kind kinds[] = {{"tensor_offset", check_offset, find},
                                  {"tensor_same_shape", check_shapes, compare},
                                  {"elementwise", NULL, each_alone},
                                  {"reduce", check_range, reduce},
                                  {"transpose", NULL, turn},
                                  {"matmul", NULL, multiply},
                                  {"gemm", NULL, multiply_by_blas},
                                  {NULL, NULL, NULL}};

CLAIM(lab1_cases, broken_versions_are_noticed) { expect_noticed(c, kinds); }
