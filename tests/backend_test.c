/* backend_test.c: the device beneath the operations: contexts, memory, tables. */
#include "autograder/claim/claim.h"
#include "autograder/claim/expect.h"

#include <string.h>

#include "tl/device.h"

/* These functions are given code and called directly: no student's work stands behind them. */
static void ok(claim *c, tl_status status) {
    expect_true(c, status == TL_OK, "%s: %s", tl_status_name(status), tl_error());
}

CLAIM(backend, copies_and_zeros_reach_the_device_and_back) {
    enum { N = 1000 };
    tl_ctx *ctx;
    void *a, *b;
    ok(c, tl_device_open(&ctx, "cpu", "all", 2));
    ok(c, tl_alloc_get(ctx->alloc, &a, N));
    ok(c, tl_alloc_get(ctx->alloc, &b, N));
    expect_true(c, (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0, "blocks are not aligned");
    unsigned char there[N], back[N], zero[N] = {0};
    for (int i = 0; i < N; i++) there[i] = (unsigned char)draw_bits(c);
    ok(c, ctx->ops->copy_in(ctx, a, there, N));
    ok(c, ctx->ops->copy(ctx, b, a, N));
    ok(c, ctx->ops->copy_out(ctx, back, b, N));
    expect_true(c, !memcmp(there, back, N), "the bytes changed on the way");
    ok(c, ctx->ops->zero(ctx, b, N));
    ok(c, ctx->ops->sync(ctx));
    ok(c, ctx->ops->copy_out(ctx, back, b, N));
    expect_true(c, !memcmp(zero, back, N), "not all bytes are zero");
    ok(c, tl_alloc_put(ctx->alloc, a));
    ok(c, tl_alloc_put(ctx->alloc, b));
    tl_device_close(ctx);
}

CLAIM(backend, step_numbers_lie_in_device_memory) {
    tl_ctx *ctx;
    ok(c, tl_device_open(&ctx, "cpu", "none", 1));
    const tl_step now = {.seed = 1234567890123, .index = 7, .epoch = 2, .first = 64, .lr = 0.05};
    tl_step back = {0};
    ok(c, ctx->ops->step_set(ctx, &now));
    ok(c, ctx->ops->copy_out(ctx, &back, ctx->step, sizeof back));
    expect_true(c, back.seed == now.seed && back.index == 7 && back.epoch == 2, "wrong numbers");
    expect_true(c, back.first == 64 && back.lr == 0.05, "wrong position or learning rate");
    tl_device_close(ctx);
}

/* Silence, or another device's result, would be worse than an error. */
CLAIM(backend, an_operation_that_a_device_lacks_says_so) {
    tl_backend empty = {.name = "empty"};
    tl_ctx ctx = {.ops = &empty, .threads = 1};
    tl_real x = 0;
    tl_backend_fill(&empty);
#define EXPECT_MISSING(name, ...)                                                                  \
    expect_true(c, empty.name(&ctx, __VA_ARGS__) == TL_ENOTIMPL, #name " did not fail");           \
    expect_true(c, strstr(tl_error(), #name) != NULL, "the line does not name " #name ": %s",      \
                tl_error())
    EXPECT_MISSING(fill, &x, 1, 0);
    EXPECT_MISSING(gemm, &x, &x, &x, NULL);
    EXPECT_MISSING(conv2d_fwd, &x, &x, &x, NULL, NULL, NULL);
    EXPECT_MISSING(metrics_add, NULL, &x, &x, NULL, 1, 1);
#define OP(name, ...) expect_true(c, empty.name != NULL, "tl_backend_fill left " #name " empty");
#include "tl/ops.def"
}

/* Whatever tl_backend_fill puts in must not be what cpu answers with. */
CLAIM(backend, every_operation_is_there_on_cpu) {
    tl_ctx *ctx;
    tl_backend empty = {.name = "empty"};
    tl_backend_fill(&empty);
    ok(c, tl_device_open(&ctx, "cpu", "all", 0));
    expect_true(c, ctx->threads >= 1, "0 threads were not turned into the number of cores");
    expect_true(c, !strcmp(ctx->ops->name, "cpu"), "the table is called %s", ctx->ops->name);
    expect_true(c, ctx->ops->column_bytes > 0, "no scratch for columns");
#define OP(op, ...)                                                                                \
    expect_true(c, ctx->ops->op != NULL && ctx->ops->op != empty.op, #op " is missing");
#include "tl/ops.def"
    tl_device_close(ctx);
    tl_device_close(NULL);
}

/* A failed open leaves no context behind, and auto finds a device. */
CLAIM(backend, opening_by_name) {
    tl_ctx unset, *ctx = &unset;
    if (tl_device_open(&ctx, "cuda", "none", 1) == TL_OK) {
        tl_device_close(ctx); /* there is a GPU here */
    } else {
        expect_true(c, ctx == NULL, "a failed open left a context");
        expect_true(c, strstr(tl_error(), "cpu") != NULL, "no way out is named: %s", tl_error());
    }
    ctx = &unset;
    expect_true(c, tl_device_open(&ctx, "gpu", "none", 1) == TL_EINVAL, "gpu opened");
    expect_true(c, ctx == NULL, "a failed open left a context");
    expect_true(c, tl_device_open(&ctx, "cpu", "conv2d:7", 1) == TL_EINVAL, "rung 7 opened");
    expect_true(c, strstr(tl_error(), "conv2d:1") != NULL, "existing rungs are not listed: %s",
                tl_error());
    ok(c, tl_device_open(&ctx, "cpu", "conv2d:1", 1));
    tl_device_close(ctx);
    ok(c, tl_device_open(&ctx, "cpu", "all", 1));
    expect_true(c, ctx->ops->gemm == tl_gemm, "RUNGS=all takes a step of the ladder");
    tl_device_close(ctx);
    ok(c, tl_device_open(&ctx, "cpu", "gemm:3", 1));
    expect_true(c, ctx->ops->gemm != tl_gemm, "a step that was named is not taken");
    tl_device_close(ctx);
    ok(c, tl_device_open(&ctx, "auto", "all", 1));
    tl_device_close(ctx);
}
