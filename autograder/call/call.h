/* call.h: the one door between a suite and the code that it judges.
 *
 * A call is plain data: which operation, on which device, integers, numbers and buffers. Nothing in
 * it is a pointer into the judged code, so it can be run in this process (call_direct.c) or be
 * forwarded to a process that holds untrusted code, and no suite can tell the difference.
 *
 * Around every buffer lie fences, and outputs arrive poisoned. Both are signalling NaNs: code that
 * only reads them gets NaN, and code that adds to them turns them quiet, which shows. Fences,
 * inputs and poison are judged on the suite's side, from the bytes that came back. */
#ifndef CALL_H
#define CALL_H

#include <stddef.h>
#include <stdint.h>

#include "tl/backend.h"
#include "tl/status.h"

/* Every entry of the dispatch table, then the functions of students' files that are not in it. */
typedef enum call_op {
#define CALL_OP_NUMBER(name, arguments) CALL_##name,
    TL_BACKEND_OPS(CALL_OP_NUMBER)
#undef CALL_OP_NUMBER
        CALL_tensor_new,
    CALL_tensor_view,
    CALL_tensor_offset,
    CALL_tensor_same_shape,
    CALL_tensor_copy,
    CALL_init,
    CALL_schedule_lr,
    CALL_graph, /* a program of autograd instructions: graph.h */
    CALL_train, /* a net, its data, and a program of training instructions: train.h */
    CALL_OPS
} call_op;

/* Where to run. column_bytes is what the convolution may use for columns: small values force
 * chunks of one image. */
typedef struct call_target {
    const char *device, *rungs;
    int threads;
    size_t column_bytes;
} call_target;

typedef enum call_type { CALL_REAL, CALL_INT32, CALL_BYTES } call_type;

/* OUT arrives poisoned, INOUT with the suite's content; IN must come back unchanged; the content of
 * SCRATCH is nobody's, but its fences are judged. */
typedef enum call_role { CALL_IN, CALL_OUT, CALL_INOUT, CALL_SCRATCH } call_role;

/* Two buffers with the same host pointer are one array on the device: an operation in place. A NULL
 * host pointer reaches the operation as NULL, except for SCRATCH, which has no host side. */
typedef struct call_buffer {
    const char *name; /* "dx", for messages */
    call_type type;
    call_role role;
    size_t count; /* elements of the type */
    void *host;   /* OUT and INOUT are written back only if the call returned TL_OK */
} call_buffer;

enum { CALL_BUFFERS = 12, CALL_NUMBERS = 8, CALL_TEXT = 512 };

typedef struct call_request {
    call_op op;
    const int64_t *integer; /* meaning: the operation's row in call_table.c */
    size_t integers;
    double number[CALL_NUMBERS];
    call_buffer buffer[CALL_BUFFERS];
    int buffers;
} call_request;

typedef struct call_report {
    tl_status status;
    char error[CALL_TEXT]; /* the line of tl_error, "" after TL_OK */
    /* What the operation did that it must not do, in words: a broken fence, a changed input, an
     * element never written, memory not given back. "" if it behaved. */
    char fault[CALL_TEXT];
    int64_t live_bytes; /* handed out by the allocator after the call, less before it */
} call_report;

/* Runs one call and judges its manners. The report is complete in every case. */
void call_run(const call_target *target, const call_request *request, call_report *report);

/* The name of an operation as in tl/backend.h. */
const char *call_op_name(call_op op);

/* Closes the cached contexts of this process. Returns the blocks that were still handed out. */
size_t call_close(void);

#endif
