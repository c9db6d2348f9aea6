/* net_layers.h: the layers of a tl_net_spec as tests write them down (tl/nets.h). */
#ifndef NET_LAYERS_H
#define NET_LAYERS_H

#include "tl/nets.h"

/* clang-format off */
#define CONV(channels, pad) {TL_LAYER_CONV, channels, pad, 0}
#define RELU {TL_LAYER_RELU, 0, 0, 0}
#define POOL {TL_LAYER_POOL, 0, 0, 0}
#define DROPOUT(p) {TL_LAYER_DROPOUT, 0, 0, p}
#define FLATTEN {TL_LAYER_FLATTEN, 0, 0, 0}
#define LINEAR(features) {TL_LAYER_LINEAR, features, 0, 0}
#define END {TL_LAYER_END, 0, 0, 0}
/* clang-format on */

#endif
