/* tensor.c: contiguous arrays in device memory (tl/tensor.h). */
#include "tl/tensor.h"

#include <stdint.h>
#include <stdlib.h>

#include "tl/backend.h"

/* Number of elements of a shape. The limit leaves room for bytes: if size * sizeof(tl_real) wrapped
 * around, a huge tensor would get a tiny block of memory. */
static tl_status count_elements(size_t *size, int ndim, const int dim[]) {
    TL_NEED(ndim >= 1 && ndim <= TL_MAX_DIMS, TL_EINVAL,
            "a tensor has 1 to %d dimensions, %d were asked for", TL_MAX_DIMS, ndim);
    char shape[TL_SHAPE_TEXT];
    *size = 1;
    for (int i = 0; i < ndim; i++) {
        TL_NEED(dim[i] >= 1, TL_EINVAL, "dimension %d of shape %s is %d, must be at least 1", i,
                tl_shape_text(shape, ndim, dim), dim[i]);
        TL_NEED(*size <= SIZE_MAX / 2 / sizeof(tl_real) / (size_t)dim[i], TL_EINVAL,
                "a tensor of shape %s is too large for memory addresses",
                tl_shape_text(shape, ndim, dim));
        *size *= (size_t)dim[i];
    }
    return TL_OK;
}

/* The host struct without elements: a view until somebody gives it memory of its own. */
static tl_status make_view(tl_tensor **t, tl_ctx *ctx, tl_real *data, int ndim, const int dim[]) {
    size_t size = 0;
    TL_TRY(count_elements(&size, ndim, dim));
    tl_tensor *made = malloc(sizeof *made);
    TL_NEED(made, TL_ENOMEM, "no host memory for a tensor of %zu bytes", sizeof *made);
    *made = (tl_tensor){.ctx = ctx, .data = data, .ndim = ndim, .size = size, .owner = false};
    for (int i = 0; i < TL_MAX_DIMS; i++) made->dim[i] = i < ndim ? dim[i] : 1;
    *t = made;
    return TL_OK;
}

tl_status tl_tensor_new(tl_tensor **t, tl_ctx *ctx, int ndim, const int dim[]) {
    TL_NEED(t, TL_EINVAL, "tl_tensor_new: t is NULL");
    *t = NULL;
    TL_NEED(ctx && dim, TL_EINVAL, "tl_tensor_new: ctx or dim is NULL");

    tl_tensor *made = NULL;
    TL_TRY(make_view(&made, ctx, NULL, ndim, dim));
    void *block;
    tl_status status = tl_alloc_get(ctx->alloc, &block, made->size * sizeof(tl_real));
    if (status != TL_OK) { /* TL_TRY would leak the struct */
        free(made);
        return status;
    }
    made->data = block;
    made->owner = true;
    *t = made;
    return TL_OK;
}

tl_status tl_tensor_view(tl_tensor **view, const tl_tensor *of, int ndim, const int dim[]) {
    TL_NEED(view, TL_EINVAL, "tl_tensor_view: view is NULL");
    *view = NULL;
    TL_NEED(of && dim, TL_EINVAL, "tl_tensor_view: of or dim is NULL");

    size_t size = 0;
    TL_TRY(count_elements(&size, ndim, dim));
    char wanted[TL_SHAPE_TEXT], there[TL_SHAPE_TEXT];
    TL_NEED(size == of->size, TL_ESHAPE, "a view %s of a tensor %s: %zu elements against %zu",
            tl_shape_text(wanted, ndim, dim), tl_shape_text(there, of->ndim, of->dim), size,
            of->size);
    /* Row-major and contiguous: any shape with as many elements fits the same memory. */
    return make_view(view, of->ctx, of->data, ndim, dim);
}

void tl_tensor_free(tl_tensor *t) {
    if (!t) return;
    /* A view's elements belong to the tensor it was made of. */
    if (t->owner) tl_alloc_put(t->ctx->alloc, t->data);
    free(t);
}

size_t tl_tensor_offset(const tl_tensor *t, const int index[]) {
    /* Horner's scheme: ((i0*D1 + i1)*D2 + i2)*D3 + i3, in size_t because the product may pass int.
     */
    size_t offset = 0;
    for (int i = 0; i < t->ndim; i++) offset = offset * (size_t)t->dim[i] + (size_t)index[i];
    return offset;
}

/* [6] and [1,6] are different shapes, though their elements lie alike. */
bool tl_tensor_same_shape(const tl_tensor *a, const tl_tensor *b) {
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

tl_status tl_tensor_from_host(tl_tensor *t, const tl_real *host) {
    TL_NEED(t && host, TL_EINVAL, "tl_tensor_from_host: t or host is NULL");
    /* Only the device's own copy may touch t->data: on a GPU it is no host address. */
    return t->ctx->ops->copy_in(t->ctx, t->data, host, t->size * sizeof(tl_real));
}

tl_status tl_tensor_to_host(const tl_tensor *t, tl_real *host) {
    TL_NEED(t && host, TL_EINVAL, "tl_tensor_to_host: t or host is NULL");
    return t->ctx->ops->copy_out(t->ctx, host, t->data, t->size * sizeof(tl_real));
}
