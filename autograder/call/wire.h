/* wire.h: a call as it crosses to the side that runs it. Known to autograder/call and the worker.
 *
 * A frame is fence, data, fence. The running side copies whole frames to the device and back, and
 * looks at nothing: what is in them is the suite's business. */
#ifndef CALL_WIRE_H
#define CALL_WIRE_H

#include "call.h"

/* Keeps the data as aligned as the allocator's blocks are. */
enum { CALL_FENCE = 256 };

/* Of the places at which host memory was taken that a call keeps. */
enum { CALL_KEPT = 8 };

/* What single instructions of the plug-in cost, the dearest, in a counted call. */
enum { CALL_SITES = 64 };
typedef struct call_site {
    uint64_t offset; /* as addr2line takes it */
    int64_t sectors, shared_requests, conflicts;
} call_site;
typedef struct call_sites {
    int32_t count;
    char module[60]; /* the name of the plug-in's file */
    call_site site[CALL_SITES];
} call_sites;

typedef struct call_wire {
    /* there */
    call_target target;
    int failing_launch; /* the number of the launch that fails, from 1 on; 0: none */
    int failing_step;   /* the same of its steps */
    call_op op;
    const void *arguments;
    size_t argument_bytes;
    int slots, slot_frame[CALL_BUFFERS]; /* frame behind each argument, -1: NULL */
    int frames;
    size_t frame_bytes[CALL_BUFFERS]; /* with both fences */
    unsigned char *frame[CALL_BUFFERS];
    uint32_t inputs, outputs; /* a bit for each frame */
    /* and back: the frames, and */
    bool reached; /* the operation itself was called: what failed before is not its fault */
    tl_status status;
    char error[CALL_TEXT];
    int64_t live_bytes;
    /* bytes written behind a block that the call took from the allocator, and its length */
    int64_t overrun, overrun_of;
    /* its steps, which was made to fail (call_step), how many of that kind there were up to it, the
     * blocks of host memory that it kept, and how often it gave back what was no block of the
     * allocator (any more) */
    int64_t steps, refused, refused_nth, host_blocks, bad_puts;
    size_t kept[CALL_KEPT]; /* where these blocks were taken: addresses in the program; 0: none */
    int64_t counter[CALL_COUNTERS];
    call_launch launch;
    call_sites sites;
    /* how the process of the judged code came to its end: a kind and a line; "" while it lives */
    char kind[CALL_KIND], ended[CALL_TEXT];
} call_wire;

/* What step n fails with: a status that nobody else returns, so that one who returns another one
 * shows. Memory that ran out has its own: TL_ENOMEM. */
static inline tl_status call_refusal(int64_t n) { return (tl_status)(4096 + n); }

static inline bool call_is_of_table(call_op op) { return (unsigned)op < CALL_tensor_new; }

/* A single sum has one output: who loads is counted, not who stores. */
static inline bool call_work_is_loading(call_op op) { return op == CALL_sum; }

/* Opens the context of a target, if it is not open, as its first call would. call_direct.c */
tl_status call_open(const call_target *target);

/* In a worker: from now on who does the work of an operation is counted, where hostcuda can tell,
 * and the operation's host code is guarded. call_direct.c */
void call_watch_work(void);

/* ", taken by new_param (module.c:33)", of blocks that one call keeps and `good` (NULL: none) does
 * not; "" where that cannot be told. In this process it cannot. */
void call_say_kept(const call_wire *w, const call_wire *good, char text[CALL_TEXT]);

/* Runs the call: call_direct.c in this process, call_remote.c in a process of its own. */
void call_execute(call_wire *wire);

#endif
