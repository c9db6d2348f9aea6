/* call_direct.c: runs a call in this process: frames to the device, the operation's row, and back.
 */
#include "wire.h"

#include <stdio.h>
#include <string.h>

#include "tl/device.h"

/* Contexts are opened once per process: a suite makes hundreds of calls on a handful of targets. */
enum { CONTEXTS = 16 };
static struct {
    char device[16], rungs[48];
    int threads;
    tl_ctx *ctx;
} context[CONTEXTS];
static int contexts;

static tl_status find_context(tl_ctx **ctx, const call_target *t) {
    for (int i = 0; i < contexts; i++) {
        if (strcmp(context[i].device, t->device) || strcmp(context[i].rungs, t->rungs)) continue;
        if (context[i].threads != t->threads) continue;
        *ctx = context[i].ctx;
        return TL_OK;
    }
    TL_NEED(contexts < CONTEXTS, TL_EINVAL, "more than %d targets in one process", CONTEXTS);
    TL_NEED(strlen(t->device) < sizeof context[0].device, TL_EINVAL, "device name is too long");
    TL_NEED(strlen(t->rungs) < sizeof context[0].rungs, TL_EINVAL, "list of rungs is too long");
    TL_TRY(tl_device_open(ctx, t->device, t->rungs, t->threads));
    strcpy(context[contexts].device, t->device);
    strcpy(context[contexts].rungs, t->rungs);
    context[contexts].threads = t->threads;
    context[contexts++].ctx = *ctx;
    return TL_OK;
}

/* The operation on device copies of the frames. `block` receives what was allocated, for the caller
 * to give back, also after a failure. */
static tl_status run_on_device(tl_ctx *ctx, call_wire *w, void *block[CALL_BUFFERS]) {
    call_arguments arguments = {
        .integer = w->integer, .integers = w->integers, .number = w->number};
    for (int i = 0; i < w->frames; i++) {
        TL_TRY(tl_alloc_get(ctx->alloc, &block[i], w->frame_bytes[i]));
        TL_TRY(ctx->ops->copy_in(ctx, block[i], w->frame[i], w->frame_bytes[i]));
    }
    for (int i = 0; i < w->slots; i++) {
        int f = w->slot_frame[i];
        if (f < 0) continue;
        arguments.slot[i] = (unsigned char *)block[f] + CALL_FENCE;
        arguments.slot_bytes[i] = w->frame_bytes[f] - 2 * CALL_FENCE;
    }
    const call_row *row = &call_rows[w->op];
    TL_NEED(row->run, TL_ENOTIMPL, "operation %d has no row in call_table.c", (int)w->op);
    TL_NEED(w->integers >= row->integers, TL_EINVAL, "%s takes %zu integers, got %zu", row->name,
            row->integers, w->integers);
    /* the same device with another bound for columns: tests force chunks of one image with it */
    tl_backend ops = *ctx->ops;
    if (w->target.column_bytes) ops.column_bytes = w->target.column_bytes;
    tl_ctx view = *ctx;
    view.ops = &ops;
    tl_status status = row->run(&view, &arguments);
    char error[CALL_TEXT] = "";
    if (status != TL_OK) snprintf(error, sizeof error, "%s", tl_error());
    /* frames come back after a failure too: fences are judged then as well */
    TL_TRY(ctx->ops->sync(ctx));
    for (int i = 0; i < w->frames; i++)
        TL_TRY(ctx->ops->copy_out(ctx, w->frame[i], block[i], w->frame_bytes[i]));
    memcpy(w->error, error, sizeof error);
    w->status = status;
    return TL_OK;
}

void call_execute(call_wire *w) {
    tl_ctx *ctx = NULL;
    void *block[CALL_BUFFERS] = {NULL};
    size_t before = 0;
    w->status = TL_OK;
    w->live_bytes = 0;
    memset(w->error, 0, sizeof w->error);
    tl_status status = find_context(&ctx, &w->target);
    if (status == TL_OK) {
        before = tl_alloc_read_stats(ctx->alloc).live_bytes;
        status = run_on_device(ctx, w, block);
    }
    for (int i = 0; ctx && i < w->frames; i++) {
        tl_status put = tl_alloc_put(ctx->alloc, block[i]);
        if (status == TL_OK) status = put;
    }
    if (ctx) w->live_bytes = (int64_t)(tl_alloc_read_stats(ctx->alloc).live_bytes - before);
    if (status != TL_OK) { /* the call itself went wrong, not the operation */
        w->status = status;
        snprintf(w->error, sizeof w->error, "%s", tl_error());
    }
}

size_t call_close(void) {
    size_t blocks = 0;
    for (int i = 0; i < contexts; i++) {
        blocks += tl_alloc_read_stats(context[i].ctx->alloc).live_blocks;
        tl_device_close(context[i].ctx);
    }
    contexts = 0;
    return blocks;
}
