/* cases_test.c: a student's own cases of lab 3 (labs/lab3/cases.toml). */
#include "autograder/claim/cases.h"

#include <math.h>

#include "cases.h"

/* The numbers of a case, in the order of lab.toml. */
enum { N, C, H, W, R, S, STRIDE_H, STRIDE_W, PAD_H, PAD_W, IN, OUT, BIAS, ROWS, CLASSES, DLOSS };
enum { HW = DLOSS + 1, SIZE, P, LAYER, LOW, HIGH, WITH_NAN };

static tl_status check_range(const double number[]) {
    TL_NEED(number[LOW] <= number[HIGH], TL_EINVAL, "low is %g and high %g: high is below low",
            number[LOW], number[HIGH]);
    return TL_OK;
}

/* x between low and high, one of them NaN if the case asks for that. */
static tl_real *draw_values(claim *c, size_t n, const double number[]) {
    tl_real *x = draw_between(c, n, number[LOW], number[HIGH]);
    if (number[WITH_NAN] != 0) x[draw_int(c, 0, (int)n - 1)] = (tl_real)NAN;
    return x;
}

static tl_pool2d_geom pool_of(const double number[]) {
    return (tl_pool2d_geom){.n = (int)number[N],
                            .c = (int)number[C],
                            .h = (int)number[H],
                            .w = (int)number[W],
                            .r = (int)number[R],
                            .s = (int)number[S],
                            .stride_h = (int)number[STRIDE_H],
                            .stride_w = (int)number[STRIDE_W],
                            .pad_h = (int)number[PAD_H],
                            .pad_w = (int)number[PAD_W]};
}

static tl_status check_pool(const double number[]) {
    tl_pool2d_geom g = pool_of(number);
    TL_TRY(check_range(number));
    return tl_pool2d_check(&g);
}

static void pool(claim *c, const call_target *t, const double number[]) {
    tl_pool2d_geom g = pool_of(number);
    if (tl_pool2d_check(&g) != TL_OK) claim_fail(c, "a case that was checked: %s", tl_error());
    expect_maxpool2d(c, t, &g, draw_values(c, tl_pool2d_x_size(&g), number));
}

static void multiply(claim *c, const call_target *t, const double number[]) {
    const tl_linear_geom g = {(int)number[N], (int)number[IN], (int)number[OUT]};
    expect_linear(c, t, g, number[BIAS] != 0);
}

static void rectify(claim *c, const call_target *t, const double number[]) {
    size_t n = (size_t)number[SIZE];
    expect_relu(c, t, draw_values(c, n, number), n);
}

static void lose(claim *c, const call_target *t, const double number[]) {
    int rows = (int)number[ROWS], classes = (int)number[CLASSES];
    size_t n = (size_t)rows * (size_t)classes;
    expect_softmax_xent(c, t, draw_between(c, n, number[LOW], number[HIGH]), rows, classes,
                        (tl_real)number[DLOSS]);
}

static tl_batchnorm_geom batchnorm_of(const double number[]) {
    return (tl_batchnorm_geom){.n = (int)number[N],
                               .c = (int)number[C],
                               .hw = (int)number[HW],
                               .eps = 1e-5,
                               .momentum = 0.1};
}

static tl_status check_batchnorm(const double number[]) {
    TL_NEED(number[N] * number[HW] >= 2, TL_EINVAL,
            "n * hw is 1: training needs two values in a channel");
    return check_range(number);
}

static void normalise(claim *c, const call_target *t, const double number[]) {
    tl_batchnorm_geom g = batchnorm_of(number);
    expect_batchnorm(c, t, &g, number[LOW], number[HIGH]);
}

static void drop(claim *c, const call_target *t, const double number[]) {
    expect_dropout(c, t, (size_t)number[SIZE], number[P], (uint32_t)number[LAYER]);
}

static const case_kind kinds[] = {{"maxpool2d", check_pool, pool},
                                  {"linear", NULL, multiply},
                                  {"relu", check_range, rectify},
                                  {"softmax_xent", check_range, lose},
                                  {"batchnorm", check_batchnorm, normalise},
                                  {"dropout", NULL, drop},
                                  {NULL, NULL, NULL}};

CLAIM(lab3_cases, broken_versions_are_noticed) { expect_noticed(c, kinds); }
