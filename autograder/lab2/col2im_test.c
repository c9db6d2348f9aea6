/* col2im_test.c: columns added back to the pixels they were copied from. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/columns.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

/* Up to R*S terms meet in a pixel, and what was there. */
static size_t terms_of(const tl_conv2d_geom *g) { return (size_t)g->r * (size_t)g->s + 1; }

/* col2im adds: with `old`, dx starts as random numbers, else as zeros. */
static void expect_pixels_of(claim *c, const call_target *t, const tl_conv2d_geom *g, int images,
                             bool old) {
    call_report r;
    size_t share = (size_t)images, of = (size_t)g->n; /* arrays are those of these images */
    size_t n = columns_count(g) / of * share, pixels = tl_conv2d_x_size(g) / of * share;
    tl_real *col = draw_reals(c, n), *before = old ? draw_reals(c, pixels) : reals(c, pixels);
    tl_real *dx = copy_reals(c, before, pixels), *again = copy_reals(c, before, pixels);
    double *want = doubles(c, pixels), *scale = doubles(c, pixels);
    double *rough = doubles(c, pixels), *wide = widen(c, col, n);
    oracle_col2im(want, scale, wide, images, g);
    oracle_col2im(rough, NULL, coarsen(c, wide, n), images, g);
    for (size_t i = 0; i < pixels; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    columns_case(c, t, "col2im", g, images);
    double *bound = bound_of(c, scale, pixels, terms_of(g));
    call_col2im(t, &r, dx, col, images, g);
    expect_ok(c, &r);
    expect_added(c, "dx", dx, before, want, bound, AXES("nchw", images, g->c, g->h, g->w));
    expect_sharp(c, rough, want, bound, pixels);
    /* threads may come in another order, numbers may not */
    call_target elsewhere = claim_elsewhere(t);
    call_col2im(&elsewhere, &r, again, col, images, g);
    expect_ok(c, &r);
    expect_same_bits(c, "dx", again, dx, AXES("nchw", images, g->c, g->h, g->w));
}

void expect_pixels(claim *c, const call_target *t, const tl_conv2d_geom *g, bool old) {
    expect_pixels_of(c, t, g, g->n, old);
}

static void expect_set(claim *c, column_set set, bool old) {
    FOR_TARGETS (t) FOR_COLUMNS(g, set) expect_pixels(c, t, &g, old);
}

CLAIM(lab2_col2im, columns_return_to_their_pixels) { expect_set(c, columns_apart, false); }
CLAIM(lab2_col2im, overlaps_and_old_gradient_add_up) { expect_set(c, columns_plain, true); }
CLAIM(lab2_col2im, padding_is_dropped) { expect_set(c, columns_padded, false); }
CLAIM(lab2_col2im, stride_and_dilation_find_their_pixels) { expect_set(c, columns_spaced, false); }
/* Those of a chunk, too, which has fewer images than the batch. */
CLAIM(lab2_col2im, every_image_has_its_pixels) {
    FOR_TARGETS (t) {
        FOR_COLUMNS(g, columns_batched)
        expect_pixels(c, t, &g, true);
        FOR_COLUMNS(g, columns_batched)
        expect_pixels_of(c, t, &g, g.n - 1, true);
    }
}

/* <im2col x, y> = <x, col2im y>. Columns are copies, so only col2im's own bound is granted. They
 * are the oracle's: a worker that judges col2im holds no im2col, which would tell it every place.
 */
static void expect_adjoint(claim *c, const call_target *t, const tl_conv2d_geom *g) {
    call_report r;
    size_t n = columns_count(g), pixels = tl_conv2d_x_size(g);
    tl_real *x = draw_reals(c, pixels), *y = draw_reals(c, n);
    tl_real *dx = reals(c, pixels);
    double *scale = doubles(c, pixels), *sums = doubles(c, pixels), *col = doubles(c, n);
    oracle_col2im(sums, scale, widen(c, y, n), g->n, g);
    oracle_im2col(col, widen(c, x, pixels), g->n, g);
    conv2d_case(c, t, "col2im", g);
    call_col2im(t, &r, dx, y, g->n, g);
    expect_ok(c, &r);
    double left = 0, right = 0, absolute = 0, bound = 0;
    for (size_t i = 0; i < n; i++) {
        left += col[i] * (double)y[i];
        absolute += fabs(col[i] * (double)y[i]);
    }
    for (size_t i = 0; i < pixels; i++) {
        right += (double)x[i] * (double)dx[i];
        bound += fabs((double)x[i]) * scale[i] * bound_factor(terms_of(g));
    }
    expect_number(c, "<im2col x, y> - <x, col2im y>", left - right, 0,
                  bound + 2 * bound_double(n) * absolute);
    if (sizeof(tl_real) == sizeof(double) && fabs(left - right) <= 0x1p-21 * absolute)
        finding_pattern_of_case(c, "float_digits");
}

CLAIM(lab2_col2im, col2im_is_the_adjoint_of_im2col) {
    FOR_TARGETS (t) {
        FOR_COLUMNS(g, columns_plain)
        expect_adjoint(c, t, &g);
        FOR_COLUMNS(g, columns_batched)
        expect_adjoint(c, t, &g);
    }
}

static void convert(claim *c, const call_target *t, int op, int images) {
    (void)op;
    tl_conv2d_geom g = columns_with_images(c, images);
    expect_pixels(c, t, &g, true);
}

static void convert_small(claim *c, const call_target *t, int which) {
    tl_conv2d_geom g = columns_geometry(c, &columns_batched.shape[which]);
    expect_pixels(c, t, &g, true);
}

/* Work for several threads; in the second every output sees nearly all of the image, so that
 * threads that share columns or taps, and not pixels, meet for as long as they run. */
static threads_result convert_threaded(claim *c, const call_target *t, int which) {
    static const tl_conv2d_geom shapes[] = {
        {3, 5, 21, 20, 1, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},
        {1, 1, 24, 24, 1, 23, 23, 1, 1, 11, 11, 1, 1, 0, 0},
    };
    call_report r;
    tl_conv2d_geom g = columns_geometry(c, &shapes[which]);
    tl_real *dx = reals(c, tl_conv2d_x_size(&g));
    conv2d_case(c, t, "col2im", &g);
    call_col2im(t, &r, dx, draw_reals(c, columns_count(&g)), g.n, &g);
    expect_ok(c, &r);
    return (threads_result){"dx", dx, AXES("nchw", g.n, g.c, g.h, g.w)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab2_col2im, convert_threaded, 2)
CLAIM_LAUNCHES_DO_NOT_GROW(lab2_col2im, convert, 1)
CLAIM_NOTHING_WAITS(lab2_col2im, convert, 1, WARM)
CLAIM_NO_TWO_THREADS_MEET(lab2_col2im, convert_small, 3)
