/* call_tensor.c: rows for functions outside the dispatch table: tensors, initial weights,
 * schedules.
 *
 * Slots are device pointers, and these functions live on the host: results go through copy_in. */
#include "call_arguments.h"
#include "call_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tl/init.h"
#include "tl/tensor.h"

static tl_status give(tl_ctx *ctx, call_arguments *a, int slot, const void *host, size_t bytes) {
    TL_NEED(bytes <= a->slot_bytes[slot], TL_EINVAL, "buffer %d is too short for the result", slot);
    return ctx->ops->copy_in(ctx, a->slot[slot], host, bytes);
}

/* ndim and up to 5 sizes from integer `first` on: 5, because 5 dimensions must be refused. */
static int take_shape(const call_arguments *a, size_t first, int dim[5]) {
    for (size_t i = 0; i < 5; i++)
        dim[i] = first + 1 + i < a->integers ? (int)a->integer[first + 1 + i] : 0;
    return (int)a->integer[first];
}

/* What a suite wants to know of a tensor: 8 numbers. */
static tl_status give_tensor(tl_ctx *ctx, call_arguments *a, const tl_tensor *t, bool flag) {
    int32_t fact[8] = {t->ndim,   t->dim[0],        t->dim[1], t->dim[2],
                       t->dim[3], (int32_t)t->size, t->owner,  flag};
    return give(ctx, a, 0, fact, sizeof fact);
}

/* A constructor that fails must leave NULL behind, or its caller frees what was never made. */
static tl_status judge_failure(tl_status status, const tl_tensor *t) {
    return t ? TL_FAIL(TL_EDEVICE, "returned %s but " CALL_LEFT_SET, tl_status_name(status))
             : status;
}

/* integers: ndim, sizes. int32 out: ndim, dim[4], size, owner, and whether ctx is the one given */
tl_status call_tensor_new_row(tl_ctx *ctx, call_arguments *a) {
    int dim[5], ndim = take_shape(a, 0, dim);
    tl_tensor unset, *t = &unset;
    tl_status status = tl_tensor_new(&t, ctx, ndim, dim);
    if (status == TL_ENOTIMPL) return status;
    if (status != TL_OK) return judge_failure(status, t);
    status = give_tensor(ctx, a, t, t->ctx == ctx);
    tl_tensor_free(t);
    tl_tensor_free(NULL);
    return status;
}

/* integers: ndim and 4 sizes of the tensor, ndim and 4 of the view. The same 8 numbers; the last
 * says whether both share their elements. */
tl_status call_tensor_view_row(tl_ctx *ctx, call_arguments *a) {
    int dim[5], view_dim[5];
    int ndim = take_shape(a, 0, dim), view_ndim = take_shape(a, 5, view_dim);
    tl_tensor unset, *t = NULL, *view = &unset;
    TL_TRY(tl_tensor_new(&t, ctx, ndim, dim));
    tl_status status = tl_tensor_view(&view, t, view_ndim, view_dim);
    if (status == TL_OK) {
        status = give_tensor(ctx, a, view, view->data == t->data);
        size_t live = tl_alloc_read_stats(ctx->alloc).live_bytes;
        tl_tensor_free(view);
        if (status == TL_OK && tl_alloc_read_stats(ctx->alloc).live_bytes != live)
            status = TL_FAIL(TL_EINVAL, "tl_tensor_free of a view gave back the elements, which "
                                        "belong to the tensor that it views");
    } else if (status != TL_ENOTIMPL) {
        status = judge_failure(status, view);
    }
    tl_tensor_free(t);
    return status;
}

/* A function without a status that is not written yet leaves a line that says so. */
static bool is_unwritten(const char *function) {
    char line[100];
    snprintf(line, sizeof line, "%s is not implemented yet", function);
    return strstr(tl_error(), line) != NULL;
}
/* So that a line of an earlier call is not taken for this one's. */
static void forget_error(void) { (void)TL_FAIL(TL_OK, "no error"); }

/* integers: ndim and 4 sizes, 4 indices. Out: one size_t. Offsets are arithmetic alone, so the
 * tensor has no memory here and may be larger than any machine. */
tl_status call_tensor_offset_row(tl_ctx *ctx, call_arguments *a) {
    int dim[5], index[TL_MAX_DIMS];
    tl_tensor t = {.ctx = ctx, .ndim = take_shape(a, 0, dim), .size = 1};
    for (int i = 0; i < TL_MAX_DIMS; i++) {
        t.dim[i] = dim[i];
        t.size *= (size_t)dim[i];
        index[i] = (int)a->integer[5 + i];
    }
    forget_error();
    size_t offset = tl_tensor_offset(&t, index);
    if (is_unwritten("tl_tensor_offset")) return TL_ENOTIMPL;
    return give(ctx, a, 0, &offset, sizeof offset);
}

/* integers: two times ndim and 4 sizes. Out: one int32. */
tl_status call_tensor_same_shape_row(tl_ctx *ctx, call_arguments *a) {
    int dim[2][5];
    tl_tensor t[2];
    for (int k = 0; k < 2; k++) {
        t[k] = (tl_tensor){.ctx = ctx, .ndim = take_shape(a, 5 * (size_t)k, dim[k]), .size = 1};
        for (int i = 0; i < TL_MAX_DIMS; i++) {
            t[k].dim[i] = dim[k][i];
            t[k].size *= (size_t)dim[k][i];
        }
    }
    forget_error();
    int32_t same = tl_tensor_same_shape(&t[0], &t[1]);
    if (is_unwritten("tl_tensor_same_shape")) return TL_ENOTIMPL;
    return give(ctx, a, 0, &same, sizeof same);
}

static tl_status copy_through(tl_ctx *ctx, int ndim, const int dim[], tl_real *host) {
    tl_tensor *t = NULL;
    TL_TRY(tl_tensor_new(&t, ctx, ndim, dim));
    tl_status status = tl_tensor_from_host(t, host);
    for (size_t i = 0; status == TL_OK && i < t->size; i++) host[i] = 0;
    if (status == TL_OK) status = tl_tensor_to_host(t, host);
    tl_tensor_free(t);
    return status;
}

/* integers: ndim and 4 sizes. Buffer 1 goes into a tensor and comes back out as buffer 0. */
tl_status call_tensor_copy_row(tl_ctx *ctx, call_arguments *a) {
    int dim[5], ndim = take_shape(a, 0, dim);
    tl_real *host = malloc(a->slot_bytes[1]);
    TL_NEED(host, TL_ENOMEM, "no host memory for %zu bytes", a->slot_bytes[1]);
    tl_status status = ctx->ops->copy_out(ctx, host, a->slot[1], a->slot_bytes[1]);
    if (status == TL_OK) status = copy_through(ctx, ndim, dim, host);
    if (status == TL_OK) status = give(ctx, a, 0, host, a->slot_bytes[1]);
    free(host);
    return status;
}

/* Out: the weights. They are drawn on the host, and calls are made on the cpu alone: the frame
 * itself is filled, so that its poison and its fences tell of one too few or too many. */
tl_status call_init_row(tl_ctx *ctx, call_arguments *a) {
    tl_real *w = a->slot[0];
    size_t n = a->slot_bytes[0] / sizeof(tl_real);
    call_init_arguments own;
    memcpy(&own, a->bytes, sizeof own);
    TL_NEED(!ctx->stream, TL_EINVAL, "weights are drawn into memory of the host");
    switch (own.which) {
    case 0:
        return tl_init_he_normal(w, n, own.fan_in, own.seed, own.stream);
    case 1:
        return tl_init_he_uniform(w, n, own.fan_in, own.seed, own.stream);
    case 2:
        return tl_init_xavier_normal(w, n, own.fan_in, own.fan_out, own.seed, own.stream);
    case 3:
        return tl_init_xavier_uniform(w, n, own.fan_in, own.fan_out, own.seed, own.stream);
    }
    return TL_EINVAL;
}

/* Out: doubles, one per step. */
tl_status call_schedule_lr_row(tl_ctx *ctx, call_arguments *a) {
    call_schedule_lr_arguments own;
    memcpy(&own, a->bytes, sizeof own);
    size_t bytes = a->slot_bytes[0], n = bytes / sizeof(double);
    double *lr = malloc(bytes);
    TL_NEED(lr, TL_ENOMEM, "no host memory for %zu bytes", bytes);
    forget_error();
    for (size_t i = 0; i < n; i++) lr[i] = tl_schedule_lr(&own.schedule, own.first + i);
    bool unwritten = is_unwritten("tl_schedule_lr");
    tl_status status = unwritten ? TL_ENOTIMPL : give(ctx, a, 0, lr, bytes);
    free(lr);
    return status;
}
