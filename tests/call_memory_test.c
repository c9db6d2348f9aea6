/* call_memory_test.c: programs in fenced memory, whose steps can be made to fail: what they do
 * wrong must be seen. */
#include "autograder/call/call_memory.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tl/device.h"

static void *volatile kept; /* so that no compiler leaves a malloc out */

/* Takes 13 bytes and clears them, and as many behind them as the argument says. */
static tl_status clear_too_far(tl_ctx *ctx, call_arguments *a) {
    void *block;
    TL_TRY(tl_alloc_get(ctx->alloc, &block, 13));
    tl_status status = ctx->ops->zero(ctx, block, 13 + (size_t)a->integer[0]);
    tl_alloc_put(ctx->alloc, block);
    return status;
}

/* Keeps its host memory where there is none of the device. */
static tl_status keep_on_the_way_out(tl_ctx *ctx, call_arguments *a) {
    (void)a;
    void *block;
    kept = malloc(5);
    TL_TRY(tl_alloc_get(ctx->alloc, &block, 5));
    free(kept);
    return tl_alloc_put(ctx->alloc, block);
}

static tl_status run(call_run_fn program, int64_t argument, call_wire *w) {
    tl_ctx *ctx;
    call_arguments a = {.integer = &argument, .integers = 1};
    const call_row row = {.name = "program", .run = program};
    cr_assert_eq(tl_device_open(&ctx, "cpu", "none", 1), TL_OK);
    tl_status status = call_run_fenced(&row, ctx, &a, w);
    cr_assert_eq(tl_alloc_read_stats(ctx->alloc).live_bytes, 0);
    tl_device_close(ctx);
    return status;
}

Test(call_memory, one_byte_behind_the_end_is_seen) {
    call_wire right = {.op = CALL_graph}, wrong = right;
    cr_assert_eq(run(clear_too_far, 0, &right), TL_OK);
    cr_assert_eq(right.overrun, 0);
    cr_assert_eq(run(clear_too_far, 1, &wrong), TL_OK);
    cr_assert_eq(wrong.overrun, 1);
    cr_assert_eq(wrong.overrun_of, 13);
}

/* Host memory that the allocator takes for its notes is a step, too, as often as it does. */
Test(call_memory, each_step_fails_alone_and_by_a_status_of_its_own) {
    call_wire whole = {.op = CALL_graph};
    int seen[CALL_STEPS] = {0};
    cr_assert_eq(run(clear_too_far, 0, &whole), TL_OK);
    cr_assert_eq(whole.refused, CALL_NO_STEP);
    for (int n = 1; n <= whole.steps + 1; n++) {
        call_wire w = {.op = CALL_graph, .failing_step = n};
        tl_status status = run(clear_too_far, 0, &w);
        tl_status due = w.refused == CALL_NO_STEP    ? TL_OK
                        : w.refused == CALL_CLEARING ? call_refusal(n)
                                                     : TL_ENOMEM;
        cr_assert_eq(status, due, "step %d", n);
        cr_assert_eq(w.host_blocks, 0);
        seen[w.refused]++;
    }
    cr_assert_eq(seen[CALL_REQUEST], 1);
    cr_assert_eq(seen[CALL_CLEARING], 1);
    cr_assert_eq(seen[CALL_NO_STEP], 1); /* beyond the last one */
}

Test(call_memory, host_memory_kept_on_the_way_out_is_counted) {
    call_wire whole = {.op = CALL_graph};
    int requests = 0;
    cr_assert_eq(run(keep_on_the_way_out, 0, &whole), TL_OK);
    cr_assert_eq(whole.host_blocks, 0);
    for (int n = 1; n <= whole.steps; n++) {
        call_wire refused = {.op = CALL_graph, .failing_step = n};
        tl_status status = run(keep_on_the_way_out, 0, &refused);
        if (status != TL_OK) free(kept); /* which it has left */
        if (refused.refused != CALL_REQUEST) continue;
        requests++;
        cr_assert_eq(status, TL_ENOMEM);
        cr_assert_eq(refused.host_blocks, 1);
    }
    cr_assert_eq(requests, 1);
}
