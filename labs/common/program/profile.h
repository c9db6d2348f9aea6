/* profile.h: what a training run spends on each operation, counted in the dispatch table.
 *
 * While a profile is on, ctx->ops is a table whose entries count, and then call the device's own.
 * While it is off the device's table stands there as ever: counting costs nothing when it is not
 * wanted. Every operation is waited for, so a GPU's run is slower than usual and its graphs are
 * off. */
#ifndef GRADLAB_PROFILE_H
#define GRADLAB_PROFILE_H

#include "origin.h"
#include "tl/backend.h"

#define PROFILE_NAME(name, arguments) PROFILE_##name,
/* zero is memory's affair, and part of a step all the same */
enum { TL_BACKEND_OPS(PROFILE_NAME) TL_BACKEND_FUSED(PROFILE_NAME) PROFILE_zero, PROFILE_OPS };
#undef PROFILE_NAME

typedef struct profile_count {
    uint64_t calls;
    double seconds;      /* with everything that ran inside */
    double bytes, flops; /* what the operation must at least read and write, and compute */
} profile_count;

typedef struct profile {
    tl_backend table; /* first member: an entry finds its profile through ctx->ops */
    const tl_backend *inner;
    int running; /* the operation that runs now, or -1: the caller of what comes next */
    profile_count count[PROFILE_OPS + 1]
                       [PROFILE_OPS]; /* by caller (the last: none) and operation */
    double seconds;                   /* between on and off */
    double begin;
} profile;

void profile_on(profile *p, tl_ctx *ctx);
void profile_off(profile *p, tl_ctx *ctx);

/* Writes one line per operation (and caller) to PATH; steps: training steps while it was on. */
tl_status profile_write(const profile *p, const char *path, const origin *o, uint64_t steps,
                        int batch);

#endif
