/* hostile.h: what a submission may do to the process that runs it.
 *
 * One file per deed; each is called from within an operation, with the arrays of that operation,
 * and afterwards the operation does its work as the reference does. So a deed without consequence
 * costs nothing, and any other is named by its kind. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stddef.h>

#include "tl/context.h"

/* out has n elements, in at least one; both on the device, which here is the host. */
typedef struct hostile_call {
    tl_ctx *ctx;
    tl_real *out;
    size_t n;
    const tl_real *in;
} hostile_call;

typedef void (*hostile_deed)(const hostile_call *call);

/* The deed that the program's name asks for: hostile-DEED-OPERATION; nothing if it is another
 * operation's. */
void hostile_do(const char *operation, const hostile_call *call);

#define HOSTILE_DEEDS(X)                                                                           \
    X(aborts)                                                                                      \
    X(allocates_without_end)                                                                       \
    X(changes_its_input)                                                                           \
    X(closes_every_file)                                                                           \
    X(closes_its_output)                                                                           \
    X(crashes)                                                                                     \
    X(damages_the_heap)                                                                            \
    X(dawdles)                                                                                     \
    X(divides_by_zero)                                                                             \
    X(exits)                                                                                       \
    X(exits_with_a_code)                                                                           \
    X(floods)                                                                                      \
    X(forges_a_reply)                                                                              \
    X(forges_a_verdict)                                                                            \
    X(forks)                                                                                       \
    X(kills_its_parent)                                                                            \
    X(kills_itself)                                                                                \
    X(leaks_memory)                                                                                \
    X(leaves_a_thread)                                                                             \
    X(loops)                                                                                       \
    X(poses_as_a_broken_worker)                                                                    \
    X(reads_far_away)                                                                              \
    X(recurses)                                                                                    \
    X(sleeps)                                                                                      \
    X(survives_signals)                                                                            \
    X(takes_its_time)                                                                              \
    X(writes_before_the_start)                                                                     \
    X(writes_garbage)                                                                              \
    X(writes_past_the_end)

#define HOSTILE_DECLARE(deed) void hostile_##deed(const hostile_call *call);
HOSTILE_DEEDS(HOSTILE_DECLARE)
#undef HOSTILE_DECLARE

#endif
