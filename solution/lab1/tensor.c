/* tensor.c: contiguous arrays in device memory (tl/tensor.h). */
#include "tl/tensor.h"

#include <stdint.h>
#include <stdlib.h>

#include "tl/backend.h"

//@lab 1:
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
//@end

//@lab 1:
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
//@end

tl_status tl_tensor_new(tl_tensor **t, tl_ctx *ctx, int ndim, const int dim[]) {
    TL_NEED(t, TL_EINVAL, "tl_tensor_new: t is NULL");
    *t = NULL;
    TL_NEED(ctx && dim, TL_EINVAL, "tl_tensor_new: ctx or dim is NULL");

    //@lab 1: A tensor with memory of its own. First judge the shape (TL_EINVAL, with a message
    //@  that shows it: tl_shape_text): ndim in 1 .. TL_MAX_DIMS, every size at least 1, and the
    //@  number of bytes must fit a size_t. Test for that before you multiply: a product that has
    //@  wrapped around looks small, and a huge tensor would get a tiny block. Then take the struct
    //@  from malloc, the elements from tl_alloc_get(ctx->alloc, ...), and set every field;
    //@  tl/tensor.h says what dim holds from ndim on. Where the second of the two cannot be had
    //@  (TL_ENOMEM), the first must be given back. tl_tensor_view needs the first half of this
    //@  too: make it a function of its own.
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
    //@skeleton
    // (void)ndim;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_tensor_view(tl_tensor **view, const tl_tensor *of, int ndim, const int dim[]) {
    TL_NEED(view, TL_EINVAL, "tl_tensor_view: view is NULL");
    *view = NULL;
    TL_NEED(of && dim, TL_EINVAL, "tl_tensor_view: of or dim is NULL");

    //@lab 1: Another shape over the memory of `of`: judge the new shape as above; the numbers of
    //@  elements must agree, else TL_ESHAPE with both shapes in the message. Nothing is copied.
    //@  Who owns the elements afterwards?
    size_t size = 0;
    TL_TRY(count_elements(&size, ndim, dim));
    char wanted[TL_SHAPE_TEXT], there[TL_SHAPE_TEXT];
    TL_NEED(size == of->size, TL_ESHAPE, "a view %s of a tensor %s: %zu elements against %zu",
            tl_shape_text(wanted, ndim, dim), tl_shape_text(there, of->ndim, of->dim), size,
            of->size);
    /* Row-major and contiguous: any shape with as many elements fits the same memory. */
    return make_view(view, of->ctx, of->data, ndim, dim);
    //@skeleton
    // (void)ndim;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

void tl_tensor_free(tl_tensor *t) {
    if (!t) return;
    //@lab 1: Give back what the tensor owns, then the struct. Freeing a view must leave the
    //@  elements alone.
    /* A view's elements belong to the tensor it was made of. */
    if (t->owner) tl_alloc_put(t->ctx->alloc, t->data);
    free(t);
    //@skeleton
    // (void)TL_NOT_IMPLEMENTED();
    //@end
}

size_t tl_tensor_offset(const tl_tensor *t, const int index[]) {
    //@lab 1: The place of an element in memory: the last index runs fastest. For four dimensions
    //@  it is ((i0*D1 + i1)*D2 + i2)*D3 + i3; write it for any t->ndim. Trap: two ints of 100000
    //@  each have a product that is no int.
    /* Horner's scheme: ((i0*D1 + i1)*D2 + i2)*D3 + i3, in size_t because the product may pass int.
     */
    size_t offset = 0;
    for (int i = 0; i < t->ndim; i++) offset = offset * (size_t)t->dim[i] + (size_t)index[i];
    return offset;
    //@skeleton
    // (void)t, (void)index;
    // (void)TL_NOT_IMPLEMENTED();
    // return 0;
    //@end
}

//@lab 1:
/* [6] and [1,6] are different shapes, though their elements lie alike. */
//@end
bool tl_tensor_same_shape(const tl_tensor *a, const tl_tensor *b) {
    //@lab 1: true if a and b have as many dimensions, and equal ones. Is [6] the same shape as
    //@  [1,6]?
    if (a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
    //@skeleton
    // (void)a, (void)b;
    // (void)TL_NOT_IMPLEMENTED();
    // return false;
    //@end
}

tl_status tl_tensor_from_host(tl_tensor *t, const tl_real *host) {
    TL_NEED(t && host, TL_EINVAL, "tl_tensor_from_host: t or host is NULL");
    //@lab 1: Copy all elements to the device. t->data may be the address of a GPU, which memcpy
    //@  must not touch: look through t->ctx->ops (tl/backend.h) for the function that knows how.
    /* Only the device's own copy may touch t->data: on a GPU it is no host address. */
    return t->ctx->ops->copy_in(t->ctx, t->data, host, t->size * sizeof(tl_real));
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_tensor_to_host(const tl_tensor *t, tl_real *host) {
    TL_NEED(t && host, TL_EINVAL, "tl_tensor_to_host: t or host is NULL");
    //@lab 1: The same the other way round.
    return t->ctx->ops->copy_out(t->ctx, host, t->data, t->size * sizeof(tl_real));
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
