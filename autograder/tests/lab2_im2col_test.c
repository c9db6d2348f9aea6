/* lab2_im2col_test.c: im2col, col2im, and that one is the adjoint of the other. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "bound.h"
#include "conv2d_shapes.h"
#include "expect.h"

#define FOR_SHAPES(g)                                                                              \
    for (int s_ = 0; s_ < CONV2D_SHAPES; s_++)                                                     \
        for (tl_conv2d_geom g = conv2d_shape(c, s_); g.n; g.n = 0)

static size_t column_count(const tl_conv2d_geom *g) {
    return tl_conv2d_col_rows(g) * (size_t)g->n * tl_conv2d_col_cols(g);
}

CLAIM(lab2_im2col, columns_hold_receptive_fields) {
    call_report r;
    FOR_TARGETS (t)
        FOR_SHAPES (g) {
            size_t n = column_count(&g), pixels = tl_conv2d_x_size(&g);
            tl_real *x = draw_reals(c, pixels), *col = reals(c, n);
            double *want = doubles(c, n);
            oracle_im2col(want, widen(c, x, pixels), g.n, &g);
            conv2d_case(c, t, "im2col", &g);
            call_im2col(t, &r, col, x, g.n, &g);
            expect_ok(c, &r);
            int rows = (int)tl_conv2d_col_rows(&g);
            expect_equal(c, "col", col, want, SHAPE(rows, g.n, g.p, g.q));
        }
}

/* dx starts as random numbers: col2im adds to what is there. */
CLAIM(lab2_im2col, col2im_adds_columns_to_their_pixels) {
    call_report r;
    FOR_TARGETS (t)
        FOR_SHAPES (g) {
            size_t n = column_count(&g), pixels = tl_conv2d_x_size(&g);
            tl_real *col = draw_reals(c, n), *dx0 = draw_reals(c, pixels);
            tl_real *dx = copy_reals(c, dx0, pixels);
            double *want = doubles(c, pixels), *scale = doubles(c, pixels);
            double *coarse = doubles(c, pixels), *wide = widen(c, col, n);
            oracle_col2im(want, scale, wide, g.n, &g);
            oracle_col2im(coarse, NULL, coarsen(c, wide, n), g.n, &g);
            for (size_t i = 0; i < pixels; i++) {
                want[i] += dx0[i];
                coarse[i] += dx0[i];
                scale[i] += fabs((double)dx0[i]);
            }
            double *bound = bound_of(c, scale, pixels, (size_t)g.r * (size_t)g.s + 1);
            conv2d_case(c, t, "col2im", &g);
            call_col2im(t, &r, dx, col, g.n, &g);
            expect_ok(c, &r);
            expect_close(c, "dx", dx, want, bound, SHAPE(g.n, g.c, g.h, g.w));
            expect_sharp(c, coarse, want, bound, pixels);
        }
}

/* <im2col x, y> = <x, col2im y>. Columns are copies, so only col2im's own bound is granted. */
CLAIM(lab2_im2col, col2im_is_the_adjoint_of_im2col) {
    call_report r;
    FOR_TARGETS (t)
        FOR_SHAPES (g) {
            size_t n = column_count(&g), pixels = tl_conv2d_x_size(&g);
            tl_real *x = draw_reals(c, pixels), *y = draw_reals(c, n);
            tl_real *col = reals(c, n), *dx = reals(c, pixels);
            double *scale = doubles(c, pixels), *sums = doubles(c, pixels);
            oracle_col2im(sums, scale, widen(c, y, n), g.n, &g);
            conv2d_case(c, t, "im2col, then col2im", &g);
            call_im2col(t, &r, col, x, g.n, &g);
            expect_ok(c, &r);
            call_col2im(t, &r, dx, y, g.n, &g);
            expect_ok(c, &r);
            double left = 0, right = 0, absolute = 0, bound = 0;
            for (size_t i = 0; i < n; i++) {
                left += (double)col[i] * (double)y[i];
                absolute += fabs((double)col[i] * (double)y[i]);
            }
            for (size_t i = 0; i < pixels; i++) {
                right += (double)x[i] * (double)dx[i];
                bound +=
                    fabs((double)x[i]) * scale[i] * bound_factor((size_t)g.r * (size_t)g.s + 1);
            }
            expect_number(c, "<im2col x, y> - <x, col2im y>", left - right, 0,
                          bound + 2 * bound_double(n) * absolute);
        }
}
