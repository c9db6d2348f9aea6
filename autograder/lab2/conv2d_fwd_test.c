/* conv2d_fwd_test.c: convolution forward. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/columns.h"
#include "autograder/claim/conv2d_data.h"
#include "autograder/claim/device_claims.h"

CLAIM(lab2_conv2d_fwd, forward_matches_definition) {
    FOR_CONV2D_CASES(t, d) expect_conv2d_forward(c, t, &d, true);
}

CLAIM(lab2_conv2d_fwd, forward_without_bias_matches_definition) {
    FOR_CONV2D_CASES(t, d) expect_conv2d_forward(c, t, &d, false);
}

/* Scratch left from the first call must not leak into the second, whatever failed in between. */
CLAIM(lab2_conv2d_fwd, second_call_overwrites_output) {
    call_report r;
    FOR_CONV2D_CASES(t, d) {
        tl_real *first = reals(c, d.ys), *y = reals(c, d.ys);
        conv2d_case(c, t, "conv2d_fwd twice", &d.g);
        call_target failing = steps_failing(t);
        call_conv2d_fwd(&failing, &r, first, d.x, d.w, d.b, &d.g);
        expect_ok(c, &r);
        call_conv2d_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
        expect_ok(c, &r);
        expect_same_bits(c, "y", y, first, AXES("nkpq", d.g.n, d.g.k, d.g.p, d.g.q));
    }
}

static threads_result convolve(claim *c, const call_target *t, int which) {
    call_report r;
    tl_conv2d_geom g = conv2d_shape(c, CONV2D_THREADED + which);
    conv2d_data d = conv2d_draw(c, &g);
    tl_real *y = reals(c, d.ys);
    conv2d_case(c, t, "conv2d_fwd", &g);
    call_conv2d_fwd(t, &r, y, d.x, d.w, d.b, &g);
    expect_ok(c, &r);
    return (threads_result){"y", y, AXES("nkpq", g.n, g.k, g.p, g.q)};
}

/* The batch belongs into the grid and into the columns of one matrix product. */
static void convolve_images(claim *c, const call_target *t, int op, int images) {
    (void)op;
    tl_conv2d_geom g = columns_with_images(c, images);
    conv2d_data d = conv2d_draw(c, &g);
    expect_conv2d_forward(c, t, &d, true);
}

static void convolve_small(claim *c, const call_target *t, int which) {
    tl_conv2d_geom g = conv2d_shape(c, which);
    conv2d_data d = conv2d_draw(c, &g);
    expect_conv2d_forward(c, t, &d, true);
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab2_conv2d_fwd, convolve, CONV2D_SHAPES - CONV2D_THREADED)
CLAIM_LAUNCHES_DO_NOT_GROW(lab2_conv2d_fwd, convolve_images, 1)
CLAIM_NOTHING_WAITS(lab2_conv2d_fwd, convolve_images, 1, WARM)
CLAIM_NO_TWO_THREADS_MEET(lab2_conv2d_fwd, convolve_small, 3)
