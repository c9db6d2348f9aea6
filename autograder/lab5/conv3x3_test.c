/* conv3x3_test.c: a convolution made quick: right, and with little memory traffic, which
 * takes points and gives none (claim/cost.h). */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/cost.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"

#include <stdio.h>
#include <string.h>

static const tl_conv3x3_geom shapes[] = {
    {1, 1, 1, 8, 32},  {1, 2, 3, 5, 7},  {2, 3, 5, 9, 33},  {3, 1, 2, 1, 1},
    {2, 4, 17, 6, 10}, {1, 2, 9, 17, 3}, {1, 3, 8, 16, 64},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void expect_convolution(claim *c, const call_target *t, const tl_conv3x3_geom *g) {
    tl_conv2d_geom full = {g->n, g->c, g->h, g->w, g->k, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0};
    if (tl_conv2d_check(&full) != TL_OK) claim_fail(c, "geometry: %s", tl_error());
    size_t xs = tl_conv2d_x_size(&full), ws = tl_conv2d_w_size(&full), ys = tl_conv2d_y_size(&full);
    tl_real *x = draw_reals(c, xs), *w = draw_reals(c, ws), *y = reals(c, ys);
    double *x_d = widen(c, x, xs), *w_d = widen(c, w, ws);
    double *want = doubles(c, ys), *scale = doubles(c, ys), *rough = doubles(c, ys);
    oracle_conv2d_fwd(want, scale, x_d, w_d, NULL, &full);
    oracle_conv2d_fwd(rough, NULL, coarsen(c, x_d, xs), coarsen(c, w_d, ws), NULL, &full);
    claim_case(c, t, "conv3x3 x[%d,%d,%d,%d] to %d channels", g->n, g->c, g->h, g->w, g->k);
    call_report r;
    call_conv3x3(t, &r, y, x, w, g);
    if (strcmp(t->device, "cpu") == 0) { /* not on the cpu, and it says so */
        expect_status(c, &r, TL_ENOTIMPL);
        return;
    }
    expect_ok(c, &r);
    double *bound = bound_of(c, scale, ys, tl_conv2d_col_rows(&full));
    expect_close(c, "y", y, want, bound, AXES("nkhw", g->n, g->k, g->h, g->w));
    expect_sharp(c, rough, want, bound, ys);
}

/* Sectors that nobody gets around: x and w are read, and y is written. */
static int64_t sectors_at_least(const tl_conv3x3_geom *g) {
    int64_t pixels = (int64_t)g->h * g->w, reals = (int64_t)g->n * (g->c + g->k) * pixels;
    return (reals + (int64_t)g->k * g->c * 9) * (int64_t)sizeof(tl_real) / 32;
}

static void expect_sectors(claim *c, const call_target *t, int64_t allowed) {
    char known[60];
    snprintf(known, sizeof known, "the given kernel has %d", (int)TL_CONV3X3_GIVEN);
    expect_cost(c, t,
                &(cost){.which = CALL_SECTORS,
                        .what = "sectors of global memory",
                        .allowed = allowed,
                        .least = sectors_at_least(&tl_conv3x3_counted),
                        .arrays = "x, w and y",
                        .known = known});
}

static void refuse_arguments(claim *c, const call_target *t) {
    const tl_conv3x3_geom g = {1, 1, 1, 2, 2};
    tl_real x[4] = {0}, w[9] = {0}, y[4];
    if (strcmp(t->device, "cpu") == 0) return;
    for (int k = 0; k < 3; k++) {
        static const char *const name[] = {"y", "x", "w"};
        call_report r;
        claim_case(c, t, "conv3x3, where %s is NULL", name[k]);
        call_conv3x3(t, &r, k == 0 ? NULL : y, k == 1 ? NULL : x, k == 2 ? NULL : w, &g);
        expect_refusal(c, &r);
    }
}

CLAIM(lab5_conv3x3, results_stay_right_with_a_third_of_the_sectors) {
    FOR_TARGETS (t) {
        call_target counted = counting(t);
        for (int s = 0; s < SHAPES; s++) expect_convolution(c, t, &shapes[s]);
        refuse_arguments(c, t);
        expect_convolution(c, &counted, &tl_conv3x3_counted);
        expect_sectors(c, t, TL_CONV3X3_THIRD);
    }
}

CLAIM(lab5_conv3x3, sectors_stay_below_the_limit) {
    FOR_TARGETS (t) {
        call_target counted = counting(t);
        expect_convolution(c, &counted, &tl_conv3x3_counted);
        expect_sectors(c, t, TL_CONV3X3_SECTORS);
    }
}

/* A kernel that leaves shared memory alone has no conflicts either, and earns nothing by it. */
CLAIM(lab5_conv3x3, no_bank_conflicts) {
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t), counted = counting(t);
        expect_convolution(c, &failing, &shapes[0]);
        expect_convolution(c, &counted, &tl_conv3x3_counted);
        expect_sectors(c, t, TL_CONV3X3_THIRD);
        expect_cost(c, t,
                    &(cost){.which = CALL_CONFLICTS,
                            .what = "conflicts of banks",
                            .allowed = TL_CONV3X3_CONFLICTS});
    }
}
