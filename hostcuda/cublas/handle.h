/* handle.h: what a cuBLAS handle holds. */
#ifndef HOSTCUDA_BLAS_HANDLE_H
#define HOSTCUDA_BLAS_HANDLE_H

#include "../runtime/internal.h"
#include "hostcuda/blas.h"

struct cublasContext {
    int alive;
    struct cublasContext *destroyed_before; /* kept, so that a later use of the handle is seen */
    cudaStream_t stream;
    cublasPointerMode_t mode;
    cublasMath_t math;
};

bool hc_blas_valid(cublasHandle_t handle);

#endif
