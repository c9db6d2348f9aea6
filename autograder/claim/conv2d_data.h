/* conv2d_data.h: what the claims about convolution share: one geometry with its inputs, and its
 * three gradients as one kind of thing. */
#ifndef TESTS_CONV2D_DATA_H
#define TESTS_CONV2D_DATA_H

#include "autograder/call/call_ops.h"
#include "claim.h"
#include "conv2d_shapes.h"
#include "expect.h"

/* Everything one geometry needs, drawn; _d are the same numbers for the oracle. */
typedef struct conv2d_data {
    tl_conv2d_geom g;
    size_t xs, ws, ys, ks;
    tl_real *x, *w, *b, *dy;
    double *x_d, *w_d, *b_d, *dy_d;
} conv2d_data;

conv2d_data conv2d_draw(claim *c, const tl_conv2d_geom *g);
/* The same inputs with fewer digits: what a TF32 product would have seen. */
conv2d_data conv2d_coarse(claim *c, const conv2d_data *d);

/* Each geometry with all columns at once and, if it has several images, with one or two at a time.
 */
#define FOR_CONV2D_CASES(t, d)                                                                     \
    FOR_TARGETS (t0_)                                                                              \
        for (int s_ = 0; s_ < 2 * CONV2D_SHAPES; s_++)                                             \
            for (call_target where_ = *t0_, *t = &where_; t; t = NULL)                             \
                for (conv2d_data d = conv2d_case_data(c, t, s_); d.xs; d.xs = 0)

/* Case s of that loop; d.xs is 0 if there is none. */
conv2d_data conv2d_case_data(claim *c, call_target *t, int s);

/* The three gradients have one shape of test: which call, which definition, over how many terms. */
typedef enum gradient { OF_INPUT, OF_WEIGHT, OF_BIAS, GRADIENTS } gradient;
extern const char *const gradient_name[];

size_t gradient_size(const conv2d_data *d, gradient of);
size_t gradient_terms(const conv2d_data *d, gradient of);
expect_shape gradient_shape(const conv2d_data *d, gradient of);
/* By definition, in double; scale may be NULL. */
void gradient_define(double *grad, double *scale, const conv2d_data *d, gradient of);
/* Adds to grad what the judged code computes. */
void gradient_call(claim *c, const call_target *t, tl_real *grad, const conv2d_data *d,
                   gradient of);

/* Forward, with or without bias, against the definition. */
void expect_conv2d_forward(claim *c, const call_target *t, const conv2d_data *d, bool bias);
/* One gradient, added to random numbers, against the definition. */
void expect_conv2d_gradient(claim *c, const call_target *t, const conv2d_data *d, gradient of);

#endif
