/* cublasLt.h: handles of cuBLASLt. Its products are not there: cublasGemmEx and its kin are. */
#ifndef HOSTCUDA_CUBLASLT_H
#define HOSTCUDA_CUBLASLT_H

#include "cublas_v2.h"

typedef struct cublasContext *cublasLtHandle_t;
#define cublasLtCreate  hc_blas_Create
#define cublasLtDestroy hc_blas_Destroy

#endif
