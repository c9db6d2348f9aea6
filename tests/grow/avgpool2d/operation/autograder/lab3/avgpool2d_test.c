/* avgpool2d_test.c: average pooling. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"

/* n, c, h, w, r, s, stride, pad */
static const tl_pool2d_geom shapes[] = {
    {2, 3, 7, 6, 3, 2, 2, 1, 1, 0, 0, 0}, /* nothing is square, windows overlap */
    {2, 2, 5, 9, 2, 3, 3, 2, 1, 2, 0, 0}, /* pad in both directions, stride > window */
    {3, 2, 6, 6, 2, 2, 2, 2, 0, 0, 0, 0}, /* as in the nets */
    {1, 2, 3, 2, 5, 4, 1, 1, 2, 2, 0, 0}, /* a window bigger than the image */
    {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, /* one number */
    {4, 9, 32, 32, 2, 2, 2, 2, 0, 0, 0, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

#define FOR_SHAPES(g)                                                                              \
    for (int s_ = 0; s_ < SHAPES; s_++)                                                            \
        for (tl_pool2d_geom g = checked(c, shapes[s_]); g.n; g.n = 0)

static tl_pool2d_geom checked(claim *c, tl_pool2d_geom g) {
    if (tl_pool2d_check(&g) != TL_OK) claim_fail(c, "geometry: %s", tl_error());
    return g;
}

static void pool_case(claim *c, const call_target *t, const char *op, const tl_pool2d_geom *g) {
    claim_case(c, t, "%s x[%d,%d,%d,%d] window %d,%d stride %d,%d pad %d,%d", op, g->n, g->c, g->h,
               g->w, g->r, g->s, g->stride_h, g->stride_w, g->pad_h, g->pad_w);
    claim_trait(c, "padding", g->pad_h + g->pad_w > 0);
    claim_trait(c, "overlap", g->stride_h < g->r || g->stride_w < g->s);
}

static void expect_forward(claim *c, const call_target *t, const tl_pool2d_geom *g) {
    call_report r;
    size_t n = tl_pool2d_x_size(g), outs = tl_pool2d_y_size(g);
    tl_real *x = draw_reals(c, n), *y = reals(c, outs);
    double *x_d = widen(c, x, n), *want = doubles(c, outs), *scale = doubles(c, outs);
    double *rough = doubles(c, outs);
    oracle_avgpool2d_fwd(want, scale, x_d, g);
    oracle_avgpool2d_fwd(rough, NULL, coarsen(c, x_d, n), g);
    pool_case(c, t, "avgpool2d_fwd", g);
    call_avgpool2d_fwd(t, &r, y, x, g);
    expect_ok(c, &r);
    double *bound = bound_of(c, scale, outs, (size_t)g->r * (size_t)g->s + 1);
    expect_close(c, "y", y, want, bound, AXES("ncpq", g->n, g->c, g->p, g->q));
    expect_sharp(c, rough, want, bound, outs);
}

static void expect_backward(claim *c, const call_target *t, const tl_pool2d_geom *g) {
    call_report r;
    size_t n = tl_pool2d_x_size(g), outs = tl_pool2d_y_size(g);
    tl_real *dy = draw_reals(c, outs), *before = draw_reals(c, n), *dx = copy_reals(c, before, n);
    double *want = doubles(c, n), *scale = doubles(c, n);
    oracle_avgpool2d_bwd(want, scale, widen(c, dy, outs), g);
    for (size_t i = 0; i < n; i++) {
        want[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    double *bound = bound_of(c, scale, n, (size_t)g->r * (size_t)g->s + 2);
    pool_case(c, t, "avgpool2d_bwd", g);
    call_avgpool2d_bwd(t, &r, dx, dy, g);
    expect_ok(c, &r);
    expect_added(c, "dx", dx, before, want, bound, AXES("nchw", g->n, g->c, g->h, g->w));
}

CLAIM(lab3_avgpool2d, forward_takes_the_mean) {
    FOR_TARGETS (t)
        FOR_SHAPES (g) expect_forward(c, t, &g);
}

CLAIM(lab3_avgpool2d, backward_shares_and_accumulates) {
    FOR_TARGETS (t)
        FOR_SHAPES (g) expect_backward(c, t, &g);
}

/* Forward, and backward. */
static void run(claim *c, const call_target *t, int op, int images) {
    tl_pool2d_geom g = checked(c, (tl_pool2d_geom){images, 3, 7, 6, 3, 2, 2, 2, 1, 0, 0, 0});
    if (op == 0)
        expect_forward(c, t, &g);
    else
        expect_backward(c, t, &g);
}
CLAIM_LAUNCHES_DO_NOT_GROW(lab3_avgpool2d, run, 2)
