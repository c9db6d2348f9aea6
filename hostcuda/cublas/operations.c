/* operations.c: cuBLAS's operations over OpenBLAS: what both precisions share, and those whose
 * arguments say their types. */
#include "handle.h"

#include <cblas.h>

typedef struct operand {
    const void *p;
    size_t bytes;
    const char *name;
} operand;

static enum CBLAS_TRANSPOSE transpose(cublasOperation_t op) {
    return op == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

/* Elements from the first to the last one that are touched. */
static size_t matrix(int rows, int columns, int leading) {
    return rows && columns ? (size_t)(columns - 1) * (size_t)leading + (size_t)rows : 0;
}

static size_t vector(int n, int increment) {
    size_t step = (size_t)(increment < 0 ? -increment : increment);
    return n > 0 ? (size_t)(n - 1) * step + 1 : 0;
}

/* Row-major thinking is the usual mistake with a column-major library. */
static bool leading(const char *name, int given, int rows, const char *file, int line) {
    if (given >= (rows > 1 ? rows : 1)) return true;
    hc_complain("blas-argument", file, line,
                "cuBLAS is column-major: a row-major matrix is its transpose; for C = A B in "
                "row-major compute C' = B' A', and a leading dimension is the length of a row",
                "the leading dimension of %s is %d, but it has %d rows", name, given, rows);
    return false;
}

static cublasStatus_t submit(cublasHandle_t h, const char *name, cudaError_t (*run)(void *),
                             const void *payload, size_t bytes, const operand *operands, int count,
                             bool wait, const char *file, int line) {
    hc_enter();
    cudaError_t error = hc_sticky();
    for (int i = 0; i < count && !error; i++)
        error = hc_check_device(operands[i].p, operands[i].bytes, operands[i].name, file, line);
    cublasStatus_t status = error ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
    if (!error) error = hc_queue_call(h->stream, name, run, payload, bytes, file, line);
    if (!error && wait) error = hc_finish(h->stream);
    if (!error) hc_check_written(operands[count - 1].p, operands[count - 1].bytes); /* the output */
    if (!error) hc_check_work_library(operands[count - 1].p, operands[count - 1].bytes);
    hc_leave();
    return error && !status ? CUBLAS_STATUS_EXECUTION_FAILED : status;
}

#define PASTE(a, b) a##b
#define JOIN(a, b)  PASTE(a, b)
#define BLAS(name)  JOIN(JOIN(hc_blas_, P), name)
#define CBLAS(name) JOIN(JOIN(cblas_, PREFIX), name)

#define P      S
#define PREFIX s
#define T      float
#include "operations.inc"
#undef P
#undef PREFIX
#undef T

#define P      D
#define PREFIX d
#define T      double
#include "operations.inc"
#undef P
#undef PREFIX
#undef T

/* ---- cublasGemmEx, whose arguments say their types: those that stand above ---- */

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
