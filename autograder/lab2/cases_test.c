/* cases_test.c: a student's own cases of lab 2 (labs/lab2/cases.toml). */
#include "autograder/claim/cases.h"
#include "autograder/claim/conv2d_data.h"
#include "cases.h"

/* The numbers of a case, in the order of lab.toml. */
enum { N, C, H, W, K, R, S, STRIDE_H, STRIDE_W, PAD_H, PAD_W, DIL_H, DIL_W, BIAS, CHUNK };

static tl_conv2d_geom geometry_of(const double number[]) {
    return (tl_conv2d_geom){.n = (int)number[N],
                            .c = (int)number[C],
                            .h = (int)number[H],
                            .w = (int)number[W],
                            .k = (int)number[K],
                            .r = (int)number[R],
                            .s = (int)number[S],
                            .stride_h = (int)number[STRIDE_H],
                            .stride_w = (int)number[STRIDE_W],
                            .pad_h = (int)number[PAD_H],
                            .pad_w = (int)number[PAD_W],
                            .dil_h = (int)number[DIL_H],
                            .dil_w = (int)number[DIL_W]};
}

static tl_status check(const double number[]) {
    tl_conv2d_geom g = geometry_of(number);
    return tl_conv2d_check(&g);
}

static tl_conv2d_geom checked(claim *c, const double number[]) {
    tl_conv2d_geom g = geometry_of(number);
    if (tl_conv2d_check(&g) != TL_OK) claim_fail(c, "a case that was checked: %s", tl_error());
    return g;
}

static void copy_out(claim *c, const call_target *t, const double number[]) {
    tl_conv2d_geom g = checked(c, number);
    expect_columns(c, t, &g);
}

static void add_back(claim *c, const call_target *t, const double number[]) {
    tl_conv2d_geom g = checked(c, number);
    expect_pixels(c, t, &g, true);
}

/* As many images at a time as the case asks for; 0: all. */
static call_target in_chunks(const call_target *t, const tl_conv2d_geom *g, int images) {
    call_target of = *t;
    of.column_bytes =
        (size_t)images * tl_conv2d_col_rows(g) * tl_conv2d_col_cols(g) * sizeof(tl_real);
    return of;
}

static void forward(claim *c, const call_target *t, const double number[]) {
    tl_conv2d_geom g = checked(c, number);
    conv2d_data d = conv2d_draw(c, &g);
    call_target of = in_chunks(t, &g, (int)number[CHUNK]);
    expect_conv2d_forward(c, &of, &d, number[BIAS] != 0);
}

static void backward(claim *c, const call_target *t, const double number[]) {
    tl_conv2d_geom g = checked(c, number);
    conv2d_data d = conv2d_draw(c, &g);
    call_target of = in_chunks(t, &g, (int)number[CHUNK]);
    for (gradient grad = OF_INPUT; grad < GRADIENTS; grad++)
        expect_conv2d_gradient(c, &of, &d, grad);
}

static const case_kind kinds[] = {{"im2col", check, copy_out},
                                  {"col2im", check, add_back},
                                  {"conv2d_fwd", check, forward},
                                  {"conv2d_bwd", check, backward},
                                  {NULL, NULL, NULL}};

CLAIM(lab2_cases, broken_versions_are_noticed) { expect_noticed(c, kinds); }
