/* tensor_copier.h: rungs 7 and 11 of gemm, whose operands are copied as they lie, floats, to shared
 * memory (kernels/tensor_tile.h). */
#ifndef GEMM_TENSOR_COPIER_H
#define GEMM_TENSOR_COPIER_H

#include "kernels/gemm/tensor.h"

/* A thread's share of the copies of one operand: WHOLE says in vectors of four. Slices are asked
 * for in order. */
template <bool ALONG_K, bool WHOLE> struct copier {
    typedef slice<float, TENSOR_ROWS, ALONG_K> S;
    operand_reader<ALONG_K, TENSOR_THREADS / S::PIECES, S::DEPTH> reader;

    __device__ copier(const operand &x, int i0, int length, int depth)
        : reader(x, i0, S::line_of(0), S::piece_of(), length, depth) {}

    __device__ void copy(unsigned char *to) {
#pragma unroll
        for (int e = 0; e < S::EACH; e++) {
            int there = reader.there(e);
            const float *from = reader.four(e);
            unsigned char *place = to + S::place_of(e);
            if constexpr (WHOLE) {
                copy_16_async(place, from, there > 0);
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++) copy_async<1>((float *)place + i, from + i, i < there);
            }
        }
        reader.next_slice();
    }
};

template <class A, class B> struct both {
    A a;
    B b;
    template <int DEEP> __device__ void copy(unsigned char *to_a, unsigned char *to_b, int, int) {
        a.copy(to_a);
        b.copy(to_b);
    }
};

/* T: float, each number rounded to TF32, or two_tf32. */
template <class T, bool A_ALONG_K, bool B_ALONG_K, bool WHOLE>
static __global__ void __launch_bounds__(TENSOR_THREADS, 1 + COPIES_ARE_ASYNC)
    multiply_floats(product p, gemm_finish finish, bool whole_c) {
    extern __shared__ __align__(128) unsigned char memory[];
    typedef copier<A_ALONG_K, WHOLE> from_a;
    typedef copier<B_ALONG_K, WHOLE> from_b;
    int i0, j0;
    banded_tile(p, TENSOR_ROWS, DOWN, &i0, &j0);
    both<from_a, from_b> from = {from_a(p.A, i0, p.m, p.k), from_b(p.B, j0, p.n, p.k)};
    tensor_sums<TENSOR_ROWS> sum = {};
    sum_by_tensor_cores<T, TENSOR_ROWS, A_ALONG_K, B_ALONG_K, !IS_SPLIT<T>, 1>(
        sum, memory, from, (int)tiles_of(p.k, from_a::S::DEPTH));
    sum.each(
        [&](int i, int j, const float *two) { put_two(p, finish, i0 + i, j0 + j, two, whole_c); });
}

template <class T, bool WHOLE> static auto kernel_for(const product &p) {
    if (p.A.col_step == 1)
        return p.B.col_step == 1 ? multiply_floats<T, true, false, WHOLE>
                                 : multiply_floats<T, true, true, WHOLE>;
    return p.B.col_step == 1 ? multiply_floats<T, false, false, WHOLE>
                             : multiply_floats<T, false, true, WHOLE>;
}

template <class T>
static tl_status multiply_as(tl_ctx *ctx, const product &p, const gemm_finish &finish) {
    const int bytes = stage_of<T, TENSOR_ROWS>::MEMORY;
    bool whole = in_vectors(p.A, 4) && in_vectors(p.B, 4);
    auto kernel = whole ? kernel_for<T, true>(p) : kernel_for<T, false>(p);
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<blocks_of(p, TENSOR_ROWS, TENSOR_ROWS), TENSOR_THREADS, (size_t)bytes,
             tl_stream(ctx)>>>(p, finish, stored_in_vectors(p, 2));
    TL_LAUNCHED();
    return TL_OK;
}

#endif
