/* 07_tensor_tf32.cu: rung 7 of gemm: in TF32, by tensor cores.
 *
 * Idea: 32 lanes hold a 16 x 8 and an 8 x 8 matrix together, and one instruction multiplies them
 *   (kernels/mma.h): 1,024 multiply-adds, where rung 6 issues 32. Both factors lie in shared memory
 *   as memory has them, whole lines of 64 bytes along k, or of 512 across. Three slices are on
 *   their way by cp.async while the fourth is multiplied (kernels/tensor_tile.h). ldmatrix brings
 *   the fragments of what runs along k; what runs across is read number by number. Each is rounded
 *   to TF32 (cvt.rna) in registers, between shared memory and its product.
 * Before: rung 6 is bound by multiply-adds of float, of which a lane does one at a time.
 * Bound: what a tile must be sent. 128 x 128 sums take 32 FLOP of a byte that comes from the
 *   second-level cache, and each of the 8 warps reads 3 KiB of shared memory, and rounds 24 numbers
 *   a lane, for 16 products.
 * Shapes: all; zeros past the edges. Lines that are no whole vectors are copied one by one. */
#include "kernels/gemm/operands.h"

#ifndef TL_REAL_DOUBLE
#include "kernels/gemm/tensor_copier.h"

extern "C" tl_status tl_gemm_tf32(tl_ctx *ctx, float *C, const float *A, const float *B,
                                  const tl_matmul_geom *g, const gemm_finish *finish) {
    TL_NEED(countable(g), TL_EINVAL, "a product by tensor cores: a size is above 2^30");
    return multiply_as<float>(ctx, product_of(C, A, B, g), *finish);
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 7: ctx, C, A, B or g is NULL");
    if (!countable(g)) return ctx->ops->rounding->gemm(ctx, C, A, B, g);
    const gemm_finish none = {NULL, false, false};
    return tl_gemm_tf32(ctx, C, A, B, g, &none);
}

extern "C" void tl_rung_gemm_tensor_tf32(tl_backend *ops) { ops->gemm = gemm; }
#endif
