/* call.h: the one door between a suite and the code that it judges.
 *
 * A call is plain data: which operation, on which device, arguments and buffers. Nothing in
 * it is a pointer into the judged code, so it can be run in this process (call_direct.c) or be
 * forwarded to a process that holds untrusted code, and no suite can tell the difference.
 *
 * Around every buffer lie fences, and outputs arrive poisoned. Both are signalling NaNs: code that
 * only reads them gets NaN, and code that adds to them turns them quiet, which shows. Fences,
 * inputs and poison are judged on the suite's side, from the bytes that came back. */
#ifndef CALL_H
#define CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tl/backend.h"
#include "tl/status.h"

/* Functions of students' files that are no operation of the dispatch table. graph: a program of
 * autograd instructions (graph.h); train: a net, its data, and a program of training instructions
 * (train.h). */
#define CALL_OTHERS(X)                                                                             \
    X(tensor_new)                                                                                  \
    X(tensor_view)                                                                                 \
    X(tensor_offset)                                                                               \
    X(tensor_same_shape)                                                                           \
    X(tensor_copy)                                                                                 \
    X(init)                                                                                        \
    X(schedule_lr)                                                                                 \
    X(graph)                                                                                       \
    X(train)

/* What can be called: every row of tl/ops.def, then the others. */
typedef enum call_op {
#define CALL_NUMBER(op, ...) CALL_##op,
#define OP                   CALL_NUMBER
#define OP_CUDA              CALL_NUMBER
#define OP_FUSED             CALL_NUMBER
#include "tl/ops.def"
    CALL_OTHERS(CALL_NUMBER) CALL_OPS
#undef CALL_NUMBER
} call_op;

/* What the judged code asks others for, and may be refused (call_steps.h). CALL_STEPS and the
 * number of an operation: that operation. */
typedef enum call_step {
    CALL_NO_STEP,
    CALL_REQUEST,
    CALL_HOST_REQUEST,
    CALL_COPY,
    CALL_COPY_OUT,
    CALL_COPY_WITHIN,
    CALL_CLEARING,
    CALL_STEP_SET,
    CALL_WRAPPING,
    CALL_RECORDING,
    CALL_STEPS
} call_step;

/* Where to run. column_bytes is what the convolution may use for columns: small values force
 * chunks of one image. */
typedef struct call_target {
    const char *device, *rungs;
    int threads;
    tl_precision precision; /* of products (tl/precision.h) */
    size_t column_bytes;
    /* Where the device can: the operation is recorded as part of a step and then run. What does not
     * belong into a step fails: waiting, copying to the host, allocating. */
    bool recorded;
    /* hostcuda's check build: memory traffic is counted, which takes time. */
    bool counted;
    /* hostcuda: after a call that went well the same is done again once for each of its launches,
     * which fails then. Who never asks for the error of a launch returns TL_OK all the same. And
     * what it queues outside the context's stream is reported. */
    bool launches_fail;
    /* After a call that went well the same is run again once for each of its steps (call_step),
     * which fails then. Who returns TL_OK all the same, or another status than he was given, or
     * holds memory afterwards, is at fault. */
    bool steps_fail;
    /* Which of the claim's processes, where each has its own: none has seen the calls of another,
     * so what it answers it has computed. */
    int worker;
} call_target;
enum { CALL_WORKERS = 5 };

typedef enum call_type { CALL_REAL, CALL_INT32, CALL_BYTES } call_type;

/* OUT arrives poisoned, INOUT with the suite's content; IN must come back unchanged; the content of
 * SCRATCH is nobody's, but its fences are judged. */
typedef enum call_role { CALL_IN, CALL_OUT, CALL_INOUT, CALL_SCRATCH } call_role;

/* The bits of outputs before a call and of what lies around every buffer. A quiet NaN with the same
 * payload has gone through arithmetic. */
#ifdef TL_REAL_DOUBLE
#define CALL_POISON       UINT64_C(0x7FF5A5A5A5A5A5A5)
#define CALL_FENCE_POISON UINT64_C(0x7FF39B9B9B9B9B9B)
#else
#define CALL_POISON       UINT32_C(0x7FA5A5A5)
#define CALL_FENCE_POISON UINT32_C(0x7F9B9B9B)
#endif
#define CALL_INT_POISON UINT32_C(0x9E5A5A5A)

/* Two buffers with the same host pointer are one array on the device: an operation in place. A NULL
 * host pointer reaches the operation as NULL, except for SCRATCH, which has no host side. */
typedef struct call_buffer {
    const char *name; /* "dx", for messages */
    call_type type;
    call_role role;
    size_t count; /* elements of the type */
    void *host;   /* OUT and INOUT are written back only if the call returned TL_OK */
} call_buffer;

enum { CALL_BUFFERS = 12, CALL_TEXT = 512, CALL_KIND = 24 };

typedef struct call_request {
    call_op op;
    const void *arguments; /* call_arguments.h */
    size_t argument_bytes;
    call_buffer buffer[CALL_BUFFERS];
    int buffers;
} call_request;

/* What the device counted during a call; -1 where it does not count. */
typedef enum call_counter {
    CALL_LAUNCHES,  /* kernels, and calls of cuBLAS */
    CALL_SECTORS,   /* of global memory, and waits for a bank of shared memory: the check build */
    CALL_CONFLICTS, /* counts them, for operations whose claims ask for it (tl/conv3x3.h) */
    CALL_REQUESTS,  /* of warps for global memory: as above; */
    CALL_SHARED,    /* and for shared memory */
    CALL_STORERS,   /* threads whose values stand in the outputs; the check build knows, and */
    CALL_LOADERS,   /* threads that were the last to load an element of an input, */
    CALL_CARRIED,   /* words of outputs that a copy brought, */
    CALL_TO_HOST,   /* and bytes of device memory that the host was given */
    CALL_COUNTERS
} call_counter;
extern const char *const call_counter_names[CALL_COUNTERS];

/* In the line of a constructor that has failed and left its result set. */
#define CALL_LEFT_SET "left *t set"

/* In the line of what was refused in a step (call_steps.h). */
#define CALL_IN_A_STEP " was called by an operation or a rule, which only queue work"

/* A launch of a kernel, as the process of the judged code tells it: for messages alone. */
typedef struct call_launch {
    char kernel[48]; /* "" where nobody can tell, or none was */
    uint32_t grid[3], block[3];
} call_launch;

typedef struct call_report {
    tl_status status;
    char error[CALL_TEXT]; /* the line of tl_error, "" after TL_OK */
    /* What the operation did that it must not do: a broken fence, a changed input, an element never
     * written, memory not given back. One word and one line, "" if it behaved. */
    char kind[CALL_KIND], fault[CALL_TEXT];
    /* The judged code's process is gone or of no more use: kind and fault say how it ended, and no
     * further call can be made. */
    bool ended;
    bool reached;       /* the operation was called: a failure without that is not its own */
    int64_t live_bytes; /* handed out by the allocator after the call, less before it */
    size_t live_blocks; /* of call_close: handed out and never given back */
    int64_t counter[CALL_COUNTERS];
    call_launch launch; /* the one that did most of the work that is counted */
} call_report;

/* Runs one call and judges its manners. The report is complete in every case. */
void call_run(const call_target *target, const call_request *request, call_report *report);

/* The name of an operation as in tl/ops.def; NULL for a number that is none. */
const char *call_op_name(call_op op);

/* An operation of the table of which a call came to its end in this process, on a device that
 * counts launches, and had launched nothing: its result was not computed there. NULL: none. */
const char *call_idle_op(void);

/* The same of an operation in whose largest call too few threads did the work: stored what stands
 * in its outputs or, for a single sum, loaded its input. NULL: none. */
typedef struct call_sharing {
    const char *op;
    size_t pieces, enough;     /* what could be shared, and the threads that are enough for that */
    int64_t threads, launches; /* launches: of the whole call */
    call_launch launch;
    char described[512]; /* which call it was */
} call_sharing;
const call_sharing *call_shared_by_few(void);

/* What a message is to say of the calls that follow: operation, device, shapes. The text may
 * change from call to call. */
void call_describe(const char *text);

/* Closes the cached contexts, or the process that holds them; no call can follow. The report says
 * what is known only now: blocks still handed out; in kind and fault, how the process ended. */
void call_close(call_report *report);

/* Around all tests of a program, in the process that starts them. */
void call_run_begin(void);
void call_run_end(void);

/* What is known of the process that holds the judged code; empty in a direct link. */
enum { CALL_LINES = 8, CALL_LINE = 400, CALL_OUTPUT = 4000 };
typedef struct call_evidence {
    char file[64]; /* of the judged code, where it crashed or was warned of; "" if not known */
    int line;
    char backtrace[CALL_LINES][CALL_LINE]; /* "im2col.c:42 copy_tap", innermost first */
    int frames;
    char checker[CALL_LINES][CALL_LINE]; /* messages of hostcuda: "im2col.cu:17: hostcuda […]: …" */
    int checkers;
    char output[CALL_OUTPUT + 1]; /* what it printed: the first bytes, any bytes */
    size_t output_bytes;          /* stored in output; output_total were printed */
    size_t output_total;
    double cpu_s; /* that its calls took */
} call_evidence;
const call_evidence *call_evidence_now(void);

/* Which lines of the judged code made the memory traffic of the latest counted call: the dearest
 * first. Returns how many; none in a direct link. It words a verdict, and decides none. */
enum { CALL_COSTS = 8 };
typedef struct call_cost {
    char file[64];
    int line;
    int64_t sectors, shared_requests, conflicts;
} call_cost;
int call_costs_by_line(call_cost out[CALL_COSTS]);

#endif
