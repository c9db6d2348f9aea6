/* call_others.c: typed calls of what is no operation of the table: tensors, initial weights,
 * schedules, programs. */
#include "call_arguments.h"
#include "call_ops.h"
#include "train.h"

#include <stdlib.h>
#include <string.h>

/* The cast drops const: a request has one pointer for both directions, and IN is never written. */
#define BUFFER(name, type, role, n)                                                                \
    { #name, (type), (role), (n), (void *)(uintptr_t)(name) }
#define REALS_IN(x, n)  BUFFER(x, CALL_REAL, CALL_IN, n)
#define REALS_OUT(x, n) BUFFER(x, CALL_REAL, CALL_OUT, n)
#define INTS_IN(x, n)   BUFFER(x, CALL_INT32, CALL_IN, n)
#define INTS_OUT(x, n)  BUFFER(x, CALL_INT32, CALL_OUT, n)
#define BYTES_IN(x, n)  BUFFER(x, CALL_BYTES, CALL_IN, n)
#define BYTES_OUT(x, n) BUFFER(x, CALL_BYTES, CALL_OUT, n)

/* CALL(name, arguments, bytes, buffers…) in a function with parameters t and r. */
#define CALL(name, from, size, ...)                                                                \
    call_run(t,                                                                                    \
             &(const call_request){.op = CALL_##name,                                              \
                                   .arguments = (from),                                            \
                                   .argument_bytes = (size),                                       \
                                   .buffer = {__VA_ARGS__},                                        \
                                   .buffers = (int)(sizeof((const call_buffer[]){__VA_ARGS__}) /   \
                                                    sizeof(call_buffer))},                         \
             r)

/* ---- tensors: ndim and four sizes, so that five dimensions can be asked for ---- */

static int64_t size_at(int ndim, const int dim[], int i) { return i < ndim ? dim[i] : 1; }
#define SHAPE(ndim, dim)                                                                           \
    (ndim), size_at(ndim, dim, 0), size_at(ndim, dim, 1), size_at(ndim, dim, 2),                   \
        size_at(ndim, dim, 3)

void call_tensor_new(call_where t, call_report *r, int32_t fact[8], int ndim, const int dim[]) {
    const int64_t shape[] = {SHAPE(ndim, dim), size_at(ndim, dim, 4)};
    CALL(tensor_new, shape, sizeof shape, INTS_OUT(fact, 8));
}

void call_tensor_view(call_where t, call_report *r, int32_t fact[8], int ndim, const int dim[],
                      int view_ndim, const int view_dim[]) {
    const int64_t shapes[] = {SHAPE(ndim, dim), SHAPE(view_ndim, view_dim)};
    CALL(tensor_view, shapes, sizeof shapes, INTS_OUT(fact, 8));
}

void call_tensor_offset(call_where t, call_report *r, size_t *offset, int ndim, const int dim[],
                        const int index[]) {
    int64_t at[4] = {0};
    for (int i = 0; i < ndim; i++) at[i] = index[i];
    const int64_t shape[] = {SHAPE(ndim, dim), at[0], at[1], at[2], at[3]};
    CALL(tensor_offset, shape, sizeof shape, BYTES_OUT(offset, sizeof *offset));
}

void call_tensor_same_shape(call_where t, call_report *r, int32_t *same, int ndim_a,
                            const int dim_a[], int ndim_b, const int dim_b[]) {
    const int64_t shapes[] = {SHAPE(ndim_a, dim_a), SHAPE(ndim_b, dim_b)};
    CALL(tensor_same_shape, shapes, sizeof shapes, INTS_OUT(same, 1));
}

void call_tensor_copy(call_where t, call_report *r, tl_real *out, const tl_real *in, int ndim,
                      const int dim[]) {
    const int64_t shape[] = {SHAPE(ndim, dim)};
    size_t n = 1;
    for (int i = 0; i < ndim; i++) n *= (size_t)dim[i];
    CALL(tensor_copy, shape, sizeof shape, REALS_OUT(out, n), REALS_IN(in, n));
}

/* ---- numbers and programs ---- */

void call_init(call_where t, call_report *r, tl_real *w, size_t n, int which, int fan_in,
               int fan_out, uint64_t seed, uint32_t stream) {
    const call_init_arguments own = {which, fan_in, fan_out, seed, stream};
    CALL(init, &own, sizeof own, REALS_OUT(w, n));
}

void call_schedule_lr(call_where t, call_report *r, double *lr, size_t n, uint64_t first,
                      const tl_schedule *schedule) {
    const call_schedule_lr_arguments own = {*schedule, first};
    CALL(schedule_lr, &own, sizeof own, BYTES_OUT(lr, n * sizeof *lr));
}

void call_graph(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const int32_t *labels,
                size_t label_count, const int64_t *program, size_t length) {
    CALL(graph, program, length * sizeof *program, REALS_OUT(results, result_count),
         REALS_IN(values, value_count), INTS_IN(labels, label_count));
}

void call_train(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const tl_device_split *split,
                const double number[TRAIN_NUMBERS], const int64_t *program, size_t length) {
    const size_t image = (size_t)split->c * (size_t)split->h * (size_t)split->w;
    const size_t before = TRAIN_NUMBERS * sizeof *number, bytes = before + length * sizeof *program;
    const uint8_t *images = split->images, *labels = split->labels;
    const tl_real *lut = split->lut;
    unsigned char *own = malloc(bytes);
    if (!own) {
        *r = (call_report){.status = TL_ENOMEM, .error = "no memory for a training program"};
        return;
    }
    memcpy(own, number, before);
    memcpy(own + before, program, bytes - before);
    CALL(train, own, bytes, REALS_OUT(results, result_count), REALS_IN(values, value_count),
         BYTES_IN(images, split->count * image), BYTES_IN(labels, split->count),
         REALS_IN(lut, (size_t)split->c * 256));
    free(own);
}
