/* gemm_vectors.h: rung 3 of gemm on cpu for other kernels, whatever ctx->ops->gemm is. */
#ifndef KERNELS_GEMM_VECTORS_H
#define KERNELS_GEMM_VECTORS_H

#include "tl/matmul.h"

tl_status tl_gemm_vectors(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                          const tl_matmul_geom *g);

#endif
