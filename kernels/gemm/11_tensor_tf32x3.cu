/* 11_tensor_tf32x3.cu: rung 11 of gemm: float's precision from three products in TF32.
 *
 * Idea: x = high + low, both of TF32: low is what rounding left of x. A product of two such sums is
 *   high high + high low + low high, and low low, 2^-22 of it, is left out (Markidis et al. 2018,
 *   "NVIDIA Tensor Core Programmability, Performance & Precision"). Numbers are split in registers,
 *   between shared memory and their products.
 * Before: rung 7 is quicker than rung 6, and loses 13 bits of each operand.
 * Bound: three times rung 7's products, and to split what is loaded: 4 instructions a number.
 * Shapes: all; zeros past the edges. A row of its own (TL_TF32X3): neither TF32 nor float. */
#include "kernels/gemm/operands.h"

#ifndef TL_REAL_DOUBLE
#include "kernels/gemm/tensor_copier.h"

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 11: ctx, C, A, B or g is NULL");
    TL_NEED(countable(g), TL_EINVAL,
            "gemm rung 11: a size is above 2^30, and PRECISION=tf32x3 has "
            "no other kernel; use PRECISION=fp32");
    const gemm_finish none = {NULL, false, false};
    return multiply_as<two_tf32>(ctx, product_of(C, A, B, g), none);
}

extern "C" void tl_rung_gemm_tensor_tf32x3(tl_backend *ops) { ops->gemm = gemm; }
#endif
