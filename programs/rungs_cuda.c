/* rungs_cuda.c: the ladder of the CUDA devices, as their plug-ins link it. */
#include "tl/rungs_apply.h"

#include "kernels/rungs.h"

/* The device's name in tl_backend, as in cuda_device.cu. */
#ifndef TL_CUDA_DEVICE
#define TL_CUDA_DEVICE   "cuda"
#define ON_90A(function) function
#else
#define ON_90A(function) NULL /* hostcuda has no instructions of one GPU alone */
#endif

const rung rung_table[] = {
#define ROW(op, number, function, step, since, precision)                                          \
    {TL_CUDA_DEVICE, #op, number, function, step, since, TL_##precision, 0},
#define RUNG_CUDA(op, number, function, since, p) ROW(op, number, function, false, since, p)
#define STEP_CUDA(op, number, function, since, p) ROW(op, number, function, true, since, p)
#define STEP_90A(op, number, function, p)                                                          \
    {TL_CUDA_DEVICE, #op, number, ON_90A(function), true, 90, TL_##p, 90},
#include "kernels/rungs.def"
    {NULL, NULL, 0, NULL, false, 0, TL_FP32, 0},
};
