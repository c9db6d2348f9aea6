/* fused_pool_test.c: pool with ReLU, and ReLU's gradient in place, entry by entry (tl/fused.h): the
 * bits of the plain operations. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/expect.h"

#include <math.h>
#include <string.h>

/* n, c, h, w: even and odd sides, one window, planes whose rows end in no window */
static const int shapes[][4] = {{1, 1, 2, 2},  {2, 3, 5, 7},    {1, 2, 4, 9},   {3, 1, 9, 4},
                                {7, 8, 16, 6}, {64, 4, 14, 14}, {2, 2, 3, 300}, {2, 3, 6, 37}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool has_fused(const call_target *t) { return strcmp(t->rungs, "all") == 0; }

static tl_pool2d_geom geometry(const int shape[4]) {
    tl_pool2d_geom g = {.n = shape[0], .c = shape[1], .h = shape[2], .w = shape[3]};
    g.r = g.s = g.stride_h = g.stride_w = 2;
    g.p = g.h / 2, g.q = g.w / 2;
    return g;
}

/* Small whole numbers, so that many are equal and many 0; here and there a NaN or a -0. */
static tl_real *pixels(claim *c, size_t n) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) {
        int draw = draw_int(c, -3, 60);
        x[i] = draw == 60 ? (tl_real)NAN : draw == 59 ? -TL_R(0) : (tl_real)(draw % 3);
    }
    return x;
}

static void judge(claim *c, const call_target *t, const tl_pool2d_geom *g) {
    size_t n = tl_pool2d_x_size(g), m = tl_pool2d_y_size(g);
    size_t planes = (size_t)g->n * (size_t)g->c;
    tl_real *x = pixels(c, n), *dy = draw_reals(c, m), *y = reals(c, m), *dx = reals(c, n);
    tl_real *largest = reals(c, m), *want_y = reals(c, m), *masked = reals(c, m);
    tl_real *want_dx = reals(c, n), *mask = reals(c, m);
    uint8_t *code = claim_memory(c, m, 1);
    int32_t *argmax = ints(c, m);
    expect_shape of_x = AXES("nchw", g->n, g->c, g->h, g->w);
    expect_shape of_y = AXES("nchw", g->n, g->c, g->p, g->q);
    call_report r;
    claim_case(c, t, "x[%d,%d,%d,%d]", g->n, g->c, g->h, g->w);
    call_maxpool2d_fwd(t, &r, largest, argmax, x, g);
    expect_ok(c, &r);
    call_relu_fwd(t, &r, want_y, largest, m);
    expect_ok(c, &r);
    call_relu_bwd(t, &r, masked, dy, want_y, m);
    expect_ok(c, &r);
    call_maxpool2d_bwd(t, &r, want_dx, masked, argmax, g);
    expect_ok(c, &r);

    call_pool_relu_fwd(t, &r, y, code, x, planes, g->h, g->w);
    expect_ok(c, &r);
    expect_same_bits(c, "y", y, want_y, of_y);
    call_pool_relu_bwd(t, &r, dx, dy, code, planes, g->h, g->w);
    expect_ok(c, &r);
    expect_same_bits(c, "dx", dx, want_dx, of_x);
    memcpy(mask, dy, m * sizeof *mask);
    call_relu_mask(t, &r, mask, want_y, m);
    expect_ok(c, &r);
    expect_same_bits(c, "dy", mask, masked, of_y);
    memset(y, 0, m * sizeof *y);
    call_pool_relu_fwd(t, &r, y, NULL, x, planes, g->h, g->w);
    expect_ok(c, &r);
    expect_same_bits(c, "y without codes", y, want_y, of_y);
}

CLAIM(fused_pool, pool_and_relu_have_the_bits_of_the_plain_ones) {
    FOR_TARGETS (t)
        for (int i = 0; has_fused(t) && i < SHAPES; i++) {
            tl_pool2d_geom g = geometry(shapes[i]);
            judge(c, t, &g);
        }
}

CLAIM(fused_pool, planes_without_a_window_are_refused) {
    static const int sides[][2] = {{1, 4}, {4, 1}, {0, 2}};
    FOR_TARGETS (t)
        for (int i = 0; i < 3; i++) {
            tl_real x[4] = {0}, y[4];
            uint8_t code[4] = {0};
            call_report r;
            int h = sides[i][0], w = sides[i][1];
            claim_case(c, t, "planes of %d x %d", h, w);
            call_pool_relu_fwd(t, &r, y, code, x, 1, h, w);
            expect_status(c, &r, has_fused(t) ? TL_EINVAL : TL_ENOTIMPL);
            call_pool_relu_bwd(t, &r, x, y, code, 1, h, w);
            expect_status(c, &r, has_fused(t) ? TL_EINVAL : TL_ENOTIMPL);
        }
}
