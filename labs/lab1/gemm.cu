/* gemm.cu: the matrix product through cuBLAS (tl/matmul.h). */
#include "tl/matmul.h"

#include "tl/cublas.h"

#ifdef TL_REAL_DOUBLE
#define blas_gemm cublasDgemm
#else
#define blas_gemm cublasSgemm
#endif

tl_status tl_gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                  const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "tl_gemm: ctx, C, A, B or the geometry is NULL");

    /* TODO(lab 1): The same contract as tl_matmul, by one call of blas_gemm with the handle
     * (cublasHandle_t)ctx->blas, checked by TL_CUBLAS (tl/cublas.h). cuBLAS takes matrices column
     * by column, ours lie row by row, and nothing should be copied: what is our C[m,n] if it is
     * read column by column? Which product of A and B, as they lie in memory, gives that? Write it
     * down on paper with sizes before you fill in the arguments. A leading dimension is the
     * distance between rows as stored. alpha and beta are read from the host, in tl_real; the
     * mathematics mode is not yours to change (TF32 would keep 11 of 24 bits). */
    return TL_NOT_IMPLEMENTED();
}
