/* cublas_v2.h: the part of cuBLAS that hostcuda carries out, over OpenBLAS. Column-major, with
 * cuBLAS's rules for handles, streams and pointer modes; every name becomes one of ours. */
#ifndef HOSTCUDA_CUBLAS_H
#define HOSTCUDA_CUBLAS_H

#include "hostcuda/hostcuda.h"
#include "hostcuda/blas.h"
/* (cuBLAS's header brings the types of cublasGemmEx, and programs rely on it) */
#include "cuda_bf16.h"
#include "cuda_fp16.h"

/* By this of cuBLAS's guards NVIDIA's helper_cuda.h knows that there are its errors. */
#define CUBLAS_API_H_

#endif
