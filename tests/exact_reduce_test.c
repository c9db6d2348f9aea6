/* exact_reduce_test.c: sums of small whole numbers, whose result is exact, and the gradients of a
 * bias, which are sums as well: what each rung of reduce must give.
 *
 * As in exact_gemm_test.c: sums of whole numbers below 2^24 are exact in any order and at any
 * length. A term that is lost or taken twice, and a sum that lost digits on its way, all show. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/oracle/oracle.h"
#include "tl/device.h"

#include <string.h>

enum { MOST = 4 }; /* up to 2^22 terms add up without rounding */

typedef enum reduction { SUM, SUM_ROWS, SUM_COLS, LINEAR_BIAS, CONV2D_BIAS } reduction;

/* x is [outer, kept, inner]; y[k] is the sum over the others. Planes are [inner / width, width].
 * Around a warp, a block and a vector; fours and none; one long sum, many short ones; and enough
 * terms that they are cut into pieces, by images and by places, with a short last piece. */
typedef struct reduce_case {
    reduction op;
    int outer, kept, inner, width;
} reduce_case;
static const reduce_case cases[] = {
    {SUM, 1, 1, 1, 1},
    {SUM, 1, 1, 31, 31},
    {SUM, 1, 1, 1025, 1025},
    {SUM, 1, 1, 70001, 70001},
    {SUM, 1, 1, 1 << 20, 1 << 20},
    {SUM, 1, 1, 131076, 131076},
    {SUM_COLS, 1, 257, 1, 1},
    {SUM_COLS, 1, 31, 33, 33},
    {SUM_COLS, 1, 5, 40004, 40004},
    {SUM_COLS, 1, 3, 65539, 65539},
    {SUM_COLS, 1, 1100, 6, 6},
    {SUM_ROWS, 1, 70, 1, 1},
    {SUM_ROWS, 33, 31, 1, 1},
    {SUM_ROWS, 4099, 65, 1, 1},
    {SUM_ROWS, 2100, 3, 1, 1},
    {SUM_ROWS, 1030, 1, 1, 1},
    {LINEAR_BIAS, 1, 10, 1, 1},
    {LINEAR_BIAS, 37, 129, 1, 1},
    {LINEAR_BIAS, 5000, 33, 1, 1},
    {LINEAR_BIAS, 900, 1, 1, 1},
    {CONV2D_BIAS, 3, 5, 1, 1},
    {CONV2D_BIAS, 301, 34, 6, 3},
    {CONV2D_BIAS, 1, 9, 35, 7},
    {CONV2D_BIAS, 2, 7, 64, 8},
    {CONV2D_BIAS, 67, 3, 4032, 63},
    {CONV2D_BIAS, 9, 5, 11449, 107},
    {CONV2D_BIAS, 50, 1, 441, 21},
};
enum { CASES = sizeof cases / sizeof *cases };
static const char *const name[] = {"sum", "sum_rows", "sum_cols", "linear_bwd_bias",
                                   "conv2d_bwd_bias"};

static bool adds(const reduce_case *s) { return s->op >= LINEAR_BIAS; }
static size_t size_of(const reduce_case *s) {
    return (size_t)s->outer * (size_t)s->kept * (size_t)s->inner;
}

static tl_conv2d_geom geom_of(const reduce_case *s) {
    tl_conv2d_geom g = {.n = s->outer,
                        .c = 1,
                        .h = s->inner / s->width,
                        .w = s->width,
                        .k = s->kept,
                        .r = 1,
                        .s = 1,
                        .stride_h = 1,
                        .stride_w = 1,
                        .dil_h = 1,
                        .dil_w = 1};
    tl_conv2d_check(&g);
    return g;
}

static void call(const call_target *t, call_report *r, const reduce_case *s, tl_real *y,
                 const tl_real *x) {
    const tl_linear_geom linear = {s->outer, 3, s->kept};
    const tl_conv2d_geom conv2d = geom_of(s);
    if (s->op == SUM) call_sum(t, r, y, x, size_of(s));
    if (s->op == SUM_ROWS) call_sum_rows(t, r, y, x, s->outer, s->kept);
    if (s->op == SUM_COLS) call_sum_cols(t, r, y, x, s->kept, s->inner);
    if (s->op == LINEAR_BIAS) call_linear_bwd_bias(t, r, y, x, &linear);
    if (s->op == CONV2D_BIAS) call_conv2d_bwd_bias(t, r, y, x, &conv2d);
}

static void define(const reduce_case *s, double *y, double *scale, const double *x) {
    for (int k = 0; k < s->kept; k++) {
        y[k] = 0;
        for (int o = 0; o < s->outer; o++) {
            double size;
            size_t at = ((size_t)o * (size_t)s->kept + (size_t)k) * (size_t)s->inner;
            y[k] += oracle_sum(x + at, (size_t)s->inner, 1, &size);
            scale[k] += size;
        }
    }
}

static void say(claim *c, const call_target *t, const reduce_case *s, const char *of) {
    claim_case(c, t, "%s of %s x[%d,%d,%d]", name[s->op], of, s->outer, s->kept, s->inner);
}

static void expect_exact(claim *c, const reduce_case *s) {
    size_t n = size_of(s), kept = (size_t)s->kept;
    tl_real *x = reals(c, n), *before = reals(c, kept);
    double *want = doubles(c, kept), *scale = doubles(c, kept);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -MOST, MOST);
    for (size_t k = 0; k < kept; k++) before[k] = (tl_real)draw_int(c, -MOST, MOST);
    define(s, want, scale, widen(c, x, n));
    for (size_t k = 0; adds(s) && k < kept; k++) want[k] += (double)before[k];
    FOR_TARGETS (t) {
        call_report r;
        tl_real *y = copy_reals(c, before, kept);
        say(c, t, s, "whole numbers");
        call(t, &r, s, y, x);
        expect_ok(c, &r);
        expect_equal(c, "y", y, want, SHAPE(s->kept));
    }
}

CLAIM(exact_reduce, sums_of_whole_numbers_are_exact) {
    for (const reduce_case *s = cases; s < cases + CASES; s++)
        if (!adds(s)) expect_exact(c, s);
}

CLAIM(exact_reduce, bias_gradients_of_whole_numbers_are_exact) {
    for (const reduce_case *s = cases; s < cases + CASES; s++)
        if (adds(s)) expect_exact(c, s);
}

/* ---- numbers of any kind ---- */

static void expect_within(claim *c, const call_target *t, const reduce_case *s) {
    size_t n = size_of(s), kept = (size_t)s->kept;
    if (!bound_judges(n / kept)) return;
    tl_real *x = draw_reals(c, n), *before = draw_reals(c, kept), *y = copy_reals(c, before, kept);
    double *want = doubles(c, kept), *scale = doubles(c, kept), *rough = doubles(c, kept);
    double *wide = widen(c, x, n), *unused = doubles(c, kept);
    call_report r;
    define(s, want, scale, wide);
    define(s, rough, unused, coarsen(c, wide, n));
    for (size_t k = 0; adds(s) && k < kept; k++) {
        want[k] += (double)before[k];
        rough[k] += (double)before[k];
        scale[k] += (double)tl_fabs(before[k]);
    }
    double *bound = bound_of(c, scale, kept, n / kept);
    say(c, t, s, "random");
    call(t, &r, s, y, x);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, SHAPE(s->kept));
    expect_sharp(c, rough, want, bound, kept);
}

CLAIM(exact_reduce, sums_match_the_definition) {
    FOR_TARGETS (t)
        for (const reduce_case *s = cases; s < cases + CASES; s++) expect_within(c, t, s);
}

/* ---- bits ---- */

static const reduce_case threaded[] = {{SUM, 1, 1, 1 << 18, 1 << 18},
                                       {SUM_COLS, 1, 7, 9001, 9001},
                                       {LINEAR_BIAS, 513, 300, 1, 1},
                                       {CONV2D_BIAS, 16, 5, 1024, 32}};
enum { THREADED = sizeof threaded / sizeof *threaded };

static threads_result sum_by_threads(claim *c, const call_target *t, int which) {
    const reduce_case *s = &threaded[which];
    call_report r;
    tl_real *x = draw_reals(c, size_of(s)), *y = reals(c, (size_t)s->kept);
    say(c, t, s, "random");
    call(t, &r, s, y, x);
    expect_ok(c, &r);
    return (threads_result){"y", y, SHAPE(s->kept)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(exact_reduce, sum_by_threads, THREADED)

static tl_status run(tl_ctx *ctx, const reduce_case *s, tl_real *y, const tl_real *x) {
    const tl_linear_geom linear = {s->outer, 3, s->kept};
    const tl_conv2d_geom conv2d = geom_of(s);
    if (s->op == SUM) return ctx->ops->sum(ctx, y, x, size_of(s));
    if (s->op == SUM_COLS) return ctx->ops->sum_cols(ctx, y, x, s->kept, s->inner);
    if (s->op == LINEAR_BIAS) return ctx->ops->linear_bwd_bias(ctx, y, x, &linear);
    return ctx->ops->conv2d_bwd_bias(ctx, y, x, &conv2d);
}

/* Twice: x on a boundary, and one element behind it. */
static void expect_aligned_bits(claim *c, tl_ctx *ctx, const reduce_case *s) {
    size_t n = size_of(s), bytes = (size_t)s->kept * sizeof(tl_real);
    tl_real *x = draw_reals(c, n), *y[2] = {reals(c, (size_t)s->kept), reals(c, (size_t)s->kept)};
    void *from, *to;
    const char *error = NULL;
    tl_alloc_get(ctx->alloc, &from, (n + 1) * sizeof *x);
    tl_alloc_get(ctx->alloc, &to, bytes);
    for (int shift = 0; shift < 2 && !error; shift++) {
        tl_real *at = (tl_real *)from + shift;
        if (ctx->ops->copy_in(ctx, at, x, n * sizeof *x) || ctx->ops->zero(ctx, to, bytes) ||
            run(ctx, s, to, at) || ctx->ops->copy_out(ctx, y[shift], to, bytes))
            error = tl_error();
    }
    tl_alloc_put(ctx->alloc, from);
    tl_alloc_put(ctx->alloc, to);
    expect_true(c, !error, "%s", error);
    expect_same_bits(c, "y", y[1], y[0], SHAPE(s->kept));
}

CLAIM(exact_reduce, alignment_changes_no_bit) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        expect_true(c, tl_device_open(&ctx, t->device, t->rungs, t->threads) == TL_OK, "%s",
                    tl_error());
        for (int i = 0; i < THREADED; i++) {
            say(c, t, &threaded[i], "shifted");
            expect_aligned_bits(c, ctx, &threaded[i]);
        }
        tl_device_close(ctx);
    }
}

/* ---- launches, and threads that meet ---- */

/* (one of each way through a rung: short and long rows, columns, pieces) */
static const reduce_case small[] = {{SUM, 1, 1, 700, 700},        {SUM, 1, 1, 20000, 20000},
                                    {SUM_COLS, 1, 3, 76, 76},     {LINEAR_BIAS, 37, 41, 1, 1},
                                    {LINEAR_BIAS, 600, 5, 1, 1},  {CONV2D_BIAS, 5, 3, 36, 6},
                                    {CONV2D_BIAS, 9, 2, 2000, 50}};
enum { SMALL = sizeof small / sizeof *small };

static void sum_small(claim *c, const call_target *t, int which) {
    const call_target failing = launches_failing(t);
    const reduce_case *s = &small[which];
    size_t n = size_of(s);
    call_report r;
    tl_real *x = reals(c, n), *y = reals(c, (size_t)s->kept);
    double *want = doubles(c, (size_t)s->kept), *scale = doubles(c, (size_t)s->kept);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -MOST, MOST);
    define(s, want, scale, widen(c, x, n));
    say(c, t, s, "whole numbers");
    call(&failing, &r, s, y, x);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, SHAPE(s->kept));
}

CLAIM_NO_TWO_THREADS_MEET(exact_reduce, sum_small, SMALL)

static void sum_of_images(claim *c, const call_target *t, int op, int images) {
    const reduce_case s = {op ? CONV2D_BIAS : LINEAR_BIAS, images, 5, op ? 30 : 1, op ? 6 : 1};
    call_report r;
    tl_real *y = reals(c, 5);
    say(c, t, &s, "random");
    call(t, &r, &s, y, draw_reals(c, size_of(&s)));
    expect_ok(c, &r);
}

CLAIM_NOTHING_WAITS(exact_reduce, sum_of_images, 2, COLD)
