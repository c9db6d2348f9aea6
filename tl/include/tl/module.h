/* tl/module.h: layers that own their parameters, and their composition. (lab 4)
 *
 * A module is a forward function over variables, plus parameters and children. Constructors draw
 * He-normal weights and zero biases (stream numbers come from tl_module_seed) and take
 * memory from ctx->alloc; on failure *m is NULL and nothing is left allocated. */
#ifndef TL_MODULE_H
#define TL_MODULE_H

#include "tl/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_module tl_module;

enum { TL_MODULE_PARAMS = 2, TL_MODULE_BUFFERS = 2 };

/* What a module is, says its kind: a sequential is one without children, too. `forward` is for
 * tl_module_forward alone: it may be replaced. The nets of tl/nets.h hold blocks, which are
 * sequentials with a forward function that runs several layers in one kernel; their parameters are
 * visited and freed like any other's. */
struct tl_module {
    const char *kind; /* "conv2d", "sequential", … */
    tl_ctx *ctx;
    tl_status (*forward)(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training);
    tl_var *param[TL_MODULE_PARAMS]; /* weight, bias (or gamma, beta); NULL where there is none */
    tl_tensor
        *buffer[TL_MODULE_BUFFERS]; /* state that is saved but not trained: running statistics */
    tl_module **child;              /* owned; sequential only */
    int children, capacity;
    union {
        tl_conv2d_geom conv2d;
        tl_pool2d_geom pool2d;
        struct {
            double p;
            uint32_t layer;
        } dropout;
        struct {
            double eps, momentum;
        } batchnorm;
    } u;
};

/* Where initial weights come from: the run's seed and a stream of it. Each tensor of weights draws
 * from next_stream and advances it by one; what is filled (biases, gamma, beta) draws nothing. */
typedef struct tl_module_seed {
    uint64_t seed;
    uint32_t next_stream;
} tl_module_seed;

/* attributes: c, k, r, s, stride, pad, dilation; n, h, w are taken from the input later. */
tl_status tl_module_conv2d(tl_module **m, tl_ctx *ctx, const tl_conv2d_geom *attributes,
                           tl_module_seed *seed);
tl_status tl_module_linear(tl_module **m, tl_ctx *ctx, int in, int out, tl_module_seed *seed);
tl_status tl_module_maxpool2d(tl_module **m, tl_ctx *ctx, const tl_pool2d_geom *attributes);
tl_status tl_module_relu(tl_module **m, tl_ctx *ctx);
tl_status tl_module_flatten(tl_module **m, tl_ctx *ctx); /* [n,…] to [n, rest] */
tl_status tl_module_dropout(tl_module **m, tl_ctx *ctx, double p, uint32_t layer);
/* gamma 1, beta 0, running mean 0, running variance 1; eps 1e-5, momentum 0.1 as in PyTorch. */
tl_status tl_module_batchnorm2d(tl_module **m, tl_ctx *ctx, int channels);
tl_status tl_module_sequential(tl_module **m, tl_ctx *ctx);
/* Appends child, which the sequential then owns; on failure the child is freed. */
tl_status tl_module_append(tl_module *sequential, tl_module *child);

/* y = m(x). `training` switches dropout and batch norm. */
tl_status tl_module_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training);

void tl_module_free(tl_module *m); /* with children, parameters and buffers; NULL is allowed */

/* Calls visit for every parameter (variable) and buffer (tensor) in order of construction; the name
 * is "<index>.<kind>.weight", ".bias", ".running_mean", …, index counting the modules of the tree
 * that are no sequential. Exactly one of param and buffer is not NULL. Stops at the first failure.
 */
typedef tl_status (*tl_module_visit_fn)(void *user, const char *name, tl_var *param,
                                        tl_tensor *buffer);
tl_status tl_module_visit(tl_module *m, tl_module_visit_fn visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
