/* im2col_test.c: receptive fields copied into columns. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/columns.h"
#include "autograder/claim/device_claims.h"
#include "cases.h"

/* Columns are copies: exact. The array arrives as NaN, so that a place left out shows. */
static void expect_columns_of(claim *c, const call_target *t, const tl_conv2d_geom *g, int images) {
    call_report r;
    size_t share = (size_t)images, of = (size_t)g->n; /* arrays are those of these images */
    size_t n = columns_count(g) / of * share, pixels = tl_conv2d_x_size(g) / of * share;
    tl_real *x = draw_reals(c, pixels), *col = reals(c, n);
    double *want = doubles(c, n);
    oracle_im2col(want, widen(c, x, pixels), images, g);
    columns_case(c, t, "im2col", g, images);
    call_im2col(t, &r, col, x, images, g);
    expect_ok(c, &r);
    int rows = (int)tl_conv2d_col_rows(g);
    expect_equal(c, "col", col, want, AXES("rnpq", rows, images, g->p, g->q));
}

void expect_columns(claim *c, const call_target *t, const tl_conv2d_geom *g) {
    expect_columns_of(c, t, g, g->n);
}

static void expect_set(claim *c, column_set set) {
    FOR_TARGETS (t) FOR_COLUMNS(g, set) expect_columns(c, t, &g);
}

CLAIM(lab2_im2col, columns_hold_receptive_fields) { expect_set(c, columns_plain); }
CLAIM(lab2_im2col, padding_becomes_zero) { expect_set(c, columns_padded); }
CLAIM(lab2_im2col, stride_and_dilation_space_the_taps) { expect_set(c, columns_spaced); }
/* Those of a chunk, too, which has fewer images than the batch. */
CLAIM(lab2_im2col, every_image_has_its_columns) {
    FOR_TARGETS (t) {
        FOR_COLUMNS(g, columns_batched)
        expect_columns(c, t, &g);
        FOR_COLUMNS(g, columns_batched)
        expect_columns_of(c, t, &g, g.n - 1);
    }
}

static void convert(claim *c, const call_target *t, int op, int images) {
    (void)op;
    tl_conv2d_geom g = columns_with_images(c, images);
    expect_columns(c, t, &g);
}

static void convert_small(claim *c, const call_target *t, int which) {
    tl_conv2d_geom g = columns_geometry(c, &columns_batched.shape[which]);
    expect_columns(c, t, &g);
}

CLAIM_LAUNCHES_DO_NOT_GROW(lab2_im2col, convert, 1)
CLAIM_NOTHING_WAITS(lab2_im2col, convert, 1, WARM)
CLAIM_NO_TWO_THREADS_MEET(lab2_im2col, convert_small, 3)
