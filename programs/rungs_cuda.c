/* rungs_cuda.c: the ladder of the CUDA devices, as their plug-ins link it. */
#include "tl/rungs_apply.h"

#include "kernels/rungs.h"

/* The device's name in tl_backend, as in cuda_device.cu. */
#ifndef TL_CUDA_DEVICE
#define TL_CUDA_DEVICE "cuda"
#endif

const rung rung_table[] = {
#define RUNG_CUDA(op, number, function)        {TL_CUDA_DEVICE, #op, number, function, false, 0},
#define STEP_CUDA(op, number, function, since) {TL_CUDA_DEVICE, #op, number, function, true, since},
#include "kernels/rungs.def"
    {NULL, NULL, 0, NULL, false, 0},
};
