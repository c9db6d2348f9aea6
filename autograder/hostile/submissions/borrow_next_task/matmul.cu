/* Its own product is that of the next task. */
#include "tl/cuda.h"
#include "tl/matmul.h"

tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    return tl_gemm(ctx, C, A, B, g);
}
