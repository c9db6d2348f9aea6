/* tl/nets.h: the course's nets as tables of layers, with their default training options. */
#ifndef TL_NETS_H
#define TL_NETS_H

#include "tl/data.h"
#include "tl/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tl_layer_kind {
    TL_LAYER_END = 0,
    TL_LAYER_CONV, /* 3x3, stride 1 */
    TL_LAYER_RELU,
    TL_LAYER_POOL, /* 2x2, stride 2 */
    TL_LAYER_DROPOUT,
    TL_LAYER_FLATTEN,
    TL_LAYER_LINEAR
} tl_layer_kind;

typedef struct tl_layer {
    tl_layer_kind kind;
    int out;  /* CONV: channels; LINEAR: features */
    int pad;  /* CONV */
    double p; /* DROPOUT */
} tl_layer;

typedef struct tl_net_spec {
    const char *name;      /* "a" */
    const char *dataset;   /* "mnist", or NULL for any set of 3x32x32 images */
    int c, h, w;           /* input */
    const tl_layer *layer; /* ends with TL_LAYER_END */
    /* defaults of the trainer, in the words of its options */
    const char *opt, *sched, *aug;
    double lr, momentum;
    int batch, epochs;
} tl_net_spec;

/* The net called `name`, or NULL. */
const tl_net_spec *tl_net_find(const char *name);
/* All of them: the i-th, NULL behind the last. */
const tl_net_spec *tl_net_at(size_t i);

/* The layers as words: "conv:OUT:PAD relu pool dropout:P flatten linear:OUT …". That is how a plan
 * carries a net to the PyTorch twin. Cut off at `size` bytes; 512 hold any of the course's nets. */
void tl_net_words(const tl_net_spec *spec, char *text, size_t size);

/* Builds the net as a sequential module for inputs of the spec's size. */
tl_status tl_net_build(tl_module **net, tl_ctx *ctx, const tl_net_spec *spec, uint64_t seed);

/* Elements per image at the input of dropout layer `layer` (0, 1, …), or 0 if there is no such one.
 */
size_t tl_net_dropout_size(const tl_net_spec *spec, uint32_t layer, double *p);

#ifdef __cplusplus
}
#endif
#endif
