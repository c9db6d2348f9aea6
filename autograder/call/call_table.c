/* call_table.c: one row per operation: which buffer, integer and number becomes which argument. */
#include "train.h"
#include "call_row.h"

#define REAL(i)   ((tl_real *)a->slot[i])
#define I32(i)    ((int32_t *)a->slot[i])
#define RAW(i)    (a->slot[i])
#define STEP(i)   ((const tl_step *)a->slot[i])
#define INT(i)    ((int)a->integer[i])
#define SIZE(i)   ((size_t)a->integer[i])
#define NUMBER(i) (a->number[i])

/* Geometry is rebuilt field by field, from the integers in the order of the struct. */
static const tl_matmul_geom *matmul_of(call_arguments *a) {
    a->geom.matmul = (tl_matmul_geom){.m = INT(0),
                                      .n = INT(1),
                                      .k = INT(2),
                                      .trans_a = INT(3),
                                      .trans_b = INT(4),
                                      .accumulate = INT(5)};
    return &a->geom.matmul;
}

static const tl_conv2d_geom *conv2d_of(call_arguments *a) {
    a->geom.conv2d = (tl_conv2d_geom){.n = INT(0),
                                      .c = INT(1),
                                      .h = INT(2),
                                      .w = INT(3),
                                      .k = INT(4),
                                      .r = INT(5),
                                      .s = INT(6),
                                      .stride_h = INT(7),
                                      .stride_w = INT(8),
                                      .pad_h = INT(9),
                                      .pad_w = INT(10),
                                      .dil_h = INT(11),
                                      .dil_w = INT(12),
                                      .p = INT(13),
                                      .q = INT(14)};
    return &a->geom.conv2d;
}

static const tl_pool2d_geom *pool2d_of(call_arguments *a) {
    a->geom.pool2d = (tl_pool2d_geom){.n = INT(0),
                                      .c = INT(1),
                                      .h = INT(2),
                                      .w = INT(3),
                                      .r = INT(4),
                                      .s = INT(5),
                                      .stride_h = INT(6),
                                      .stride_w = INT(7),
                                      .pad_h = INT(8),
                                      .pad_w = INT(9),
                                      .p = INT(10),
                                      .q = INT(11)};
    return &a->geom.pool2d;
}

static const tl_linear_geom *linear_of(call_arguments *a) {
    a->geom.linear = (tl_linear_geom){.n = INT(0), .in = INT(1), .out = INT(2)};
    return &a->geom.linear;
}

static const tl_batchnorm_geom *batchnorm_of(call_arguments *a) {
    a->geom.batchnorm = (tl_batchnorm_geom){
        .n = INT(0), .c = INT(1), .hw = INT(2), .eps = NUMBER(0), .momentum = NUMBER(1)};
    return &a->geom.batchnorm;
}

static const tl_dropout_geom *dropout_of(call_arguments *a) {
    a->geom.dropout =
        (tl_dropout_geom){.n = SIZE(0), .p = NUMBER(0), .layer = (uint32_t)a->integer[1]};
    return &a->geom.dropout;
}

static const tl_sgd_options *sgd_of(call_arguments *a) {
    a->geom.sgd =
        (tl_sgd_options){.momentum = NUMBER(0), .weight_decay = NUMBER(1), .nesterov = INT(1)};
    return &a->geom.sgd;
}

static const tl_adam_options *adam_of(call_arguments *a) {
    a->geom.adam = (tl_adam_options){
        .beta1 = NUMBER(0), .beta2 = NUMBER(1), .eps = NUMBER(2), .weight_decay = NUMBER(3)};
    return &a->geom.adam;
}

/* Buffers 3, 4, 5 are the split's images, labels and table. */
static const tl_device_split *split_of(call_arguments *a) {
    a->split = (tl_device_split){.count = SIZE(4),
                                 .c = INT(5),
                                 .h = INT(6),
                                 .w = INT(7),
                                 .classes = INT(8),
                                 .images = a->slot[3],
                                 .labels = a->slot[4],
                                 .lut = a->slot[5]};
    return &a->split;
}

static const tl_batch_geom *batch_of(call_arguments *a) {
    a->geom.batch =
        (tl_batch_geom){.n = INT(0), .shuffle = INT(1), .augment = INT(2), .pad = INT(3)};
    return &a->geom.batch;
}

static const tl_conv3x3_geom *conv3x3_of(call_arguments *a) {
    a->geom.conv3x3 =
        (tl_conv3x3_geom){.n = INT(0), .c = INT(1), .k = INT(2), .h = INT(3), .w = INT(4)};
    return &a->geom.conv3x3;
}

/* name, integers that it reads, arguments after ctx */
#define ROWS(X)                                                                                    \
    X(vector_add, 1, REAL(0), REAL(1), REAL(2), SIZE(0))                                           \
    X(fill, 1, REAL(0), SIZE(0), (tl_real)NUMBER(0))                                               \
    X(add, 1, REAL(0), REAL(1), REAL(2), SIZE(0))                                                  \
    X(mul, 1, REAL(0), REAL(1), REAL(2), SIZE(0))                                                  \
    X(scale, 1, REAL(0), REAL(1), SIZE(0), (tl_real)NUMBER(0))                                     \
    X(axpy, 1, REAL(0), REAL(1), SIZE(0), (tl_real)NUMBER(0))                                      \
    X(mul_add, 1, REAL(0), REAL(1), REAL(2), SIZE(0))                                              \
    X(sum, 1, REAL(0), REAL(1), SIZE(0))                                                           \
    X(sum_rows, 2, REAL(0), REAL(1), INT(0), INT(1))                                               \
    X(sum_cols, 2, REAL(0), REAL(1), INT(0), INT(1))                                               \
    X(max_cols, 2, REAL(0), REAL(1), INT(0), INT(1))                                               \
    X(argmax_cols, 2, I32(0), REAL(1), INT(0), INT(1))                                             \
    X(matmul, 6, REAL(0), REAL(1), REAL(2), matmul_of(a))                                          \
    X(gemm, 6, REAL(0), REAL(1), REAL(2), matmul_of(a))                                            \
    X(transpose, 2, REAL(0), REAL(1), INT(0), INT(1))                                              \
    X(im2col, 15, REAL(0), REAL(1), INT(0), conv2d_of(a))                                          \
    X(col2im, 15, REAL(0), REAL(1), INT(0), conv2d_of(a))                                          \
    X(conv2d_fwd, 15, REAL(0), REAL(1), REAL(2), REAL(3), conv2d_of(a), RAW(4))                    \
    X(conv2d_bwd_input, 15, REAL(0), REAL(1), REAL(2), conv2d_of(a), RAW(3))                       \
    X(conv2d_bwd_weight, 15, REAL(0), REAL(1), REAL(2), conv2d_of(a), RAW(3))                      \
    X(conv2d_bwd_bias, 15, REAL(0), REAL(1), conv2d_of(a))                                         \
    X(maxpool2d_fwd, 12, REAL(0), I32(1), REAL(2), pool2d_of(a))                                   \
    X(maxpool2d_bwd, 12, REAL(0), REAL(1), I32(2), pool2d_of(a))                                   \
    X(linear_fwd, 3, REAL(0), REAL(1), REAL(2), REAL(3), linear_of(a))                             \
    X(linear_bwd_input, 3, REAL(0), REAL(1), REAL(2), linear_of(a))                                \
    X(linear_bwd_weight, 3, REAL(0), REAL(1), REAL(2), linear_of(a))                               \
    X(linear_bwd_bias, 3, REAL(0), REAL(1), linear_of(a))                                          \
    X(relu_fwd, 1, REAL(0), REAL(1), SIZE(0))                                                      \
    X(relu_bwd, 1, REAL(0), REAL(1), REAL(2), SIZE(0))                                             \
    X(softmax_xent_fwd, 2, REAL(0), REAL(1), REAL(2), REAL(3), I32(4), INT(0), INT(1))             \
    X(softmax_xent_bwd, 2, REAL(0), REAL(1), REAL(2), I32(3), INT(0), INT(1))                      \
    X(batchnorm_fwd, 3, REAL(0), REAL(1), REAL(2), REAL(3), REAL(4), REAL(5), REAL(6), REAL(7),    \
      batchnorm_of(a))                                                                             \
    X(batchnorm_eval, 3, REAL(0), REAL(1), REAL(2), REAL(3), REAL(4), REAL(5), batchnorm_of(a))    \
    X(batchnorm_bwd, 3, REAL(0), REAL(1), REAL(2), REAL(3), REAL(4), REAL(5), REAL(6), REAL(7),    \
      batchnorm_of(a))                                                                             \
    X(dropout_fwd, 2, REAL(0), REAL(1), STEP(2), dropout_of(a))                                    \
    X(dropout_bwd, 2, REAL(0), REAL(1), STEP(2), dropout_of(a))                                    \
    X(sgd_step, 2, REAL(0), REAL(1), REAL(2), SIZE(0), STEP(3), sgd_of(a))                         \
    X(adam_step, 1, REAL(0), REAL(1), REAL(2), REAL(3), SIZE(0), STEP(4), adam_of(a))              \
    X(batch_load, 9, REAL(0), I32(1), split_of(a), STEP(2), batch_of(a))                           \
    X(metrics_add, 2, (tl_metric_sums *)RAW(0), REAL(1), REAL(2), I32(3), INT(0), INT(1))

/* The same for entries that a device may lack. */
#define BLOCK (&(const tl_conv2d_block){*conv2d_of(a), INT(15) != 0})
#define FUSED_ROWS(X)                                                                              \
    X(vector_reverse, 1, REAL(0), REAL(1), SIZE(0))                                                \
    X(conv3x3, 5, REAL(0), REAL(1), REAL(2), conv3x3_of(a))                                        \
    X(conv2d_block_fwd, 16, REAL(0), RAW(1), REAL(2), REAL(3), REAL(4), BLOCK)                     \
    X(conv2d_block_bwd, 16, REAL(0), REAL(1), REAL(2), REAL(3), RAW(4), REAL(5), REAL(6), BLOCK,   \
      NUMBER(0) != 0, RAW(7))                                                                      \
    X(linear_block_fwd, 4, REAL(0), REAL(1), REAL(2), REAL(3), linear_of(a), INT(3) != 0, RAW(4))  \
    X(linear_block_bwd, 4, REAL(0), REAL(1), REAL(2), REAL(3), REAL(4), REAL(5), REAL(6),          \
      linear_of(a), INT(3) != 0)                                                                   \
    X(xent_head_fwd, 2, REAL(0), REAL(1), REAL(2), (tl_metric_sums *)RAW(3), REAL(4), I32(5),      \
      INT(0), INT(1))                                                                              \
    X(xent_head_bwd, 2, REAL(0), REAL(1), REAL(2), I32(3), INT(0), INT(1))

#define RUN(name, integers, ...)                                                                   \
    static tl_status run_##name(tl_ctx *ctx, call_arguments *a) {                                  \
        return ctx->ops->name(ctx, __VA_ARGS__);                                                   \
    }
ROWS(RUN)

#define RUN_FUSED(op, integers, ...)                                                               \
    static tl_status run_##op(tl_ctx *ctx, call_arguments *a) {                                    \
        TL_NEED(ctx->ops->op, TL_ENOTIMPL, "device %s has no " #op, ctx->ops->name);               \
        return ctx->ops->op(ctx, __VA_ARGS__);                                                     \
    }
FUSED_ROWS(RUN_FUSED)

#define ROW(name, integers, ...) [CALL_##name] = {#name, run_##name, integers},
const call_row call_rows[CALL_OPS] = {
    ROWS(ROW) FUSED_ROWS(ROW)[CALL_tensor_new] = {"tensor_new", call_tensor_new_row, 1},
    [CALL_tensor_view] = {"tensor_view", call_tensor_view_row, 10},
    [CALL_tensor_offset] = {"tensor_offset", call_tensor_offset_row, 9},
    [CALL_tensor_same_shape] = {"tensor_same_shape", call_tensor_same_shape_row, 10},
    [CALL_tensor_copy] = {"tensor_copy", call_tensor_copy_row, 5},
    [CALL_init] = {"init", call_init_row, 5},
    [CALL_schedule_lr] = {"schedule_lr", call_schedule_row, 4},
    [CALL_graph] = {"graph", call_graph_row, 0},
    [CALL_train] = {"train", call_train_row, TRAIN_HEADER},
};
