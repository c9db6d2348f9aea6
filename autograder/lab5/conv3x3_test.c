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

/* One thing more each: channels, a height that no block fills, and such a width. */
static const tl_conv3x3_geom shapes[] = {
    {1, 1, 1, 8, 32, 0}, {1, 2, 3, 8, 32, 0},  {1, 2, 3, 5, 32, 0}, {1, 2, 3, 8, 7, 0},
    {1, 2, 3, 5, 7, 0},  {2, 3, 5, 9, 33, 0},  {3, 1, 2, 1, 1, 0},  {2, 4, 17, 6, 10, 0},
    {1, 2, 9, 17, 3, 0}, {1, 3, 8, 16, 64, 0}, {1, 25, 3, 4, 1, 0}, {1, 3, 25, 1, 35, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The definition of y, its scale and what coarse inputs make of it: a convolution, or the gradient
 * of the input of one that has as many channels as this has outputs. */
static void define(double *y, double *scale, const double *x, const double *w,
                   const tl_conv3x3_geom *g) {
    int c = g->transposed ? g->k : g->c, k = g->transposed ? g->c : g->k;
    tl_conv2d_geom full = {g->n, c, g->h, g->w, k, 3, 3, 1, 1, 1, 1, 1, 1, g->h, g->w};
    if (g->transposed)
        oracle_conv2d_bwd_input(y, scale, x, w, &full);
    else
        oracle_conv2d_fwd(y, scale, x, w, NULL, &full);
}

static void expect_convolution(claim *c, const call_target *t, const tl_conv3x3_geom *g) {
    size_t pixels = (size_t)g->n * (size_t)g->h * (size_t)g->w, terms = (size_t)g->c * 9;
    size_t xs = pixels * (size_t)g->c, ys = pixels * (size_t)g->k, ws = terms * (size_t)g->k;
    tl_real *x = draw_reals(c, xs), *w = draw_reals(c, ws), *y = reals(c, ys);
    double *x_d = widen(c, x, xs), *w_d = widen(c, w, ws);
    double *want = doubles(c, ys), *scale = doubles(c, ys), *rough = doubles(c, ys);
    define(want, scale, x_d, w_d, g);
    define(rough, doubles(c, ys), coarsen(c, x_d, xs), coarsen(c, w_d, ws), g);
    claim_case(c, t, "conv3x3 x[%d,%d,%d,%d] to %d channels%s", g->n, g->c, g->h, g->w, g->k,
               g->transposed ? ", transposed" : "");
    claim_trait(c, "channels", g->c > 1 && g->k > 1); /* else c*K + k is k*C + c */
    claim_trait(c, "width_off_32", g->w % 32 != 0);
    claim_trait(c, "height_off_8", g->h % 8 != 0);
    call_report r;
    call_conv3x3(t, &r, y, x, w, g);
    if (strcmp(t->device, "cpu") == 0) { /* not on the cpu, and it says so */
        expect_status(c, &r, TL_ENOTIMPL);
        return;
    }
    expect_ok(c, &r);
    double *bound = bound_of(c, scale, ys, terms);
    expect_close(c, "y", y, want, bound, AXES("nkhw", g->n, g->k, g->h, g->w));
    expect_sharp(c, rough, want, bound, ys);
}

static void expect_sectors(claim *c, const call_target *t, int64_t allowed) {
    char known[60];
    snprintf(known, sizeof known, "the given kernel has %d", (int)TL_CONV3X3_GIVEN);
    expect_cost(c, t,
                &(cost){.which = CALL_SECTORS,
                        .what = "sectors of global memory",
                        .allowed = allowed,
                        .least = TL_CONV3X3_LEAST,
                        .arrays = "x, w and y",
                        .known = known});
}

/* A rung of the ladder: right at the shape that is counted, with no more sectors than that. */
static void expect_rung(claim *c, const call_target *t, int64_t allowed) {
    call_target counted = counting(t);
    expect_convolution(c, &counted, &tl_conv3x3_counted);
    expect_sectors(c, t, allowed);
}

static void refuse_arguments(claim *c, const call_target *t) {
    const tl_conv3x3_geom g = {1, 1, 1, 2, 2, 0};
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

CLAIM(lab5_conv3x3, a_pixel_serves_several_channels) {
    FOR_TARGETS (t) {
        for (int s = 0; s < SHAPES; s++) expect_convolution(c, t, &shapes[s]);
        refuse_arguments(c, t);
        expect_rung(c, t, TL_CONV3X3_RUNG_1);
    }
}

CLAIM(lab5_conv3x3, pixels_come_from_shared_memory) {
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t), recorded = recorded_step(t);
        expect_convolution(c, &failing, &shapes[0]);
        expect_convolution(c, &recorded, &shapes[0]);
        expect_rung(c, t, TL_CONV3X3_RUNG_2);
    }
}

CLAIM(lab5_conv3x3, weights_come_from_shared_memory) {
    FOR_TARGETS (t) expect_rung(c, t, TL_CONV3X3_RUNG_3);
}

/* A kernel that leaves shared memory alone has no conflicts either, and earns nothing by it. */
static void expect_rung_4(claim *c, const call_target *t) {
    expect_rung(c, t, TL_CONV3X3_RUNG_4);
    char sectors[60];
    snprintf(sectors, sizeof sectors, "sectors are %lld of %d", (long long)c->counter[CALL_SECTORS],
             (int)TL_CONV3X3_RUNG_4);
    expect_cost(c, t,
                &(cost){.which = CALL_CONFLICTS,
                        .what = "conflicts of banks",
                        .allowed = TL_CONV3X3_RUNG_4_CONFLICTS,
                        .known = sectors});
}

CLAIM(lab5_conv3x3, sectors_are_near_the_least_without_conflicts) {
    FOR_TARGETS (t) expect_rung_4(c, t);
}

/* Nor has it requests to shared memory: so this rung stands on the one below. */
CLAIM(lab5_conv3x3, a_weight_serves_several_places) {
    FOR_TARGETS (t) {
        expect_rung_4(c, t);
        char known[120];
        snprintf(known, sizeof known,
                 "the given kernel has 0, and %d one with a place a thread; sectors are %lld of %d",
                 (int)TL_CONV3X3_ONE_PLACE, (long long)c->counter[CALL_SECTORS],
                 (int)TL_CONV3X3_RUNG_4);
        expect_cost(c, t,
                    &(cost){.which = CALL_SHARED,
                            .what = "requests to shared memory",
                            .allowed = TL_CONV3X3_RUNG_5_REQUESTS,
                            .known = known});
    }
}

CLAIM(lab5_conv3x3, transposed_weights_give_the_gradient_of_the_input) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            tl_conv3x3_geom g = shapes[s];
            g.transposed = 1;
            expect_convolution(c, t, &g);
        }
}
