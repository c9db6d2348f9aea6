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

template <bool A_ALONG_K, bool B_ALONG_K, bool WHOLE>
static __global__ void __launch_bounds__(TENSOR_THREADS, 1 + COPIES_ARE_ASYNC)
    multiply_tf32x3(product p, bool whole_c) {
    extern __shared__ __align__(128) unsigned char memory[];
    typedef copier<A_ALONG_K, WHOLE> from_a;
    typedef copier<B_ALONG_K, WHOLE> from_b;
    int i0, j0;
    banded_tile(p, TENSOR_ROWS, DOWN, &i0, &j0);
    both<from_a, from_b> from = {from_a(p.A, i0, p.m, p.k), from_b(p.B, j0, p.n, p.k)};
    tensor_sums<TENSOR_ROWS> sum = {};
    sum_by_tensor_cores<two_tf32, TENSOR_ROWS, A_ALONG_K, B_ALONG_K, false, 1>(
        sum, memory, from, (int)tiles_of(p.k, from_a::S::DEPTH));
    const gemm_finish none = {NULL, false, false};
    sum.each(
        [&](int i, int j, const float *two) { put_two(p, none, i0 + i, j0 + j, two, whole_c); });
}

template <bool WHOLE> static void (*choose(const product &p))(product, bool) {
    if (p.A.col_step == 1)
        return p.B.col_step == 1 ? multiply_tf32x3<true, false, WHOLE>
                                 : multiply_tf32x3<true, true, WHOLE>;
    return p.B.col_step == 1 ? multiply_tf32x3<false, false, WHOLE>
                             : multiply_tf32x3<false, true, WHOLE>;
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 11: ctx, C, A, B or g is NULL");
    TL_NEED(countable(g), TL_EINVAL,
            "gemm rung 11: a size is above 2^30, and PRECISION=tf32x3 has "
            "no other kernel; use PRECISION=fp32");
    const int bytes = stage_of<two_tf32, TENSOR_ROWS>::MEMORY;
    product p = product_of(C, A, B, g);
    auto kernel = in_vectors(p.A, 4) && in_vectors(p.B, 4) ? choose<true>(p) : choose<false>(p);
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<blocks_of(p, TENSOR_ROWS, TENSOR_ROWS), TENSOR_THREADS, (size_t)bytes,
             tl_stream(ctx)>>>(p, stored_in_vectors(p, 2));
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_tensor_tf32x3(tl_backend *ops) { ops->gemm = gemm; }
#endif
