/* call_ops.c: the typed calls of tl/ops.def: a request of each row's arguments. */
#include "call_arguments.h"
#include "call_ops.h"

/* Elements of another type than these two cross as bytes. */
#define TYPE_tl_real        CALL_REAL
#define TYPE_int32_t        CALL_INT32
#define TYPE_uint8_t        CALL_BYTES
#define TYPE_tl_step        CALL_BYTES
#define TYPE_tl_metric_sums CALL_BYTES
#define ELEMENTS(type, n)   ((size_t)(n) * (TYPE_##type == CALL_BYTES ? sizeof(type) : 1))

/* The cast drops const: a request has one pointer for both directions, and IN is never written.
 * Scratch is of tl_real, so that its poison reads as NaN. */
#define ARRAY(type, name, n, role)                                                                 \
    {#name, TYPE_##type, (role), ELEMENTS(type, n), (void *)(uintptr_t)(name)},
#define BUFFER(kind, ...)                BUFFER_##kind(__VA_ARGS__)
#define BUFFER_IN(type, name, n, ...)    ARRAY(type, name, n, CALL_IN)
#define BUFFER_OUT(type, name, n, ...)   ARRAY(type, name, n, CALL_OUT)
#define BUFFER_INOUT(type, name, n, ...) ARRAY(type, name, n, CALL_INOUT)
#define BUFFER_INOUT_UNLESS(type, name, n, condition, ...)                                         \
    ARRAY(type, name, n, (condition) ? CALL_OUT : CALL_INOUT)
#define BUFFER_WORK(name, bytes)                                                                   \
    {#name, CALL_REAL, CALL_SCRATCH, ((bytes) + sizeof(tl_real) - 1) / sizeof(tl_real), NULL},
#define BUFFER_VALUE(type, name)
#define BUFFER_GEOM(type, name)

#define GIVE(kind, ...) GIVE_##kind(__VA_ARGS__)
#define GIVE_IN(...)
#define GIVE_OUT(...)
#define GIVE_INOUT(...)
#define GIVE_INOUT_UNLESS(...)
#define GIVE_WORK(...)
#define GIVE_VALUE(type, name) .name = name,
#define GIVE_GEOM(type, name)  .name = *name,

/* A target that does not say what columns may take gets what the cpu device has. */
#define TL_COLUMN_BYTES (t->column_bytes ? t->column_bytes : (size_t)256 << 20)

#define CALL(op_number, own, ...)                                                                  \
    const call_buffer buffer[] = {__VA_ARGS__};                                                    \
    call_request q = {.op = op_number,                                                             \
                      .arguments = &own,                                                           \
                      .argument_bytes = sizeof own,                                                \
                      .buffers = (int)(sizeof buffer / sizeof *buffer)};                           \
    for (int i = 0; i < q.buffers; i++) q.buffer[i] = buffer[i];                                   \
    call_run(t, &q, r)

#define TYPED(op, lab, flops, ...)                                                                 \
    void call_##op(call_where t, call_report *r TL_EACH(CALL_PARAM, __VA_ARGS__)) {                \
        const call_##op##_arguments own = {TL_EACH(GIVE, __VA_ARGS__)};                            \
        CALL(CALL_##op, own, TL_EACH(BUFFER, __VA_ARGS__));                                        \
    }
#define OP       TYPED
#define OP_CUDA  TYPED
#define OP_FUSED TYPED
#define OP_DATA(...)
#include "tl/ops.def"

/* The split's three pointers are host arrays here. */
void call_batch_load(call_where t, call_report *r, tl_real *x, int32_t *label,
                     const tl_device_split *split, const tl_step *step, const tl_batch_geom *g) {
    const size_t image = (size_t)split->c * (size_t)split->h * (size_t)split->w;
    const uint8_t *images = split->images, *labels = split->labels;
    const tl_real *lut = split->lut;
    call_batch_load_arguments own = {.split = *split, .g = *g};
    own.split.images = own.split.labels = NULL;
    own.split.lut = NULL;
    CALL(CALL_batch_load, own,
         BUFFER_OUT(tl_real, x, (size_t)g->n * image) BUFFER_OUT(int32_t, label, (size_t)g->n)
             BUFFER_IN(tl_step, step, 1) BUFFER_IN(uint8_t, images, split->count * image)
                 BUFFER_IN(uint8_t, labels, split->count)
                     BUFFER_IN(tl_real, lut, (size_t)split->c * 256));
}
