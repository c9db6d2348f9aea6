/* call_row.h: the running side: from a call's numbers and buffers to the function that is judged.
 * A grader that talks to a worker holds none of this. */
#ifndef CALL_ROW_H
#define CALL_ROW_H

#include "wire.h"

/* What an operation's row gets: device pointers in the order of the request's buffers. */
typedef struct call_arguments {
    void *slot[CALL_BUFFERS];
    size_t slot_bytes[CALL_BUFFERS];
    const int64_t *integer;
    size_t integers;
    const double *number;
    union {
        tl_matmul_geom matmul;
        tl_conv2d_geom conv2d;
        tl_pool2d_geom pool2d;
        tl_linear_geom linear;
        tl_batchnorm_geom batchnorm;
        tl_dropout_geom dropout;
        tl_sgd_options sgd;
        tl_adam_options adam;
        tl_batch_geom batch;
        tl_conv3x3_geom conv3x3;
    } geom;
    tl_device_split split;
} call_arguments;

typedef tl_status (*call_run_fn)(tl_ctx *ctx, call_arguments *a);

/* One row per operation (call_test.c). */
typedef struct call_row {
    const char *name;
    call_run_fn run;
    size_t integers; /* the least that the row reads */
} call_row;
extern const call_row call_rows[CALL_OPS];

/* call_graph.c, call_train.c and call_tensor.c: rows that are more than one call. */
tl_status call_graph_row(tl_ctx *ctx, call_arguments *a);
tl_status call_train_row(tl_ctx *ctx, call_arguments *a);
tl_status call_tensor_new_row(tl_ctx *ctx, call_arguments *a);
tl_status call_tensor_view_row(tl_ctx *ctx, call_arguments *a);
tl_status call_tensor_offset_row(tl_ctx *ctx, call_arguments *a);
tl_status call_tensor_same_shape_row(tl_ctx *ctx, call_arguments *a);
tl_status call_tensor_copy_row(tl_ctx *ctx, call_arguments *a);
tl_status call_init_row(tl_ctx *ctx, call_arguments *a);
tl_status call_schedule_row(tl_ctx *ctx, call_arguments *a);

#endif
