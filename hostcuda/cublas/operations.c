/* operations.c: cuBLAS's operations over OpenBLAS: what both precisions share, and those whose
 * arguments say their types. */
#include "handle.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

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
    if (!error) error = hc_counts_failure(); /* a library launches a kernel of its own */
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

/* ---- cublasGemmEx, whose arguments say their types ---- */

/* Numbers of 16 bits: `fraction` bits of fraction, the last of which is 2^lowest where the exponent
 * is least. */
typedef struct narrow {
    int fraction, lowest;
    unsigned infinite;
} narrow;
static const narrow half = {10, -24, 0x7c00}, brain = {7, -133, 0x7f80};

static float widen(const narrow *t, uint16_t bits) {
    int exponent = (bits & 0x7fff) >> t->fraction, one = 1 << t->fraction;
    float value = (float)(bits & (one - 1));
    if (exponent == (int)t->infinite >> t->fraction)
        return value > 0 ? NAN : bits >> 15 ? -INFINITY : INFINITY;
    value =
        ldexpf(exponent ? value + (float)one : value, t->lowest + (exponent ? exponent - 1 : 0));
    return bits >> 15 ? -value : value;
}

static uint16_t shorten(const narrow *t, float x) {
    if (isnan(x)) return 0x7fff;
    unsigned sign = signbit(x) ? 0x8000 : 0, bits = t->infinite;
    if (!isinf(x)) {
        int exponent;
        frexpf(x, &exponent);
        int last = exponent - t->fraction - 1;
        if (last < t->lowest || x == 0) last = t->lowest;
        bits = ((unsigned)(last - t->lowest) << t->fraction) +
               (unsigned)nearbyintf(ldexpf(fabsf(x), -last));
        if (bits > t->infinite) bits = t->infinite;
    }
    return (uint16_t)(sign | bits);
}

/* A product of narrow numbers: summed in float, C in float or as narrow as A and B. */
typedef struct typed_gemm {
    S_gemm g;
    const narrow *in, *out; /* NULL: float */
} typed_gemm;

/* A matrix as floats, one column behind the other. */
static float *widened(const narrow *t, const void *from, long long offset, int rows, int columns,
                      int leading) {
    float *to = malloc(((size_t)rows * (size_t)columns + 1) * sizeof *to);
    if (!to) abort();
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            long long at = offset + (long long)j * leading + i;
            to[(size_t)j * (size_t)rows + (size_t)i] =
                t ? widen(t, ((const uint16_t *)from)[at]) : ((const float *)from)[at];
        }
    return to;
}

static cudaError_t run_typed_gemm(void *payload) {
    const typed_gemm *p = payload;
    const S_gemm *g = &p->g;
    float alpha = S_get(g->alpha), beta = S_get(g->beta);
    bool plain_a = g->transa == CUBLAS_OP_N, plain_b = g->transb == CUBLAS_OP_N;
    int rows_a = plain_a ? g->m : g->k, columns_a = plain_a ? g->k : g->m;
    int rows_b = plain_b ? g->k : g->n, columns_b = plain_b ? g->n : g->k;
    for (long long i = 0; i < g->batch; i++) {
        float *a = widened(p->in, g->a, i * g->stride_a, rows_a, columns_a, g->lda);
        float *b = widened(p->in, g->b, i * g->stride_b, rows_b, columns_b, g->ldb);
        float *c = widened(p->out, g->c, i * g->stride_c, g->m, g->n, g->ldc);
        cblas_sgemm(CblasColMajor, transpose(g->transa), transpose(g->transb), g->m, g->n, g->k,
                    alpha, a, rows_a ? rows_a : 1, b, rows_b ? rows_b : 1, beta, c, g->m);
        for (int k = 0; k < g->n; k++)
            for (int r = 0; r < g->m; r++) {
                long long at = i * g->stride_c + (long long)k * g->ldc + r;
                float value = c[(size_t)k * (size_t)g->m + (size_t)r];
                if (p->out)
                    ((uint16_t *)(void *)g->c)[at] = shorten(p->out, value);
                else
                    g->c[at] = value;
            }
        free(a), free(b), free(c);
    }
    return cudaSuccess;
}

typedef enum products { NONE, IN_FLOAT, IN_DOUBLE, OF_HALF, OF_BRAIN } products;

/* By the types of A (and B), C and the compute type. */
static products products_of(cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                            cublasComputeType_t compute) {
    bool single = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
    bool quick = compute >= CUBLAS_COMPUTE_32F_FAST_16F && compute <= CUBLAS_COMPUTE_32F_FAST_TF32;
    bool twice = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
    bool halves = compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC;
    if (a != b) return NONE;
    if (a == CUDA_R_32F && c == a && (single || quick)) return IN_FLOAT;
    if (a == CUDA_R_64F && c == a && twice) return IN_DOUBLE;
    if (a == CUDA_R_16F && ((single && (c == a || c == CUDA_R_32F)) || (halves && c == a)))
        return OF_HALF;
    if (a == CUDA_R_16BF && single && (c == a || c == CUDA_R_32F)) return OF_BRAIN;
    return NONE;
}

static cublasStatus_t refuse(const char *file, int line, cudaDataType_t a, cudaDataType_t b,
                             cudaDataType_t c, cublasComputeType_t compute) {
    hc_complain(
        "blas-argument", file, line,
        "A and B of one type: CUDA_R_32F (C too) or CUDA_R_64F (C too, CUBLAS_COMPUTE_64F), "
        "CUDA_R_16F or CUDA_R_16BF (C likewise or CUDA_R_32F) with CUBLAS_COMPUTE_32F, or "
        "halves throughout with CUBLAS_COMPUTE_16F and scalars on the host",
        "a gemm of types %d, %d and %d with compute type %d is not supported by hostcuda", (int)a,
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
    if (!hc_blas_valid(h)) return CUBLAS_STATUS_NOT_INITIALIZED;
    products kind = products_of(type_a, type_b, type_c, compute);
    bool halves = compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC;
    if (kind == NONE || (halves && h->mode == CUBLAS_POINTER_MODE_DEVICE))
        return refuse(file, line, type_a, type_b, type_c, compute);
    if (kind == IN_FLOAT)
        return hc_blas_SgemmStridedBatched(h, transa, transb, m, n, k, alpha, a, lda, stride_a, b,
                                           ldb, stride_b, beta, c, ldc, stride_c, batch, file,
                                           line);
    if (kind == IN_DOUBLE)
        return hc_blas_DgemmStridedBatched(h, transa, transb, m, n, k, alpha, a, lda, stride_a, b,
                                           ldb, stride_b, beta, c, ldc, stride_c, batch, file,
                                           line);
    const narrow *t = kind == OF_HALF ? &half : &brain;
    typed_gemm p = {{transa,
                     transb,
                     m,
                     n,
                     k,
                     lda,
                     ldb,
                     ldc,
                     batch,
                     stride_a,
                     stride_b,
                     stride_c,
                     {0, NULL},
                     {0, NULL},
                     a,
                     b,
                     c},
                    t,
                    type_c == CUDA_R_32F ? NULL : t};
    float scalars[2];
    for (int i = 0; i < 2 && halves && alpha && beta; i++)
        scalars[i] = widen(t, *(const uint16_t *)(i ? beta : alpha));
    return S_submit_gemm(h, &p.g, sizeof p, run_typed_gemm, halves && alpha ? &scalars[0] : alpha,
                         halves && beta ? &scalars[1] : beta, sizeof(uint16_t),
                         p.out ? sizeof(uint16_t) : sizeof(float), file, line);
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

cublasStatus_t hc_blas_Hgemm(cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb,
                             int m, int n, int k, const void *alpha, const void *a, int lda,
                             const void *b, int ldb, const void *beta, void *c, int ldc,
                             const char *file, int line) {
    return hc_blas_GemmEx(h, transa, transb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb,
                          beta, c, CUDA_R_16F, ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT, file,
                          line);
}
