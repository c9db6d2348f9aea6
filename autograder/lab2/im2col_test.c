/* im2col_test.c: receptive fields copied into columns. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/columns.h"
#include "autograder/claim/launches.h"

/* Columns are copies: exact. The array arrives as NaN, so that a place left out shows. */
static void expect_columns(claim *c, const call_target *t, const tl_conv2d_geom *g) {
    call_report r;
    size_t n = columns_count(g), pixels = tl_conv2d_x_size(g);
    tl_real *x = draw_reals(c, pixels), *col = reals(c, n);
    double *want = doubles(c, n);
    oracle_im2col(want, widen(c, x, pixels), g->n, g);
    conv2d_case(c, t, "im2col", g);
    call_im2col(t, &r, col, x, g->n, g);
    expect_ok(c, &r);
    int rows = (int)tl_conv2d_col_rows(g);
    expect_equal(c, "col", col, want, AXES("rnpq", rows, g->n, g->p, g->q));
}

static void expect_set(claim *c, column_set set) {
    FOR_TARGETS (t) FOR_COLUMNS(g, set) expect_columns(c, t, &g);
}

CLAIM(lab2_im2col, columns_hold_receptive_fields) { expect_set(c, columns_plain); }
CLAIM(lab2_im2col, padding_becomes_zero) { expect_set(c, columns_padded); }
CLAIM(lab2_im2col, stride_and_dilation_space_the_taps) { expect_set(c, columns_spaced); }
CLAIM(lab2_im2col, every_image_has_its_columns) { expect_set(c, columns_batched); }

/* The batch belongs into the grid: a loop over images on the host pays its launches n times. */
CLAIM(lab2_im2col, launches_do_not_grow_with_the_batch) {
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t);
        launches seen = launches_none();
        for (int images = 2; images <= 9; images += 7) {
            tl_conv2d_geom g = columns_with_images(c, images);
            expect_columns(c, &failing, &g);
            expect_launches(c, &seen);
        }
    }
}

/* An operation only queues work. */
CLAIM(lab2_im2col, nothing_waits_for_the_device) {
    FOR_TARGETS (t) {
        tl_conv2d_geom g = columns_with_images(c, 2);
        expect_columns(c, t, &g); /* what is set up once is set up now */
        call_target recorded = launches_recorded(t);
        expect_columns(c, &recorded, &g);
    }
}

/* Small, for the checked build of hostcuda, which names every pair of threads that meet in an
 * element without a barrier, and every read of what nobody wrote; a right result proves neither. */
CLAIM(lab2_im2col, no_two_threads_meet) {
    FOR_TARGETS (t)
        for (int s = 0; s < 3; s++) {
            tl_conv2d_geom g = columns_geometry(c, &columns_batched.shape[s]);
            expect_columns(c, t, &g);
        }
}
