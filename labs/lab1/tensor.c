/* tensor.c: contiguous arrays in device memory (tl/tensor.h). */
#include "tl/tensor.h"

#include <stdint.h>
#include <stdlib.h>

#include "tl/backend.h"

tl_status tl_tensor_new(tl_tensor **t, tl_ctx *ctx, int ndim, const int dim[]) {
    TL_NEED(t, TL_EINVAL, "tl_tensor_new: t is NULL");
    *t = NULL;
    TL_NEED(ctx && dim, TL_EINVAL, "tl_tensor_new: ctx or dim is NULL");

    /* TODO(lab 1): A tensor with memory of its own. First judge the shape (TL_EINVAL, with a
     * message that shows it: tl_shape_text): ndim in 1 .. TL_MAX_DIMS, every size at least 1, and
     * the number of bytes must fit a size_t. Test for that before you multiply: a product that has
     * wrapped around looks small, and a huge tensor would get a tiny block. Then take the struct
     * from malloc, the elements from tl_alloc_get(ctx->alloc, ...), and set every field;
     * tl/tensor.h says what dim holds from ndim on. Where the second of the two cannot be had
     * (TL_ENOMEM), the first must be given back. tl_tensor_view needs the first half of this too:
     * make it a function of its own. */
    (void)ndim;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_tensor_view(tl_tensor **view, const tl_tensor *of, int ndim, const int dim[]) {
    TL_NEED(view, TL_EINVAL, "tl_tensor_view: view is NULL");
    *view = NULL;
    TL_NEED(of && dim, TL_EINVAL, "tl_tensor_view: of or dim is NULL");

    /* TODO(lab 1): Another shape over the memory of `of`: judge the new shape as above; the numbers
     * of elements must agree, else TL_ESHAPE with both shapes in the message. Nothing is copied.
     * Who owns the elements afterwards? */
    (void)ndim;
    return TL_NOT_IMPLEMENTED();
}

void tl_tensor_free(tl_tensor *t) {
    if (!t) return;
    /* TODO(lab 1): Give back what the tensor owns, then the struct. Freeing a view must leave the
     * elements alone. */
    (void)TL_NOT_IMPLEMENTED();
}

size_t tl_tensor_offset(const tl_tensor *t, const int index[]) {
    /* TODO(lab 1): The place of an element in memory: the last index runs fastest. For four
     * dimensions it is ((i0*D1 + i1)*D2 + i2)*D3 + i3; write it for any t->ndim. Trap: two ints of
     * 100000 each have a product that is no int. */
    (void)t, (void)index;
    (void)TL_NOT_IMPLEMENTED();
    return 0;
}

bool tl_tensor_same_shape(const tl_tensor *a, const tl_tensor *b) {
    /* TODO(lab 1): true if a and b have as many dimensions, and equal ones. Is [6] the same shape
     * as [1,6]? */
    (void)a, (void)b;
    (void)TL_NOT_IMPLEMENTED();
    return false;
}

tl_status tl_tensor_from_host(tl_tensor *t, const tl_real *host) {
    TL_NEED(t && host, TL_EINVAL, "tl_tensor_from_host: t or host is NULL");
    /* TODO(lab 1): Copy all elements to the device. t->data may be the address of a GPU, which
     * memcpy must not touch: look through t->ctx->ops (tl/backend.h) for the function that knows
     * how. */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_tensor_to_host(const tl_tensor *t, tl_real *host) {
    TL_NEED(t && host, TL_EINVAL, "tl_tensor_to_host: t or host is NULL");
    /* TODO(lab 1): The same the other way round. */
    return TL_NOT_IMPLEMENTED();
}
