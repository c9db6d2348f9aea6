/* call_table.c: one row per operation: the arguments that crossed, with the device's addresses in
 * front of them, become those of the dispatch table's entry. */
#include "call_arguments.h"
#include "call_row.h"
#include "train.h"

#include <string.h>

/* As the table's entry takes them. */
#define PASS(kind, ...)          PASS_##kind(__VA_ARGS__)
#define PASS_IN(type, name, ...) , own.name
#define PASS_OUT                 PASS_IN
#define PASS_INOUT               PASS_IN
#define PASS_INOUT_UNLESS        PASS_IN
#define PASS_WORK(name, bytes)   , own.name
#define PASS_VALUE               PASS_IN
#define PASS_GEOM(type, name)    , &own.name

#define COUNT(kind, ...)   COUNT_##kind
#define COUNT_IN           +1
#define COUNT_OUT          +1
#define COUNT_INOUT        +1
#define COUNT_INOUT_UNLESS +1
#define COUNT_WORK         +1
#define COUNT_VALUE
#define COUNT_GEOM

#define RUN(op, lab, flops, ...)                                                                   \
    static tl_status run_##op(tl_ctx *ctx, call_arguments *a) {                                    \
        call_##op##_arguments own;                                                                 \
        TL_NEED(ctx->ops->op, TL_ENOTIMPL, "device %s has no " #op, ctx->ops->name);               \
        memcpy(&own, a->bytes, sizeof own);                                                        \
        memcpy(&own, a->slot, (0 TL_EACH(COUNT, __VA_ARGS__)) * sizeof a->slot[0]);                \
        return ctx->ops->op(ctx TL_EACH(PASS, __VA_ARGS__));                                       \
    }
#define OP       RUN
#define OP_CUDA  RUN
#define OP_FUSED RUN
#define OP_DATA(...)
#include "tl/ops.def"

static tl_status run_batch_load(tl_ctx *ctx, call_arguments *a) {
    call_batch_load_arguments own;
    memcpy(&own, a->bytes, sizeof own);
    memcpy(&own, a->slot, offsetof(call_batch_load_arguments, split));
    own.split.images = own.images;
    own.split.labels = own.labels;
    own.split.lut = own.lut;
    return ctx->ops->batch_load(ctx, own.x, own.label, &own.split, own.step, &own.g);
}

/* What the others read at least: shapes are a number of dimensions and four sizes. */
enum { SHAPE = 5 * sizeof(int64_t) };
#define BYTES_tensor_new        sizeof(int64_t)
#define BYTES_tensor_view       (2 * SHAPE)
#define BYTES_tensor_offset     (SHAPE + 4 * sizeof(int64_t))
#define BYTES_tensor_same_shape (2 * SHAPE)
#define BYTES_tensor_copy       SHAPE
#define BYTES_init              sizeof(call_init_arguments)
#define BYTES_schedule_lr       sizeof(call_schedule_lr_arguments)
#define BYTES_graph             0
#define BYTES_train             ((TRAIN_NUMBERS + TRAIN_HEADER) * sizeof(int64_t))

const call_row call_rows[CALL_OPS] = {
#define ROW(op, ...)    [CALL_##op] = {#op, run_##op, sizeof(call_##op##_arguments)},
#define OTHER_ROW(name) [CALL_##name] = {#name, call_##name##_row, BYTES_##name},
#define OP              ROW
#define OP_CUDA         ROW
#define OP_FUSED        ROW
#include "tl/ops.def"
    CALL_OTHERS(OTHER_ROW)};
