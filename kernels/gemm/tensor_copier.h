/* tensor_copier.h: slices of two operands of floats, copied as they lie to shared memory for rung 7
 * and 11 of gemm (kernels/tensor_tile.h). */
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

#endif
