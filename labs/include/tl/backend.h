/* tl/backend.h: one table of functions per device.
 *
 * Tape, modules and trainer call operations through ctx->ops only, and so run on any device. A
 * table starts as the plain path (the functions of the headers named beside each group); rungs of
 * kernels/ then overwrite entries with quicker functions of the same contract. An entry that a
 * device lacks is NULL until tl_backend_fill sets it to a function that returns TL_ENOTIMPL: there
 * is never a silent fall-back to another device. As in ggml's backends and BLIS's contexts. */
#ifndef TL_BACKEND_H
#define TL_BACKEND_H

#include "tl/conv2d.h"
#include "tl/conv3x3.h"
#include "tl/data.h"
#include "tl/elementwise.h"
#include "tl/fused.h"
#include "tl/layers.h"
#include "tl/matmul.h"
#include "tl/metrics.h"
#include "tl/optim.h"
#include "tl/reduce.h"
#include "tl/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name and signature of every operation: X(name, (arguments)). The entry is called `name`, and the
 * function of the plain path tl_<name>. */
#define TL_BACKEND_OPS(X)                                                                          \
    /* tl/vector.h */                                                                              \
    X(vector_add, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, size_t))                 \
    /* tl/elementwise.h */                                                                         \
    X(fill, (tl_ctx *, tl_real *, size_t, tl_real))                                                \
    X(add, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, size_t))                        \
    X(mul, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, size_t))                        \
    X(scale, (tl_ctx *, tl_real *, const tl_real *, size_t, tl_real))                              \
    X(axpy, (tl_ctx *, tl_real *, const tl_real *, size_t, tl_real))                               \
    X(mul_add, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, size_t))                    \
    /* tl/reduce.h */                                                                              \
    X(sum, (tl_ctx *, tl_real *, const tl_real *, size_t))                                         \
    X(sum_rows, (tl_ctx *, tl_real *, const tl_real *, int, int))                                  \
    X(sum_cols, (tl_ctx *, tl_real *, const tl_real *, int, int))                                  \
    X(max_cols, (tl_ctx *, tl_real *, const tl_real *, int, int))                                  \
    X(argmax_cols, (tl_ctx *, int32_t *, const tl_real *, int, int))                               \
    /* tl/matmul.h */                                                                              \
    X(matmul, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_matmul_geom *))     \
    X(gemm, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_matmul_geom *))       \
    X(transpose, (tl_ctx *, tl_real *, const tl_real *, int, int))                                 \
    /* tl/conv2d.h */                                                                              \
    X(im2col, (tl_ctx *, tl_real *, const tl_real *, int, const tl_conv2d_geom *))                 \
    X(col2im, (tl_ctx *, tl_real *, const tl_real *, int, const tl_conv2d_geom *))                 \
    X(conv2d_fwd, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_real *,         \
                   const tl_conv2d_geom *, void *))                                                \
    X(conv2d_bwd_input,                                                                            \
      (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_conv2d_geom *, void *))     \
    X(conv2d_bwd_weight,                                                                           \
      (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_conv2d_geom *, void *))     \
    X(conv2d_bwd_bias, (tl_ctx *, tl_real *, const tl_real *, const tl_conv2d_geom *))             \
    /* tl/layers.h */                                                                              \
    X(maxpool2d_fwd, (tl_ctx *, tl_real *, int32_t *, const tl_real *, const tl_pool2d_geom *))    \
    X(maxpool2d_bwd,                                                                               \
      (tl_ctx *, tl_real *, const tl_real *, const int32_t *, const tl_pool2d_geom *))             \
    X(linear_fwd, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_real *,         \
                   const tl_linear_geom *))                                                        \
    X(linear_bwd_input,                                                                            \
      (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_linear_geom *))             \
    X(linear_bwd_weight,                                                                           \
      (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_linear_geom *))             \
    X(linear_bwd_bias, (tl_ctx *, tl_real *, const tl_real *, const tl_linear_geom *))             \
    X(relu_fwd, (tl_ctx *, tl_real *, const tl_real *, size_t))                                    \
    X(relu_bwd, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, size_t))                   \
    X(softmax_xent_fwd,                                                                            \
      (tl_ctx *, tl_real *, tl_real *, tl_real *, const tl_real *, const int32_t *, int, int))     \
    X(softmax_xent_bwd,                                                                            \
      (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const int32_t *, int, int))          \
    X(batchnorm_fwd,                                                                               \
      (tl_ctx *, tl_real *, tl_real *, tl_real *, tl_real *, tl_real *, const tl_real *,           \
       const tl_real *, const tl_real *, const tl_batchnorm_geom *))                               \
    X(batchnorm_eval, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_real *,     \
                       const tl_real *, const tl_real *, const tl_batchnorm_geom *))               \
    X(batchnorm_bwd,                                                                               \
      (tl_ctx *, tl_real *, tl_real *, tl_real *, const tl_real *, const tl_real *,                \
       const tl_real *, const tl_real *, const tl_real *, const tl_batchnorm_geom *))              \
    X(dropout_fwd,                                                                                 \
      (tl_ctx *, tl_real *, const tl_real *, const tl_step *, const tl_dropout_geom *))            \
    X(dropout_bwd,                                                                                 \
      (tl_ctx *, tl_real *, const tl_real *, const tl_step *, const tl_dropout_geom *))            \
    /* tl/optim.h, tl/data.h, tl/metrics.h */                                                      \
    X(sgd_step, (tl_ctx *, tl_real *, tl_real *, const tl_real *, size_t, const tl_step *,         \
                 const tl_sgd_options *))                                                          \
    X(adam_step, (tl_ctx *, tl_real *, tl_real *, tl_real *, const tl_real *, size_t,              \
                  const tl_step *, const tl_adam_options *))                                       \
    X(batch_load, (tl_ctx *, tl_real *, int32_t *, const tl_device_split *, const tl_step *,       \
                   const tl_batch_geom *))                                                         \
    X(metrics_add,                                                                                 \
      (tl_ctx *, tl_metric_sums *, const tl_real *, const tl_real *, const int32_t *, int, int))

/* Operations that only the CUDA devices have, NULL on the cpu (tl/vector.h, tl/conv3x3.h). */
#define TL_BACKEND_CUDA(X)                                                                         \
    X(vector_reverse, (tl_ctx *, tl_real *, const tl_real *, size_t))                              \
    X(conv3x3, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_conv3x3_geom *))

/* Operations in fewer kernels, which a device may lack (tl/fused.h): NULL there, never filled. */
#define TL_BACKEND_FUSED(X)                                                                        \
    /* y, code (NULL: not wanted), x, w, b */                                                      \
    X(conv2d_block_fwd, (tl_ctx *, tl_real *, uint8_t *, const tl_real *, const tl_real *,         \
                         const tl_real *, const tl_conv2d_block *))                                \
    /* dx (NULL: not wanted), dw, db, dy, code, x, w, geometry, fresh, work */                     \
    X(conv2d_block_bwd,                                                                            \
      (tl_ctx *, tl_real *, tl_real *, tl_real *, const tl_real *, const uint8_t *,                \
       const tl_real *, const tl_real *, const tl_conv2d_block *, bool, void *))                   \
    /* y, x, w, b, geometry, relu, work */                                                         \
    X(linear_block_fwd, (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_real *,   \
                         const tl_linear_geom *, bool, void *))                                    \
    /* dx (NULL: not wanted), dw, db, dy, y (NULL: no relu), x, w, geometry, fresh */              \
    X(linear_block_bwd,                                                                            \
      (tl_ctx *, tl_real *, tl_real *, tl_real *, const tl_real *, const tl_real *,                \
       const tl_real *, const tl_real *, const tl_linear_geom *, bool))                            \
    /* softmax_xent_fwd, metrics_add: loss, row_loss, prob, sums, logits, label, rows, classes */  \
    X(xent_head_fwd, (tl_ctx *, tl_real *, tl_real *, tl_real *, tl_metric_sums *,                 \
                      const tl_real *, const int32_t *, int, int))                                 \
    /* softmax_xent_bwd that overwrites dlogits: dlogits, dloss, prob, label, rows, classes */     \
    X(xent_head_bwd,                                                                               \
      (tl_ctx *, tl_real *, const tl_real *, const tl_real *, const int32_t *, int, int))

typedef struct tl_backend {
    const char *name;    /* "cpu", "cuda", "hostcuda" */
    size_t column_bytes; /* scratch for im2col columns, see tl/conv2d.h */

    /* Memory of the device, given code. Copies to and from the host return when they are done;
     * copy and zero only queue: what comes later on this context finds them done. */
    tl_status (*copy_in)(tl_ctx *, void *device, const void *host, size_t bytes);
    tl_status (*copy_out)(tl_ctx *, void *host, const void *device, size_t bytes);
    tl_status (*copy)(tl_ctx *, void *to, const void *from, size_t bytes); /* device to device */
    tl_status (*zero)(tl_ctx *, void *device, size_t bytes);
    tl_status (*sync)(tl_ctx *);                         /* waits for all queued work */
    tl_status (*step_set)(tl_ctx *, const tl_step *now); /* *ctx->step = *now, in stream order */

    /* Work recorded once and launched many times, given code; all four NULL where the device
     * cannot. Between begin and end operations are recorded instead of queued: no copy to or from
     * the host, no sync. end makes *graph, or with graph == NULL drops what was recorded. A graph
     * names the memory it was recorded with, and launches queue like any other work. */
    tl_status (*graph_begin)(tl_ctx *);
    tl_status (*graph_end)(tl_ctx *, void **graph);
    tl_status (*graph_launch)(tl_ctx *, void *graph);
    void (*graph_free)(tl_ctx *, void *graph); /* waits for its launches; NULL is allowed */

    /* The device's own clock, given code; all four NULL where the host's tells the same. mark
     * queues a moment, and makes *moment if that is NULL; between waits until both have passed.
     * hold lets the device wait for so long, so that what is queued meanwhile runs without gaps. */
    tl_status (*mark)(tl_ctx *, void **moment);
    tl_status (*between)(tl_ctx *, void *from, void *to, double *seconds);
    void (*mark_free)(tl_ctx *, void *moment); /* NULL is allowed */
    tl_status (*hold)(tl_ctx *, int microseconds);

#define TL_BACKEND_ENTRY(name, arguments) tl_status(*name) arguments;
    TL_BACKEND_OPS(TL_BACKEND_ENTRY)
    TL_BACKEND_CUDA(TL_BACKEND_ENTRY)
    TL_BACKEND_FUSED(TL_BACKEND_ENTRY)
    /* whether the kernels of conv2d_block_* take this geometry */
    bool (*conv2d_block_fits)(const tl_conv2d_block *);
#undef TL_BACKEND_ENTRY
} tl_backend;

/* Sets every operation that is still NULL to one that fails with TL_ENOTIMPL, naming it. */
void tl_backend_fill(tl_backend *ops);

#ifdef __cplusplus
}
#endif
#endif
