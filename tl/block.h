/* block.h: modules of several layers that run in few kernels where the device offers them. */
#ifndef GRADLAB_BLOCK_H
#define GRADLAB_BLOCK_H

#include "tl/module.h"

/* An empty block: a sequential to append layers to, as names and order of parameters go. Run, it
 * uses the fused operations of the table for conv2d, relu[, maxpool2d 2x2] and for
 * [flatten,] linear[, relu]; whatever else it holds, and where the table has none, runs layer by
 * layer. */
tl_status tl_module_block(tl_module **m, tl_ctx *ctx);

#endif
