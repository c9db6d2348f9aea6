/* hostcuda/blas.h: cuBLAS's types and functions; usable from C. */
#ifndef HOSTCUDA_BLAS_H
#define HOSTCUDA_BLAS_H

#include <library_types.h>

#include "hostcuda/api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HC_BLAS_STATUSES(X)                                                                        \
    X(CUBLAS_STATUS_SUCCESS, 0, "success")                                                         \
    X(CUBLAS_STATUS_NOT_INITIALIZED, 1, "the library was not initialized")                         \
    X(CUBLAS_STATUS_ALLOC_FAILED, 3, "the resource allocation failed")                             \
    X(CUBLAS_STATUS_INVALID_VALUE, 7, "an invalid value was used as an argument")                  \
    X(CUBLAS_STATUS_ARCH_MISMATCH, 8, "an absent device architectural feature is required")        \
    X(CUBLAS_STATUS_MAPPING_ERROR, 11, "an access to GPU memory space failed")                     \
    X(CUBLAS_STATUS_EXECUTION_FAILED, 13, "the function failed to launch on the GPU")              \
    X(CUBLAS_STATUS_INTERNAL_ERROR, 14, "an internal operation failed")                            \
    X(CUBLAS_STATUS_NOT_SUPPORTED, 15, "the functionality is not supported")                       \
    X(CUBLAS_STATUS_LICENSE_ERROR, 16, "the functionality requires a license")
#define HC_BLAS_ENTRY(name, number, text) name = number,
typedef enum cublasStatus { HC_BLAS_STATUSES(HC_BLAS_ENTRY) } cublasStatus_t;
#undef HC_BLAS_ENTRY

typedef struct cublasContext *cublasHandle_t;
typedef enum cublasOperation { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C } cublasOperation_t;
typedef enum cublasPointerMode {
    CUBLAS_POINTER_MODE_HOST,
    CUBLAS_POINTER_MODE_DEVICE
} cublasPointerMode_t;
typedef enum cublasAtomicsMode {
    CUBLAS_ATOMICS_NOT_ALLOWED,
    CUBLAS_ATOMICS_ALLOWED
} cublasAtomicsMode_t;
typedef enum cublasMath {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;

typedef cudaDataType cublasDataType_t;
typedef enum cublasComputeType {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef enum cublasGemmAlgo {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99
} cublasGemmAlgo_t;

#ifdef __cplusplus
#define HC_AT const char *hc_file = __builtin_FILE(), int hc_line = __builtin_LINE()
#else
#define HC_AT const char *hc_file, int hc_line
#endif

cublasStatus_t hc_blas_Create(cublasHandle_t *handle);
cublasStatus_t hc_blas_Destroy(cublasHandle_t handle);
cublasStatus_t hc_blas_SetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t hc_blas_GetStream(cublasHandle_t handle, cudaStream_t *stream);
cublasStatus_t hc_blas_SetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes, HC_AT);
cublasStatus_t hc_blas_SetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t hc_blas_GetMathMode(cublasHandle_t handle, cublasMath_t *mode);
cublasStatus_t hc_blas_SetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t hc_blas_GetPointerMode(cublasHandle_t handle, cublasPointerMode_t *mode);
cublasStatus_t hc_blas_SetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t hc_blas_GetVersion(cublasHandle_t handle, int *version);
const char *hc_blas_GetStatusName(cublasStatus_t status);
const char *hc_blas_GetStatusString(cublasStatus_t status);

/* Both precisions of every operation. */
#define HC_BLAS_DECLARE(P, T)                                                                      \
    cublasStatus_t hc_blas_##P##gemm(cublasHandle_t handle, cublasOperation_t transa,              \
                                     cublasOperation_t transb, int m, int n, int k,                \
                                     const T *alpha, const T *a, int lda, const T *b, int ldb,     \
                                     const T *beta, T *c, int ldc, HC_AT);                         \
    cublasStatus_t hc_blas_##P##gemmStridedBatched(                                                \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,   \
        int k, const T *alpha, const T *a, int lda, long long stride_a, const T *b, int ldb,       \
        long long stride_b, const T *beta, T *c, int ldc, long long stride_c, int batch, HC_AT);   \
    cublasStatus_t hc_blas_##P##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, \
                                     const T *alpha, const T *a, int lda, const T *x, int incx,    \
                                     const T *beta, T *y, int incy, HC_AT);                        \
    cublasStatus_t hc_blas_##P##axpy(cublasHandle_t handle, int n, const T *alpha, const T *x,     \
                                     int incx, T *y, int incy, HC_AT);                             \
    cublasStatus_t hc_blas_##P##dot(cublasHandle_t handle, int n, const T *x, int incx,            \
                                    const T *y, int incy, T *result, HC_AT);                       \
    cublasStatus_t hc_blas_##P##scal(cublasHandle_t handle, int n, const T *alpha, T *x, int incx, \
                                     HC_AT);
HC_BLAS_DECLARE(S, float)
HC_BLAS_DECLARE(D, double)
#undef HC_BLAS_DECLARE

/* In float or in double, whatever the compute type: full precision; halves, bfloat16 are widened,
 * summed in float and rounded once. Other types are refused when they are asked for. */
cublasStatus_t hc_blas_GemmEx(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const void *alpha,
                              const void *a, cudaDataType_t type_a, int lda, const void *b,
                              cudaDataType_t type_b, int ldb, const void *beta, void *c,
                              cudaDataType_t type_c, int ldc, cublasComputeType_t compute,
                              cublasGemmAlgo_t algorithm, HC_AT);
cublasStatus_t hc_blas_GemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *a, cudaDataType_t type_a, int lda, long long stride_a,
    const void *b, cudaDataType_t type_b, int ldb, long long stride_b, const void *beta, void *c,
    cudaDataType_t type_c, int ldc, long long stride_c, int batch, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm, HC_AT);
cublasStatus_t hc_blas_Hgemm(cublasHandle_t handle, cublasOperation_t transa,
                             cublasOperation_t transb, int m, int n, int k, const void *alpha,
                             const void *a, int lda, const void *b, int ldb, const void *beta,
                             void *c, int ldc, HC_AT);
#undef HC_AT

#define cublasCreate               hc_blas_Create
#define cublasDestroy              hc_blas_Destroy
#define cublasSetStream            hc_blas_SetStream
#define cublasGetStream            hc_blas_GetStream
#define cublasSetWorkspace         hc_blas_SetWorkspace
#define cublasSetMathMode          hc_blas_SetMathMode
#define cublasGetMathMode          hc_blas_GetMathMode
#define cublasSetPointerMode       hc_blas_SetPointerMode
#define cublasGetPointerMode       hc_blas_GetPointerMode
#define cublasSetAtomicsMode       hc_blas_SetAtomicsMode
#define cublasGetVersion           hc_blas_GetVersion
#define cublasGetStatusName        hc_blas_GetStatusName
#define cublasGetStatusString      hc_blas_GetStatusString
#define cublasCreate_v2            hc_blas_Create
#define cublasDestroy_v2           hc_blas_Destroy
#define cublasSetStream_v2         hc_blas_SetStream
#define cublasGetStream_v2         hc_blas_GetStream
#define cublasSetPointerMode_v2    hc_blas_SetPointerMode
#define cublasSgemm                hc_blas_Sgemm
#define cublasSgemmStridedBatched  hc_blas_SgemmStridedBatched
#define cublasSgemv                hc_blas_Sgemv
#define cublasSaxpy                hc_blas_Saxpy
#define cublasSdot                 hc_blas_Sdot
#define cublasSscal                hc_blas_Sscal
#define cublasDgemm                hc_blas_Dgemm
#define cublasDgemmStridedBatched  hc_blas_DgemmStridedBatched
#define cublasDgemv                hc_blas_Dgemv
#define cublasDaxpy                hc_blas_Daxpy
#define cublasDdot                 hc_blas_Ddot
#define cublasDscal                hc_blas_Dscal
#define cublasGemmEx               hc_blas_GemmEx
#define cublasHgemm                hc_blas_Hgemm
#define cublasGemmStridedBatchedEx hc_blas_GemmStridedBatchedEx

#ifdef __cplusplus
}
#endif
#endif
