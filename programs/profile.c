/* profile.c: counting entries of the dispatch table (profile.h). */
#include "profile.h"

#include <string.h>

#include "moved.h"
#include "progress.h"

/* ---- around every call ---- */

/* A step is queued faster than a GPU runs it only if the GPU waits: for so long before each. */
enum { HOLD_MICROSECONDS = 5000 };

/* A call that has begun. */
typedef struct begun {
    int caller;
    double begin;      /* by the host's clock */
    profile_call *own; /* by the device's, else NULL */
    tl_status status;  /* of what was done for the clock */
} begun;

static profile_count *count_of(profile *p, int caller, int op) {
    return &p->count[caller < 0 ? PROFILE_OPS : caller][op];
}

/* Adds the times of all calls that the device has done, or has yet to do. */
static tl_status settle(profile *p, tl_ctx *ctx) {
    for (int i = 0; i < p->calls; i++) {
        const profile_call *c = &p->call[i];
        double seconds;
        TL_TRY(p->inner->between(ctx, c->begin, c->end, &seconds));
        count_of(p, c->caller, c->op)->seconds += seconds;
    }
    p->calls = 0;
    return TL_OK;
}

/* Calls inside of calls are open while others begin, so the list is emptied between the outermost
 * ones alone, early enough for whatever one of them calls. */
static tl_status begin_on_device(profile *p, tl_ctx *ctx, begun *b, int op) {
    if (b->caller < 0 && p->calls > PROFILE_CALLS / 2) TL_TRY(settle(p, ctx));
    if (b->caller < 0 && op == PROFILE_batch_load) /* the first of a step */
        TL_TRY(p->inner->hold(ctx, HOLD_MICROSECONDS));
    TL_NEED(p->calls < PROFILE_CALLS, TL_EINVAL, "an operation called more than %d others",
            PROFILE_CALLS / 2);
    b->own = &p->call[p->calls++];
    b->own->caller = b->caller;
    b->own->op = op;
    return p->inner->mark(ctx, &b->own->begin);
}

static begun enter(tl_ctx *ctx, int op) {
    profile *p = (profile *)ctx->ops;
    begun b = {.caller = p->running};
    p->running = op;
    if (p->inner->mark)
        b.status = begin_on_device(p, ctx, &b, op);
    else
        b.status = p->inner->sync(ctx); /* what was queued before is not this operation's */
    b.begin = now_seconds();
    return b;
}

static tl_status leave(tl_ctx *ctx, begun b, tl_status status, double bytes, double flops) {
    profile *p = (profile *)ctx->ops;
    profile_count *c = count_of(p, b.caller, p->running);
    tl_status done = b.status;
    if (b.own && done == TL_OK) done = p->inner->mark(ctx, &b.own->end);
    if (!b.own && done == TL_OK) {
        done = p->inner->sync(ctx);
        c->seconds += now_seconds() - b.begin;
    }
    c->calls++;
    c->bytes += bytes;
    c->flops += flops;
    p->running = b.caller;
    return status == TL_OK ? done : status;
}

/* ---- the entries ---- */

#define COUNTED(op, lab, flops, ...)                                                               \
    static tl_status counted_##op(tl_ctx *ctx TL_EACH(TL_PARAM, __VA_ARGS__)) {                    \
        begun call = enter(ctx, PROFILE_##op);                                                     \
        const tl_backend *inner = ((const profile *)ctx->ops)->inner;                              \
        tl_status status = inner->op(ctx TL_EACH(TL_NAME, __VA_ARGS__));                           \
        return leave(ctx, call, status, 0.0 TL_EACH(MOVED, __VA_ARGS__), flops);                   \
    }
#define OP       COUNTED
#define OP_FUSED COUNTED
#include "tl/ops.def"

static tl_status counted_zero(tl_ctx *ctx, void *y, size_t bytes) {
    begun call = enter(ctx, PROFILE_zero);
    tl_status status = ((const profile *)ctx->ops)->inner->zero(ctx, y, bytes);
    return leave(ctx, call, status, (double)bytes, 0);
}

/* ---- on, off, out ---- */

void profile_on(profile *p, tl_ctx *ctx) {
    p->inner = ctx->ops;
    p->table = *ctx->ops;
    p->running = -1;
    p->table.zero = counted_zero;
    /* a fused operation that the device lacks must go on being NULL */
#define TAKE(op, ...)                                                                              \
    if (p->inner->op) p->table.op = counted_##op;
#define OP       TAKE
#define OP_FUSED TAKE
#include "tl/ops.def"
    ctx->ops = &p->table;
}

tl_status profile_off(profile *p, tl_ctx *ctx) {
    ctx->ops = p->inner;
    tl_status status = settle(p, ctx);
    for (int i = 0; i < PROFILE_CALLS && p->inner->mark; i++) {
        p->inner->mark_free(ctx, p->call[i].begin);
        p->inner->mark_free(ctx, p->call[i].end);
    }
    memset(p->call, 0, sizeof p->call);
    return status;
}

static const char *const op_name[] = {
#define NAME(op, ...) #op,
#define OP            NAME
#define OP_FUSED      NAME
#include "tl/ops.def"
    "zero", ""};

tl_status profile_write(const profile *p, const char *path, const origin *o, uint64_t steps,
                        int batch) {
    jsonl j;
    tl_status status = jsonl_open(&j, path, false);
    for (int caller = 0; caller <= PROFILE_OPS && status == TL_OK; caller++) {
        for (int op = 0; op < PROFILE_OPS && status == TL_OK; op++) {
            const profile_count *c = &p->count[caller][op];
            if (c->calls == 0) continue;
            origin_begin(&j, "profile", o);
            jsonl_text(&j, "op", op_name[op]);
            jsonl_text(&j, "within", op_name[caller]);
            jsonl_whole(&j, "calls", c->calls);
            jsonl_number(&j, "seconds", c->seconds);
            jsonl_number(&j, "bytes", c->bytes);
            jsonl_number(&j, "flops", c->flops);
            jsonl_whole(&j, "steps", steps);
            jsonl_whole(&j, "batch", (uint64_t)batch);
            status = jsonl_end(&j);
        }
    }
    jsonl_close(&j);
    return status;
}
