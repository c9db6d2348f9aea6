/* rungs_cuda.h: one function per rung of the CUDA devices (as in rungs.h). */
#ifndef TL_RUNGS_CUDA_H
#define TL_RUNGS_CUDA_H

#include "tl/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

void tl_rung_batch_words(tl_backend *ops);  /* batch/01_words.cu */
void tl_rung_conv2d_block(tl_backend *ops); /* conv2d/02_block.cu */
void tl_rung_linear_tiles(tl_backend *ops); /* linear/01_tiles.cu */
void tl_rung_xent_head(tl_backend *ops);    /* xent/01_head.cu */

#ifdef __cplusplus
}
#endif
#endif
