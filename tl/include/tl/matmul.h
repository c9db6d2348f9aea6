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

/* The size of C = A·B, neither transposed, whose traffic on a device is counted by hostcuda's check
 * build in sectors (32 bytes of global memory, the least that a GPU fetches; one request of a warp
 * costs as many as its lanes touch): a kernel of plain tiles of 16 x 16 in shared memory fetches
 * and writes TL_MATMUL_PLAIN_TILES, one thread per element of such a block without them 111,744. */
static const tl_matmul_geom tl_matmul_counted = {96, 96, 96, 0, 0, 0};
enum { TL_MATMUL_PLAIN_TILES = 14976, TL_MATMUL_SECTORS = TL_MATMUL_PLAIN_TILES * 13 / 10 };

/* The student's own blocked product: no BLAS. Of the traffic on a device TL_MATMUL_SECTORS are
 * allowed at that size. */
tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g);

/* The same contract through BLAS (OpenBLAS with one thread per tile of C; cuBLAS on a GPU). The
 * tiles depend on the sizes only, so the bits do not depend on the number of threads. */
tl_status tl_gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                  const tl_matmul_geom *g);

/* The size of x whose traffic is counted likewise: x is read once and y is written once, which
 * takes TL_TRANSPOSE_LEAST sectors, and no more where the threads of a warp move neighbours. Of a
 * warp that reads along rows of x and writes down a column of y each number has a sector of its
 * own. */
enum {
    TL_TRANSPOSE_ROWS = 96,
    TL_TRANSPOSE_COLS = 80,
    TL_TRANSPOSE_LEAST = 2 * TL_TRANSPOSE_ROWS * TL_TRANSPOSE_COLS * (int)sizeof(tl_real) / 32,
    TL_TRANSPOSE_SECTORS = TL_TRANSPOSE_LEAST * 13 / 10
};

/* y[cols,rows] = xᵀ for x[rows,cols]; y does not overlap x. On a device TL_TRANSPOSE_SECTORS are
 * allowed at that size. */
tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols);

#ifdef __cplusplus
}
#endif
#endif
