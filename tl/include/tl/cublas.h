/* tl/cublas.h: checked calls of cuBLAS, for .cu files that make some. */
#ifndef TL_CUBLAS_H
#define TL_CUBLAS_H

#include <cublas_v2.h>

#include "tl/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As tl_cuda_failed. */
tl_status tl_cublas_failed(cublasStatus_t status, const char *file, int line, const char *what);

/* Returns TL_EDEVICE from the calling function unless the call succeeds. */
#define TL_CUBLAS(...)                                                                             \
    do {                                                                                           \
        cublasStatus_t tl_status_ = (__VA_ARGS__);                                                 \
        if (tl_status_ != CUBLAS_STATUS_SUCCESS)                                                   \
            return tl_cublas_failed(tl_status_, __FILE__, __LINE__, TL_TEXT(#__VA_ARGS__));        \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
