/* call_memory.c: an allocator whose blocks have fences behind them (call_memory.h). */
#include "call_memory.h"

#include <stdbool.h>
#include <string.h>

typedef struct memory {
    tl_ctx ctx; /* whose memory it is */
    call_wire *w;
} memory;

static memory *running; /* for entries of the table, which have no place for a pointer of ours */

/* Counts a step of the program; false: it is the one that fails. */
static bool may(memory *m, call_step step) {
    if (++m->w->steps != m->w->failing_step) return true;
    m->w->refused = step;
    return false;
}

static tl_status copy_in(tl_ctx *ctx, void *to, const void *host, size_t bytes) {
    TL_NEED(may(running, CALL_COPY), TL_EDEVICE, "made to fail: a copy to the device");
    return running->ctx.ops->copy_in(ctx, to, host, bytes);
}

static tl_status zero(tl_ctx *ctx, void *to, size_t bytes) {
    TL_NEED(may(running, CALL_CLEARING), TL_EDEVICE, "made to fail: the clearing of an array");
    return running->ctx.ops->zero(ctx, to, bytes);
}

/* As around a call's buffers: who only reads there gets NaN. */
static void fill_fence(unsigned char fence[CALL_FENCE]) {
#ifdef TL_REAL_DOUBLE
    const uint64_t pattern = CALL_FENCE_POISON;
#else
    const uint32_t pattern = CALL_FENCE_POISON;
#endif
    for (size_t i = 0; i < CALL_FENCE; i += sizeof pattern)
        memcpy(fence + i, &pattern, sizeof pattern);
}

static void *get(void *user, size_t bytes) {
    memory *m = user;
    unsigned char fence[CALL_FENCE];
    void *block;
    if (!may(m, CALL_REQUEST)) return NULL;
    if (tl_alloc_get(m->ctx.alloc, &block, bytes + CALL_FENCE) != TL_OK) return NULL;
    fill_fence(fence);
    if (m->ctx.ops->copy_in(&m->ctx, (char *)block + bytes, fence, CALL_FENCE) == TL_OK)
        return block;
    tl_alloc_put(m->ctx.alloc, block);
    return NULL;
}

/* Copies wait for what is queued: nobody writes to the block any more. A copy that fails says
 * nothing of the fence; the call's own results fail by it as well. */
static void put(void *user, void *block, size_t bytes) {
    memory *m = user;
    unsigned char fence[CALL_FENCE], there[CALL_FENCE];
    size_t written = 0;
    fill_fence(fence);
    if (m->ctx.ops->copy_out(&m->ctx, there, (char *)block + bytes, CALL_FENCE) == TL_OK)
        for (size_t i = 0; i < CALL_FENCE; i++) written += there[i] != fence[i];
    if (written && !m->w->overrun) { /* the first one is told */
        m->w->overrun = (int64_t)written;
        m->w->overrun_of = (int64_t)bytes;
    }
    tl_alloc_put(m->ctx.alloc, block);
}

tl_status call_run_fenced(const call_row *row, const tl_ctx *ctx, call_arguments *arguments,
                          call_wire *w) {
    memory m = {.ctx = *ctx, .w = w};
    const tl_alloc_source source = {get, put, &m};
    tl_backend ops = *ctx->ops;
    tl_ctx view = *ctx;
    ops.copy_in = copy_in;
    ops.zero = zero;
    view.ops = &ops;
    /* (each block that ctx has anew of its source has a note on the host, which stays) */
    size_t notes = tl_alloc_read_stats(ctx->alloc).source_calls;
    int64_t before = call_host_blocks();
    TL_TRY(tl_alloc_new(&view.alloc, &source));
    tl_alloc_set_exact(view.alloc);
    running = &m;
    tl_status status = row->run(&view, arguments);
    running = NULL;
    tl_alloc_free(view.alloc);
    notes = tl_alloc_read_stats(ctx->alloc).source_calls - notes;
    w->host_blocks = call_host_blocks() - before - (int64_t)notes;
    return status;
}
