/* profile_test.c: what a profile says an operation must read and write: what goes in or out once,
 * what is added to or updated twice, and what is not there not at all. */
#include "autograder/claim/expect.h"

#include <string.h>

#include "programs/profile.h"

/* A device that does nothing: what a profile counts follows from a call's arguments alone. */
#define IDLE(op, lab, flops, ...)                                                                  \
    static tl_status idle_##op(tl_ctx *ctx TL_EACH(TL_PARAM, __VA_ARGS__)) {                       \
        (void)ctx TL_EACH(TL_NAME, __VA_ARGS__);                                                   \
        return TL_OK;                                                                              \
    }
#pragma GCC diagnostic ignored "-Wunused-value"
#define OP       IDLE
#define OP_FUSED IDLE
#include "tl/ops.def"

static tl_status idle_sync(tl_ctx *ctx) {
    (void)ctx;
    return TL_OK;
}

static const tl_backend idle = {
    .name = "idle",
    .sync = idle_sync,
#define ENTRY(op, ...) .op = idle_##op,
#define OP             ENTRY
#define OP_FUSED       ENTRY
#include "tl/ops.def"
};

enum { N = 5000, R = sizeof(tl_real) };
static tl_real r[1]; /* an array of any size: nobody looks into it */
static int32_t labels[1];
static uint8_t bytes[1];

/* Bytes of one call, which `calls` makes through ctx->ops. */
static double counted(tl_status (*call)(tl_ctx *ctx)) {
    static profile p;
    tl_ctx ctx = {.ops = &idle, .threads = 1};
    memset(&p, 0, sizeof p);
    profile_on(&p, &ctx);
    bool done = call(&ctx) == TL_OK && profile_off(&p, &ctx) == TL_OK;
    double sum = 0;
    for (int op = 0; op < PROFILE_OPS; op++) sum += p.count[PROFILE_OPS][op].bytes;
    return done ? sum : -1;
}

#define CALLS(X)                                                                                   \
    X(relu_fwd, 2.0 * N * R, ctx, r, r, N)                                                         \
    X(relu_bwd, 4.0 * N * R, ctx, r, r, r, N)                                                      \
    X(fill, 1.0 * N * R, ctx, r, N, 1)                                                             \
    X(argmax_cols, 100.0 * 50 * R + 100.0 * 4, ctx, labels, r, 100, 50)                            \
    X(conv2d_bwd_bias, (2.0 * 5 + 3 * 5 * 24 * 20) * R, ctx, r, r, &picture)                       \
    X(maxpool2d_bwd, (2.0 * 4 * 480 + 4 * 120) * R + 4.0 * 120 * 4, ctx, r, r, labels, &pool)
#define OPTIONS(X)                                                                                 \
    X(sgd_plain, sgd_step, 3.0 * N * R + sizeof(tl_step), ctx, r, NULL, r, N, &now, &sgd)          \
    X(sgd_momentum, sgd_step, 5.0 * N * R + sizeof(tl_step), ctx, r, r, r, N, &now, &sgd)          \
    X(gemm_over, gemm, (50.0 * 30 + 30 * 40 + 50 * 40) * R, ctx, r, r, r, &over)                   \
    X(gemm_added, gemm, (50.0 * 30 + 30 * 40 + 2 * 50 * 40) * R, ctx, r, r, r, &added)             \
    X(block_fresh, linear_block_bwd, BLOCK(1.0), ctx, r, r, r, r, NULL, r, r, &flat, true)         \
    X(block_added, linear_block_bwd, BLOCK(2.0), ctx, r, r, r, r, NULL, r, r, &flat, false)        \
    X(block_without, linear_block_bwd, BLOCK(0.0), ctx, NULL, r, r, r, NULL, r, r, &flat, true)
/* dx so often; dw and db twice, dy, x and w once */
#define BLOCK(dx) ((dx * 20 * 9 + 2 * 7 * 9 + 2 * 7 + 20 * 7 + 20 * 9 + 7 * 9) * R)

static const tl_conv2d_geom picture = {.n = 3, .k = 5, .p = 24, .q = 20};
static const tl_pool2d_geom pool = {.n = 1, .c = 4, .h = 24, .w = 20, .p = 12, .q = 10};
static const tl_matmul_geom over = {.m = 50, .n = 40, .k = 30};
static const tl_matmul_geom added = {.m = 50, .n = 40, .k = 30, .accumulate = 1};
static const tl_linear_geom flat = {.n = 20, .in = 9, .out = 7};
static const tl_sgd_options sgd = {0};
static const tl_step now = {0};

#define CALL(op, want, ...)                                                                        \
    static tl_status call_##op(tl_ctx *ctx) { return ctx->ops->op(__VA_ARGS__); }
CALLS(CALL)
#define CALL_AS(name, op, want, ...)                                                               \
    static tl_status call_##name(tl_ctx *ctx) { return ctx->ops->op(__VA_ARGS__); }
OPTIONS(CALL_AS)

static tl_status call_batch(tl_ctx *ctx) {
    const tl_device_split split = {30, 3, 40, 30, 10, bytes, bytes, r};
    const tl_batch_geom batch = {.n = 30};
    return ctx->ops->batch_load(ctx, r, labels, &split, &now, &batch);
}

static void expect_bytes(claim *c, const char *name, tl_status (*call)(tl_ctx *), double want) {
    double got = counted(call);
    expect_true(c, got == want, "%s moves %.0f bytes in a profile, not %.0f", name, got, want);
}

CLAIM(profile, counts_the_bytes_that_contracts_need) {
#define EXPECT(op, want, ...) expect_bytes(c, #op, call_##op, want);
    CALLS(EXPECT)
#define EXPECT_AS(name, op, want, ...) expect_bytes(c, #name, call_##name, want);
    OPTIONS(EXPECT_AS)
    /* pixels as bytes in and numbers out, labels as bytes in and int32 out, the table of values */
    expect_bytes(c, "batch_load", call_batch,
                 30.0 * 3600 * (R + 1) + 30 * (4 + 1) + 3 * 256 * R + sizeof(tl_step));
}
