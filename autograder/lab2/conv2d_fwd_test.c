/* conv2d_fwd_test.c: convolution forward. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/columns.h"
#include "autograder/claim/conv2d_data.h"
#include "autograder/claim/launches.h"

CLAIM(lab2_conv2d_fwd, forward_matches_definition) {
    FOR_CONV2D_CASES(t, d) expect_conv2d_forward(c, t, &d, true);
}

CLAIM(lab2_conv2d_fwd, forward_without_bias_matches_definition) {
    FOR_CONV2D_CASES(t, d) expect_conv2d_forward(c, t, &d, false);
}

/* Scratch left from the first call must not leak into the second. */
CLAIM(lab2_conv2d_fwd, second_call_overwrites_output) {
    call_report r;
    FOR_CONV2D_CASES(t, d) {
        tl_real *first = reals(c, d.ys), *y = reals(c, d.ys);
        conv2d_case(c, t, "conv2d_fwd twice", &d.g);
        call_conv2d_fwd(t, &r, first, d.x, d.w, d.b, &d.g);
        expect_ok(c, &r);
        call_conv2d_fwd(t, &r, y, d.x, d.w, d.b, &d.g);
        expect_ok(c, &r);
        expect_same_bits(c, "y", y, first, AXES("nkpq", d.g.n, d.g.k, d.g.p, d.g.q));
    }
}

/* Plain path and rungs, each by itself: one thread gives the bits, more threads must repeat them.
 */
CLAIM(lab2_conv2d_fwd, bits_do_not_depend_on_threads) {
    static const int threads[] = {1, 2, 3, 8};
    call_report r;
    FOR_CPU_ROWS(row)
    for (int s = CONV2D_THREADED; s < CONV2D_SHAPES; s++) {
        tl_conv2d_geom g = conv2d_shape(c, s);
        conv2d_data d = conv2d_draw(c, &g);
        tl_real *first = NULL;
        for (int k = 0; k < 4; k++) {
            call_target t = *row;
            t.threads = threads[k];
            tl_real *y = reals(c, d.ys);
            conv2d_case(c, &t, "conv2d_fwd", &g);
            call_conv2d_fwd(&t, &r, y, d.x, d.w, d.b, &g);
            expect_ok(c, &r);
            if (k == 0) first = y;
            expect_same_bits(c, "y", y, first, AXES("nkpq", g.n, g.k, g.p, g.q));
        }
    }
}

/* The batch belongs into the grid and into the columns of one matrix product. */
CLAIM(lab2_conv2d_fwd, launches_do_not_grow_with_the_batch) {
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t);
        launches seen = launches_none();
        for (int images = 2; images <= 9; images += 7) {
            tl_conv2d_geom g = columns_with_images(c, images);
            conv2d_data d = conv2d_draw(c, &g);
            expect_conv2d_forward(c, &failing, &d, true);
            expect_launches(c, &seen);
        }
    }
}

/* An operation only queues work. */
CLAIM(lab2_conv2d_fwd, nothing_waits_for_the_device) {
    FOR_TARGETS (t) {
        tl_conv2d_geom g = columns_with_images(c, 2);
        conv2d_data d = conv2d_draw(c, &g);
        expect_conv2d_forward(c, t, &d, true); /* what is set up once is set up now */
        call_target recorded = launches_recorded(t);
        expect_conv2d_forward(c, &recorded, &d, true);
    }
}

/* Small, for the checked build of hostcuda, which names every pair of threads that meet in an
 * element without a barrier, and every read of what nobody wrote; a right result proves neither. */
CLAIM(lab2_conv2d_fwd, no_two_threads_meet) {
    FOR_TARGETS (t)
        for (int s = 0; s < 3; s++) {
            tl_conv2d_geom g = conv2d_shape(c, s);
            conv2d_data d = conv2d_draw(c, &g);
            expect_conv2d_forward(c, t, &d, true);
        }
}
