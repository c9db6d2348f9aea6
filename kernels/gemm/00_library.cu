/* 00_library.cu: rung 0 of gemm in TF32, bfloat16 and half precision: cuBLAS, as the plain path
 * has it in float.
 *
 * It fills stored_gemm of tl/backend.h alone, what rungs 7 to 12 are timed beside (`make bench`):
 * operands are stored as cuBLAS takes them, and no time goes into rounding. It stands here and not
 * in tl/cuda, for what is linked with a student's code must have no product to call.
 *
 * The operands change places as in tl_gemm: cuBLAS reads matrices column by column. */
#include "kernels/rungs.h"

#ifndef TL_REAL_DOUBLE
#include "tl/cublas.h"

static tl_status stored_gemm(tl_ctx *ctx, tl_real *C, const void *A, const void *B,
                             const tl_matmul_geom *g, tl_precision precision) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "stored_gemm: ctx, C, A, B or g is NULL");
    TL_NEED(precision == TL_TF32 || tl_in_16_bits(precision), TL_EINVAL,
            "stored_gemm: precision %d is neither TF32 nor of 16 bits", (int)precision);
    bool narrow = precision != TL_TF32;
    cudaDataType_t of_16_bits = precision == TL_BF16 ? CUDA_R_16BF : CUDA_R_16F;
    cudaDataType_t type = narrow ? of_16_bits : CUDA_R_32F;
    cublasComputeType_t compute = narrow ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
    cublasOperation_t op_a = g->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t op_b = g->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    int lda = g->trans_a ? g->m : g->k, ldb = g->trans_b ? g->k : g->n;
    float alpha = 1, beta = g->accumulate ? 1 : 0;
    TL_CUBLAS(cublasGemmEx((cublasHandle_t)ctx->blas, op_b, op_a, g->n, g->m, g->k, &alpha, B, type,
                           ldb, A, type, lda, &beta, C, CUDA_R_32F, g->n, compute,
                           CUBLAS_GEMM_DEFAULT));
    return TL_OK;
}

extern "C" void tl_rung_gemm_library(tl_backend *ops) { ops->stored_gemm = stored_gemm; }
#endif
