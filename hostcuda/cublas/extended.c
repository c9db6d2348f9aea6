/* extended.c: cublasGemmEx, whose arguments say their types: those that operations.c has. */
#include "handle.h"

static cublasStatus_t refuse(const char *file, int line, cudaDataType_t a, cudaDataType_t b,
                             cudaDataType_t c, cublasComputeType_t compute) {
    hc_complain("blas-argument", file, line,
                "hostcuda computes in float (CUDA_R_32F, CUBLAS_COMPUTE_32F and its FAST_ kin) and "
                "in double (CUDA_R_64F, CUBLAS_COMPUTE_64F): convert before the call",
                "a gemm of types %d, %d and %d with compute type %d is not supported", (int)a,
                (int)b, (int)c, (int)compute);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t hc_blas_GemmStridedBatchedEx(
    cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *a, cudaDataType_t type_a, int lda, long long stride_a,
    const void *b, cudaDataType_t type_b, int ldb, long long stride_b, const void *beta, void *c,
    cudaDataType_t type_c, int ldc, long long stride_c, int batch, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm, const char *file, int line) {
    (void)algorithm;
    bool one_type = type_a == type_b && type_b == type_c;
    bool single = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                  (compute >= CUBLAS_COMPUTE_32F_FAST_16F &&
                   compute <= CUBLAS_COMPUTE_32F_FAST_TF32);
    if (one_type && type_a == CUDA_R_32F && single)
        return hc_blas_SgemmStridedBatched(h, transa, transb, m, n, k, alpha, a, lda, stride_a, b,
                                           ldb, stride_b, beta, c, ldc, stride_c, batch, file,
                                           line);
    if (one_type && type_a == CUDA_R_64F && compute == CUBLAS_COMPUTE_64F)
        return hc_blas_DgemmStridedBatched(h, transa, transb, m, n, k, alpha, a, lda, stride_a, b,
                                           ldb, stride_b, beta, c, ldc, stride_c, batch, file,
                                           line);
    return refuse(file, line, type_a, type_b, type_c, compute);
}

cublasStatus_t hc_blas_GemmEx(cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb,
                              int m, int n, int k, const void *alpha, const void *a,
                              cudaDataType_t type_a, int lda, const void *b, cudaDataType_t type_b,
                              int ldb, const void *beta, void *c, cudaDataType_t type_c, int ldc,
                              cublasComputeType_t compute, cublasGemmAlgo_t algorithm,
                              const char *file, int line) {
    return hc_blas_GemmStridedBatchedEx(h, transa, transb, m, n, k, alpha, a, type_a, lda, 0, b,
                                        type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute,
                                        algorithm, file, line);
}
