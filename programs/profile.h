/* profile.h: what a training run spends on each operation, counted in the dispatch table.
 *
 * While a profile is on, ctx->ops is a table whose entries count, and then call the device's own.
 * While it is off the device's table stands there as ever: counting costs nothing when it is not
 * wanted. Where the device has a clock of its own (a GPU's events) it times the operations, which
 * are queued as ever, but no graph is recorded; else the host's clock does, and waits for each. */
#ifndef GRADLAB_PROFILE_H
#define GRADLAB_PROFILE_H

#include "origin.h"
#include "tl/backend.h"

/* zero is memory's affair, and part of a step all the same */
enum {
#define PROFILE_NUMBER(op, ...) PROFILE_##op,
#define OP                      PROFILE_NUMBER
#define OP_FUSED                PROFILE_NUMBER
#include "tl/ops.def"
#undef PROFILE_NUMBER
    PROFILE_zero,
    PROFILE_OPS
};

typedef struct profile_count {
    uint64_t calls;
    double seconds;      /* with all operations that ran inside */
    double bytes, flops; /* what the operation must at least read and write, and compute */
} profile_count;

/* A call that the device's clock times: known when both moments have passed. */
typedef struct profile_call {
    int caller, op;
    void *begin, *end;
} profile_call;

enum { PROFILE_CALLS = 1024 };

typedef struct profile {
    tl_backend table; /* first member: an entry finds its profile through ctx->ops */
    const tl_backend *inner;
    int running; /* the operation that runs now, or -1: the caller of what comes next */
    profile_count count[PROFILE_OPS + 1]
                       [PROFILE_OPS]; /* by caller (the last: none) and operation */
    profile_call call[PROFILE_CALLS]; /* those not yet known; their moments are used again */
    int calls;
} profile;

void profile_on(profile *p, tl_ctx *ctx);
tl_status profile_off(profile *p, tl_ctx *ctx); /* waits for what the device still has to do */

/* Writes one line per operation (and caller) to PATH; steps: training steps while it was on. */
tl_status profile_write(const profile *p, const char *path, const origin *o, uint64_t steps,
                        int batch);

#endif
