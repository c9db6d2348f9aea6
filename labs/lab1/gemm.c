/* gemm.c: the matrix product through BLAS, in parallel over tiles of C (tl/matmul.h). */
#include "tl/matmul.h"

#include <cblas.h>

#ifdef TL_REAL_DOUBLE
#define blas_gemm cblas_dgemm
#else
#define blas_gemm cblas_sgemm
#endif

tl_status tl_gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                  const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "tl_gemm: ctx, C, A, B or the geometry is NULL");

    /* TODO(lab 1): The same contract as tl_matmul, by BLAS. One call of blas_gemm(CblasRowMajor,
     * ...) for all of C is enough for the points: transposition flags, sizes m, n, k, and a leading
     * dimension for each matrix, which is the distance between rows as they are stored (so think:
     * what does it follow from if A is stored transposed?). Factor 1 for the product; which factor
     * for the old C? OpenBLAS runs with one thread here. For the others, cut C into tiles, one call
     * each; K is never cut, and where to cut must follow from the sizes alone, or the bits would
     * depend on the number of threads. */
    return TL_NOT_IMPLEMENTED();
}
