/* rungs_cuda.c: the rungs of the CUDA devices, in the order in which "all" applies them. */
#include "labs/common/program/rungs.h"

#include "kernels/rungs_cuda.h"

/* The device's name in tl_backend, as in cuda_device.cu. */
#ifndef TL_CUDA_DEVICE
#define TL_CUDA_DEVICE "cuda"
#endif

const rung rung_table[] = {
    {TL_CUDA_DEVICE, "batch", 1, tl_rung_batch_words},
    {TL_CUDA_DEVICE, "conv2d", 2, tl_rung_conv2d_block},
    {TL_CUDA_DEVICE, "linear", 1, tl_rung_linear_tiles},
    {TL_CUDA_DEVICE, "xent", 1, tl_rung_xent_head},
    {NULL, NULL, 0, NULL},
};
