/* gemm.cu: the matrix product through cuBLAS (tl/matmul.h). */
//@lab 1:
/* cuBLAS takes matrices column by column. Read that way, our row-major C[m,n] is Cᵀ[n,m], and
 * Cᵀ = op(B)ᵀ · op(A)ᵀ: so the operands change places, keep their transposition flags, and nothing
 * is copied. The handle's mathematics stays the default one, which has no TF32: TF32 would keep
 * 11 of the 24 significant bits of each input. */
//@end
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

    //@lab 1: The same contract as tl_matmul, by one call of blas_gemm with the handle
    //@  (cublasHandle_t)ctx->blas, checked by TL_CUBLAS (tl/cublas.h). cuBLAS takes matrices
    //@  column by column, ours lie row by row, and nothing should be copied: what is our C[m,n] if
    //@  it is read column by column? Which product of A and B, as they lie in memory, gives that?
    //@  Write it down on paper with sizes before you fill in the arguments. A leading dimension is
    //@  the distance between rows as stored. alpha and beta are read from the host, in tl_real;
    //@  the mathematics mode is not yours to change (TF32 would keep 11 of 24 bits).
    cublasOperation_t op_a = g->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t op_b = g->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    /* distance between rows as stored; cuBLAS calls it the leading dimension */
    int lda = g->trans_a ? g->m : g->k, ldb = g->trans_b ? g->k : g->n;
    /* factors of the product and of the old C; read from the host before the call returns */
    tl_real alpha = TL_R(1), beta = TL_R(g->accumulate ? 1 : 0);
    TL_CUBLAS(blas_gemm((cublasHandle_t)ctx->blas, op_b, op_a, g->n, g->m, g->k, &alpha, B, ldb, A,
                        lda, &beta, C, g->n));
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
