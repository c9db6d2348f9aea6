/* tl/tensor.h: contiguous arrays of tl_real with 1 to 4 dimensions, in device memory. (lab 1)
 *
 * Row-major: the last index runs fastest; x[n,c,h,w] lies at ((n*C + c)*H + h)*W + w. A tensor owns
 * its memory, or is a view that shares another's and must not outlive it. */
#ifndef TL_TENSOR_H
#define TL_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_MAX_DIMS = 4 };

typedef struct tl_tensor {
    tl_ctx *ctx;          /* whose memory `data` is */
    tl_real *data;        /* device pointer to `size` elements */
    int ndim;             /* 1 .. TL_MAX_DIMS */
    int dim[TL_MAX_DIMS]; /* each >= 1; entries from ndim on are 1 */
    size_t size;          /* product of dim */
    bool owner;           /* false for a view */
} tl_tensor;

/* A new tensor with undefined content, memory from ctx->alloc.
 * TL_EINVAL if ndim is not 1..4, a dim is below 1 or the bytes are more than half of what a size_t
 * counts; TL_ENOMEM. On failure *t is NULL. */
tl_status tl_tensor_new(tl_tensor **t, tl_ctx *ctx, int ndim, const int dim[]);

/* Another shape over the same elements (no copy): the view shares `of`'s memory and must be freed
 * before it. TL_ESHAPE names both shapes if the numbers of elements differ. */
tl_status tl_tensor_view(tl_tensor **view, const tl_tensor *of, int ndim, const int dim[]);

/* Frees the tensor, and its memory unless it is a view; NULL is allowed. */
void tl_tensor_free(tl_tensor *t);

/* Offset in elements of index [i0, i1, …] (ndim numbers, each 0 <= i < dim). Unchecked. */
size_t tl_tensor_offset(const tl_tensor *t, const int index[]);

bool tl_tensor_same_shape(const tl_tensor *a, const tl_tensor *b);

/* Copies t->size elements from or to host memory; returns when the copy is done. */
tl_status tl_tensor_from_host(tl_tensor *t, const tl_real *host);
tl_status tl_tensor_to_host(const tl_tensor *t, tl_real *host);

/* Writes "[64,3,32,32]" into text (given code, for messages) and returns text. */
enum { TL_SHAPE_TEXT = 64 };
char *tl_shape_text(char text[TL_SHAPE_TEXT], int ndim, const int dim[]);

#ifdef __cplusplus
}
#endif
#endif
