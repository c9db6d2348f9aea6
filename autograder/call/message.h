/* message.h: calls as bytes between a grader and its worker. Known to call_remote*.c and the
 * worker.
 *
 * Grader to worker on its file 3: a request, its arguments, its frames. Back on file 4: a reply,
 * the same frames. Both ends are built from these structs in one make run on one machine, so they
 * cross as they lie in memory; magic number and sizes catch everything else. On file 5 the worker
 * leaves lines about its own end and hostcuda its messages; nothing in them can give a point. */
#ifndef CALL_MESSAGE_H
#define CALL_MESSAGE_H

#include "call_arguments.h"
#include "wire.h"

enum { MESSAGE_REQUESTS = 3, MESSAGE_REPLIES = 4, MESSAGE_LINES = 5 };

/* OPEN comes first: a device may take seconds to open, which no call of a student may. */
typedef enum message_kind { MESSAGE_OPEN = 1, MESSAGE_CALL, MESSAGE_CLOSE } message_kind;

typedef struct message_request {
    uint64_t magic, serial; /* the reply repeats the serial number */
    uint32_t kind, op;
    char device[16], rungs[48];
    int32_t threads, precision, slots, frames, recorded, counted, launches_fail, failing_launch,
        failing_step;
    uint64_t column_bytes, argument_bytes;
    int32_t slot_frame[CALL_BUFFERS];
    uint64_t frame_bytes[CALL_BUFFERS];
    uint32_t inputs, outputs;
} message_request;

typedef struct message_reply {
    uint64_t magic, serial;
    int32_t status, reached;
    int64_t live_bytes, overrun, overrun_of;
    int64_t steps, refused, refused_nth, host_blocks, bad_puts;
    uint64_t kept[CALL_KEPT];
    int64_t blocks; /* of MESSAGE_CLOSE */
    int64_t counter[CALL_COUNTERS];
    call_launch launch;
    call_sites sites;
    char error[CALL_TEXT];
    uint64_t bytes; /* of the frames that follow */
} message_reply;

/* First of both structs. It differs where these structs, a row of ops.def, a geometry's size or
 * tl_real do, so that a grader and a worker of different builds notice before they misunderstand
 * each other. (FNV-1a: Fowler, Noll, Vo) */
static inline uint64_t message_magic(void) {
    static const struct {
        const char *text;
        size_t bytes;
    } rows[] = {
#define MESSAGE_ROW(op, ...) {#op " " #__VA_ARGS__, sizeof(call_##op##_arguments)},
#define OP                   MESSAGE_ROW
#define OP_CUDA              MESSAGE_ROW
#define OP_FUSED             MESSAGE_ROW
#include "tl/ops.def"
#undef MESSAGE_ROW
        {"request", sizeof(message_request)},
        {"reply", sizeof(message_reply)},
        {"real", sizeof(tl_real)},
    };
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (const char *at = rows[i].text; *at; at++)
            hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001B3);
        hash = (hash ^ rows[i].bytes) * UINT64_C(0x100000001B3);
    }
    return hash;
}

/* Exit codes by which a worker tells why it left. A student's exit may use them too, and then is
 * named wrongly; but those that accuse the grader or the machine are believed of a worker alone
 * that has not answered yet, so that nobody gets out of a verdict by them. */
enum {
    WORKER_SANITIZED = 119, /* by {A,UB}SAN_OPTIONS: a sanitizer has stopped it */
    WORKER_NOT_STARTED,
    WORKER_CRASHED,
    WORKER_LOST_PIPE,
    WORKER_NO_MEMORY,
    WORKER_BAD_REQUEST,
    WORKER_WITHOUT_BOX, /* by autograder/box/ */
    WORKER_ENDED        /* by autograder/box/, of which it is believed at any time: from outside */
};

/* Lines on file 5, besides hostcuda's own "file:line: hostcuda [kind]: text":
 *   "crash SIGNAL ADDRESS DATA_MB"  and then, innermost first,  "frame MODULE 0xOFFSET" */

#endif
