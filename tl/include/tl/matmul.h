/* tl/matmul.h: matrix products and transposition. (lab 1)
 *
 * The geometry (tl/geometry.h) says sizes, which operands are stored transposed, and whether C is
 * overwritten or added to. C overlaps neither A nor B. All matrices are row-major and contiguous.
 */
#ifndef TL_MATMUL_H
#define TL_MATMUL_H

#include "tl/context.h"
#include "tl/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The student's own blocked product: no BLAS. */
tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g);

/* The same contract through BLAS (OpenBLAS with one thread per tile of C; cuBLAS on a GPU). The
 * tiles depend on the sizes only, so the bits do not depend on the number of threads. */
tl_status tl_gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                  const tl_matmul_geom *g);

/* y[cols,rows] = xᵀ for x[rows,cols]; y does not overlap x. */
tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols);

#ifdef __cplusplus
}
#endif
#endif
