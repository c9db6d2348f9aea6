/* profile_test.c: what a profile says an operation must read and write, against its contract.
 *
 * The typed calls (call_ops.h) give each array its size and its direction, and suites judge both:
 * an input comes back unchanged, an output arrives poisoned, what is accumulated keeps what was
 * there. So they are the contract, and the least that an operation moves is each input and output
 * once and what it adds to twice. A profile may leave away what is small: biases, labels, losses.
 */
#include "autograder/call/call_ops.h"
#include "autograder/call/call_row.h"
#include "expect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "labs/common/program/profile.h"
#include "tl/device.h"

static claim *now; /* the claim that call_instead judges for */
static bool seen[PROFILE_OPS];

static double least_bytes(const call_request *q) {
    double bytes = 0;
    for (int i = 0; i < q->buffers; i++) {
        const call_buffer *b = &q->buffer[i];
        if (!b->host || b->role == CALL_SCRATCH) continue;
        double unit = b->type == CALL_REAL ? sizeof(tl_real) : b->type == CALL_INT32 ? 4 : 1;
        bytes += (b->role == CALL_INOUT ? 2 : 1) * unit * (double)b->count;
    }
    return bytes;
}

static void ok(tl_status status) {
    expect_true(now, status == TL_OK, "%s: %s", now->call, tl_error());
}

/* Runs the operation on a device, on zeros, with a profile on. */
static double counted_bytes(const call_request *q, const char *device, int *op) {
    static profile p;
    tl_ctx *ctx;
    call_arguments a = {.integer = q->integer, .integers = q->integers, .number = q->number};
    ok(tl_device_open(&ctx, device, "all", 1));
    for (int i = 0; i < q->buffers; i++) {
        size_t bytes = (q->buffer[i].count + 1) * sizeof(double);
        if (!q->buffer[i].host && q->buffer[i].role != CALL_SCRATCH) continue;
        ok(tl_alloc_get(ctx->alloc, &a.slot[i], bytes));
        ok(ctx->ops->zero(ctx, a.slot[i], bytes));
        a.slot_bytes[i] = bytes;
    }
    memset(&p, 0, sizeof p);
    profile_on(&p, ctx);
    ok(call_rows[q->op].run(ctx, &a));
    ok(profile_off(&p, ctx));
    for (int i = 0; i < q->buffers; i++)
        if (a.slot[i]) ok(tl_alloc_put(ctx->alloc, a.slot[i]));
    tl_device_close(ctx);
    for (*op = 0; *op < PROFILE_OPS && !p.count[PROFILE_OPS][*op].calls;) ++*op;
    return *op < PROFILE_OPS ? p.count[PROFILE_OPS][*op].bytes : 0;
}

/* One operation: what is wrong is gathered, so that a failure names every row that is. */
static const char *device;
static char wrong[800];
static void compare(const call_request *q) {
    int op;
    const char *name = call_rows[q->op].name;
    claim_case(now, NULL, "%s", name);
    double want = least_bytes(q), got = counted_bytes(q, device, &op);
    expect_true(now, op < PROFILE_OPS, "%s is not in the profile", name);
    seen[op] = true;
    claim_note(now, 0);
    size_t used = strlen(wrong);
    if (!(fabs(got - want) <= 0.02 * want))
        snprintf(wrong + used, sizeof wrong - used, "%s %s %.0f for %.0f", used ? "," : "", name,
                 got, want);
}

/* ---- every operation once, large enough that what is small does not count ---- */

enum { N = 5000, ROWS = 60, COLS = 150 };
static tl_real r[8]; /* arrays of any size: nobody looks into them */
static int32_t labels[1];
static unsigned char codes[1];
static const call_target anywhere = {.device = "none"};
static call_report report;

static void elements(void) {
    call_vector_add(&anywhere, &report, r, r + 1, r + 2, N);
    call_fill(&anywhere, &report, r, N, 1);
    call_add(&anywhere, &report, r, r + 1, r + 2, N);
    call_mul(&anywhere, &report, r, r + 1, r + 2, N);
    call_scale(&anywhere, &report, r, r + 1, N, 2);
    call_axpy(&anywhere, &report, r, r + 1, N, 2);
    call_mul_add(&anywhere, &report, r, r + 1, r + 2, N);
    call_relu_fwd(&anywhere, &report, r, r + 1, N);
    call_relu_bwd(&anywhere, &report, r, r + 1, r + 2, N);
    tl_step step = {0};
    tl_dropout_geom g = {N, 0.5, 0};
    call_dropout_fwd(&anywhere, &report, r, r + 1, &step, &g);
    call_dropout_bwd(&anywhere, &report, r, r + 1, &step, &g);
    tl_sgd_options plain = {0}, momentum = {.momentum = 0.9};
    call_sgd_step(&anywhere, &report, r, NULL, r + 1, N, &step, &plain);
    call_sgd_step(&anywhere, &report, r, r + 2, r + 1, N, &step, &momentum);
    tl_adam_options adam = {0.9, 0.999, 1e-8, 0};
    call_adam_step(&anywhere, &report, r, r + 1, r + 2, r + 3, N, &step, &adam);
}

static void matrices(void) {
    call_sum(&anywhere, &report, r, r + 1, N);
    call_sum_rows(&anywhere, &report, r, r + 1, 100 * ROWS, COLS);
    call_sum_cols(&anywhere, &report, r, r + 1, ROWS, COLS);
    call_max_cols(&anywhere, &report, r, r + 1, ROWS, COLS);
    call_argmax_cols(&anywhere, &report, labels, r + 1, ROWS, COLS);
    call_transpose(&anywhere, &report, r, r + 1, ROWS, COLS);
    for (int add = 0; add < 2; add++) {
        tl_matmul_geom g = {.m = 50, .n = 40, .k = 30, .accumulate = add};
        call_matmul(&anywhere, &report, r, r + 1, r + 2, &g);
        call_gemm(&anywhere, &report, r, r + 1, r + 2, &g);
    }
    call_softmax_xent_fwd(&anywhere, &report, r, r + 1, r + 2, r + 3, labels, ROWS, COLS);
    call_softmax_xent_bwd(&anywhere, &report, r, r + 1, r + 2, labels, ROWS, COLS);
    tl_metric_sums sums;
    call_metrics_add(&anywhere, &report, &sums, r, r + 1, labels, ROWS, COLS);
    call_xent_head_fwd(&anywhere, &report, r, r + 1, r + 2, &sums, r + 3, labels, ROWS, COLS);
    call_xent_head_bwd(&anywhere, &report, r, r + 1, r + 2, labels, ROWS, COLS);
    tl_linear_geom g = {.n = 250, .in = 96, .out = 64};
    call_linear_fwd(&anywhere, &report, r, r + 1, r + 2, r + 3, &g);
    call_linear_bwd_input(&anywhere, &report, r, r + 1, r + 2, &g);
    call_linear_bwd_weight(&anywhere, &report, r, r + 1, r + 2, &g);
    call_linear_bwd_bias(&anywhere, &report, r, r + 1, &g);
    call_linear_block_fwd(&anywhere, &report, r, r + 1, r + 2, r + 3, &g, true);
    for (int fresh = 0; fresh < 2; fresh++)
        for (int relu = 0; relu < 2; relu++)
            call_linear_block_bwd(&anywhere, &report, r, r + 1, r + 2, r + 3, relu ? r + 4 : NULL,
                                  r + 5, r + 6, &g, fresh);
}

static void pictures(void) {
    tl_conv2d_geom g = {.n = 3, .c = 4, .h = 24, .w = 20, .k = 5, .r = 3, .s = 3};
    g.stride_h = g.stride_w = g.pad_h = g.pad_w = g.dil_h = g.dil_w = 1;
    ok(tl_conv2d_check(&g));
    call_im2col(&anywhere, &report, r, r + 1, 3, &g);
    call_col2im(&anywhere, &report, r, r + 1, 3, &g);
    call_conv2d_fwd(&anywhere, &report, r, r + 1, r + 2, r + 3, &g);
    call_conv2d_bwd_input(&anywhere, &report, r, r + 1, r + 2, &g);
    call_conv2d_bwd_bias(&anywhere, &report, r, r + 1, &g);
    for (int pool = 0; pool < 2; pool++) {
        tl_conv2d_block block = {g, pool};
        call_conv2d_block_fwd(&anywhere, &report, r, codes, r + 1, r + 2, r + 3, &block);
        for (int fresh = 0; fresh < 2; fresh++)
            call_conv2d_block_bwd(&anywhere, &report, r, r + 1, r + 2, r + 3, codes, r + 4, r + 5,
                                  &block, fresh);
    }
    g.n = 1, g.h = g.w = 12, g.c = 40, g.k = 30; /* of which the weights are a large part */
    ok(tl_conv2d_check(&g));
    call_conv2d_bwd_weight(&anywhere, &report, r, r + 1, r + 2, &g);
    tl_pool2d_geom p = {.n = 3, .c = 4, .h = 24, .w = 20, .r = 2, .s = 2};
    p.stride_h = p.stride_w = 2;
    ok(tl_pool2d_check(&p));
    call_maxpool2d_fwd(&anywhere, &report, r, labels, r + 1, &p);
    call_maxpool2d_bwd(&anywhere, &report, r, r + 1, labels, &p);
    tl_batchnorm_geom b = {.n = 4, .c = 3, .hw = 500, .eps = 1e-5, .momentum = 0.1};
    call_batchnorm_fwd(&anywhere, &report, r, r + 1, r + 2, r + 3, r + 4, r + 5, r + 6, r + 7, &b);
    call_batchnorm_eval(&anywhere, &report, r, r + 1, r + 2, r + 3, r + 4, r + 5, &b);
    call_batchnorm_bwd(&anywhere, &report, r, r + 1, r + 2, r + 3, r + 4, r + 5, r + 6, r + 7, &b);
    tl_device_split split = {30, 3, 40, 30, 10, codes, codes, r};
    tl_step step = {0};
    tl_batch_geom batch = {.n = 30};
    call_batch_load(&anywhere, &report, r, labels, &split, &step, &batch);
}

CLAIM(profile, counts_the_bytes_that_contracts_need) {
    static const char *const names[] = {
#define NAME(name, arguments) #name,
        TL_BACKEND_OPS(NAME) TL_BACKEND_FUSED(NAME)
#undef NAME
    };
    now = c;
    device = "hostcuda"; /* which has the fused operations, too */
    call_instead = compare;
    elements();
    matrices();
    pictures();
    call_instead = NULL;
    for (size_t op = 0; op < sizeof names / sizeof *names; op++)
        expect_true(c, seen[op], "%s was not called", names[op]);
    expect_true(c, !wrong[0], "bytes in a profile, and in the contract:%s", wrong);
}
