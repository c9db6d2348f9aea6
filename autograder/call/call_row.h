/* call_row.h: the running side: from a call's arguments and buffers to the function that is judged.
 * A grader that talks to a worker holds none of this. */
#ifndef CALL_ROW_H
#define CALL_ROW_H

#include "wire.h"

/* What an operation's row gets: device pointers in the order of the request's buffers. */
typedef struct call_arguments {
    void *slot[CALL_BUFFERS];
    size_t slot_bytes[CALL_BUFFERS];
    const void *bytes; /* the arguments as they crossed (call_arguments.h) */
    /* the same as whole numbers, of calls that take a program or shapes */
    const int64_t *integer;
    size_t integers;
} call_arguments;

typedef tl_status (*call_run_fn)(tl_ctx *ctx, call_arguments *a);

/* One row per operation (call_test.c). */
typedef struct call_row {
    const char *name;
    call_run_fn run;
    size_t bytes; /* of arguments, the least that the row reads */
} call_row;
extern const call_row call_rows[CALL_OPS];

/* Rows that are more than one call: call_tensor.c, call_graph.c, call_train.c. */
#define CALL_OTHER_ROW(name) tl_status call_##name##_row(tl_ctx *ctx, call_arguments *a);
CALL_OTHERS(CALL_OTHER_ROW)
#undef CALL_OTHER_ROW

#endif
