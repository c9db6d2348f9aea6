/* whole_test.c: a convolution through all of lab 2, forward and backward, in chunks. */
#include "autograder/oracle/oracle.h"
#include "autograder/claim/conv2d_data.h"

/* Whole numbers this small are exact in float, in any order: no bound is needed. */
static void make_whole(claim *c, tl_real *x, double *x_d, size_t n) {
    for (size_t i = 0; i < n; i++) x_d[i] = x[i] = (tl_real)draw_int(c, -2, 2);
}

static conv2d_data draw_whole(claim *c, const tl_conv2d_geom *g) {
    conv2d_data d = conv2d_draw(c, g);
    make_whole(c, d.x, d.x_d, d.xs);
    make_whole(c, d.w, d.w_d, d.ws);
    make_whole(c, d.b, d.b_d, d.ks);
    make_whole(c, d.dy, d.dy_d, d.ys);
    return d;
}

/* Forward and all gradients of one geometry, as a training step calls them. */
static void expect_training_step(claim *c, const call_target *t, conv2d_data *d) {
    call_report r;
    tl_real *y = reals(c, d->ys);
    double *want = doubles(c, d->ys);
    oracle_conv2d_fwd(want, NULL, d->x_d, d->w_d, d->b_d, &d->g);
    conv2d_case(c, t, "conv2d_fwd", &d->g);
    call_conv2d_fwd(t, &r, y, d->x, d->w, d->b, &d->g);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, AXES("nkpq", d->g.n, d->g.k, d->g.p, d->g.q));
    for (gradient of = OF_INPUT; of <= OF_BIAS; of++) {
        size_t n = gradient_size(d, of);
        tl_real *grad = reals(c, n);
        double *grad_want = doubles(c, n);
        gradient_define(grad_want, NULL, d, of);
        gradient_call(c, t, grad, d, of);
        expect_equal(c, gradient_name[of], grad, grad_want, gradient_shape(d, of));
    }
}

CLAIM(lab2_whole, all_tasks_work_together) {
    static const tl_conv2d_geom shapes[] = {
        {5, 3, 9, 8, 4, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},
        {3, 2, 9, 11, 3, 3, 2, 2, 3, 3, 1, 2, 3, 0, 0},
        {2, 1, 4, 3, 2, 2, 2, 1, 1, 4, 5, 1, 1, 0, 0},
    };
    FOR_TARGETS (row)
        for (int s = 0; s < 3; s++)
            for (int images = 0; images <= 2; images++) { /* in a chunk; 0: all of them */
                tl_conv2d_geom g = shapes[s];
                if (tl_conv2d_check(&g) != TL_OK) claim_fail(c, "shape %d: %s", s, tl_error());
                conv2d_data d = draw_whole(c, &g);
                call_target t = *row;
                t.column_bytes = (size_t)images * tl_conv2d_col_rows(&g) * tl_conv2d_col_cols(&g) *
                                 sizeof(tl_real);
                expect_training_step(c, &t, &d);
            }
}
