/* tl/params.h: all parameters of a net in one flat piece of memory.
 *
 * One array of values and one of gradients: the optimiser is one call, zeroing gradients is one
 * call, a checkpoint is one block. Each parameter starts at a multiple of 64 elements; the gaps
 * are zero and stay zero. Buffers (running statistics) are listed, but keep their own memory. */
#ifndef TL_PARAMS_H
#define TL_PARAMS_H

#include "tl/module.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_PARAM_NAME = 48 };

typedef struct tl_param {
    char name[TL_PARAM_NAME];
    tl_var *var;       /* its value and grad point into the flat arrays; NULL for a buffer */
    tl_tensor *buffer; /* NULL for a parameter */
    size_t offset;     /* in elements; parameters only */
} tl_param;

typedef struct tl_params {
    tl_ctx *ctx;
    tl_real *value, *grad; /* device arrays of `size` elements, owned */
    size_t size;           /* with the gaps */
    size_t count;          /* trainable elements, without the gaps */
    int entries;
    tl_param *entry; /* in order of construction */
} tl_params;

/* Moves the parameters of `net` into flat arrays (values are kept, gradients become zero). The
 * net's tensors then are views into them: free the net first, then the params. */
tl_status tl_params_new(tl_params **p, tl_module *net);
void tl_params_free(tl_params *p); /* NULL is allowed */

tl_status tl_params_zero_grad(tl_params *p);

#ifdef __cplusplus
}
#endif
#endif
