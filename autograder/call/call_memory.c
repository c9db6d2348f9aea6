/* call_memory.c: an allocator whose blocks have fences behind them (call_memory.h). */
#include "call_memory.h"
#include "call_steps.h"

#include <stdbool.h>
#include <string.h>

/* Fences are copied on the device, from a pattern and at the end of each block to a collection,
 * which comes to the host when it is full: a copy to the host waits, and to wait is dear on
 * hostcuda where there are many blocks. */
enum { COLLECTED = 1000 };

typedef struct memory {
    tl_ctx ctx; /* whose memory it is */
    call_wire *w;
    /* of the device: a fence, as much of what nobody has written, and up to COLLECTED fences */
    unsigned char *pattern, *unwritten, *collected;
    size_t length[COLLECTED]; /* of the block in front of each */
    size_t count;
} memory;

#ifdef TL_REAL_DOUBLE
typedef uint64_t real_bits;
#else
typedef uint32_t real_bits;
#endif

/* As around a call's buffers: who only reads there gets NaN. */
static void fill_with(unsigned char fence[CALL_FENCE], real_bits pattern) {
    for (size_t i = 0; i < CALL_FENCE; i += sizeof pattern)
        memcpy(fence + i, &pattern, sizeof pattern);
}

/* The first fence that was written to is told. */
static tl_status judge_collected(memory *m) {
    static unsigned char there[COLLECTED][CALL_FENCE];
    unsigned char fence[CALL_FENCE];
    size_t count = m->count;
    m->count = 0;
    fill_with(fence, CALL_FENCE_POISON);
    TL_TRY(m->ctx.ops->copy_out(&m->ctx, there, m->collected, count * CALL_FENCE));
    for (size_t f = 0; f < count && !m->w->overrun; f++) {
        for (size_t i = 0; i < CALL_FENCE; i++) m->w->overrun += there[f][i] != fence[i];
        m->w->overrun_of = (int64_t)m->length[f];
    }
    return TL_OK;
}

static void *get_fenced(memory *m, size_t bytes) {
    void *block;
    if (tl_alloc_get(m->ctx.alloc, &block, bytes + CALL_FENCE) != TL_OK) return NULL;
    if (m->ctx.ops->copy(&m->ctx, (char *)block + bytes, m->pattern, CALL_FENCE) == TL_OK)
        return block;
    tl_alloc_put(m->ctx.alloc, block);
    return NULL;
}

static void *get(void *user, size_t bytes) {
    if (call_step_now(CALL_REQUEST) != TL_OK) return NULL;
    call_steps_pause(true);
    void *block = get_fenced(user, bytes);
    call_steps_pause(false);
    return block;
}

/* Fills a block, fence and all, with what says "nobody has written this": who still reads it, or
 * takes it next and reads before writing, gets NaN, and not that of a fence. Copies double. */
static void forget(memory *m, char *block, size_t bytes) {
    size_t done = bytes < CALL_FENCE ? bytes : CALL_FENCE;
    tl_status status = m->ctx.ops->copy(&m->ctx, block, m->unwritten, done);
    while (status == TL_OK && done < bytes) {
        size_t more = bytes - done < done ? bytes - done : done;
        status = m->ctx.ops->copy(&m->ctx, block + done, block, more);
        done += more;
    }
}

/* What is queued comes first, so nobody writes to the block any more. A copy that fails says
 * nothing of the fence; the call's own results fail by it as well. */
static void put(void *user, void *block, size_t bytes) {
    memory *m = user;
    unsigned char *to = m->collected + m->count * CALL_FENCE;
    if (m->ctx.ops->copy(&m->ctx, to, (char *)block + bytes, CALL_FENCE) == TL_OK)
        m->length[m->count++] = bytes;
    if (m->count == COLLECTED) (void)judge_collected(m);
    forget(m, block, bytes + CALL_FENCE);
    tl_alloc_put(m->ctx.alloc, block);
}

static tl_status open_memory(memory *m) {
    unsigned char fences[2][CALL_FENCE];
    void *block;
    TL_TRY(tl_alloc_get(m->ctx.alloc, &block, (COLLECTED + 2) * CALL_FENCE));
    m->pattern = block;
    m->unwritten = m->pattern + CALL_FENCE;
    m->collected = m->unwritten + CALL_FENCE;
    fill_with(fences[0], CALL_FENCE_POISON);
    fill_with(fences[1], CALL_POISON);
    return m->ctx.ops->copy_in(&m->ctx, m->pattern, fences, sizeof fences);
}

/* The row with its own allocator and table. */
static tl_status run(memory *m, const call_row *row, call_arguments *arguments) {
    const tl_alloc_source source = {get, put, m};
    tl_backend ops = *m->ctx.ops;
    tl_ctx view = m->ctx;
    call_steps_table(&ops);
    view.ops = &ops;
    TL_TRY(tl_alloc_new(&view.alloc, &source));
    tl_alloc_set_exact(view.alloc);
    call_steps_begin(m->w, m->ctx.ops);
    tl_status status = row->run(&view, arguments);
    call_steps_end();
    tl_alloc_free(view.alloc);
    return status;
}

tl_status call_run_fenced(const call_row *row, const tl_ctx *ctx, call_arguments *arguments,
                          call_wire *w) {
    memory m = {.ctx = *ctx, .w = w};
    tl_status status = open_memory(&m);
    /* (each block that ctx has anew of its source has a note on the host, which stays) */
    size_t notes = tl_alloc_read_stats(ctx->alloc).source_calls;
    int64_t before = call_host_blocks();
    call_host_forget();
    if (status == TL_OK) status = run(&m, row, arguments);
    notes = tl_alloc_read_stats(ctx->alloc).source_calls - notes;
    w->host_blocks = call_host_blocks() - before - (int64_t)notes;
    if (w->host_blocks > 0) call_host_kept(w->kept);
    tl_status judged = m.count ? judge_collected(&m) : TL_OK;
    if (status == TL_OK) status = judged;
    tl_alloc_put(ctx->alloc, m.pattern);
    return status;
}
