/* tensor.h: what rungs 7, 8, 11 and 12 of gemm share: a thread's place in an operand, and the
 * end of a product (kernels/gemm_tensor.h). */
#ifndef GEMM_TENSOR_H
#define GEMM_TENSOR_H

#include "kernels/gemm/operands.h"
#include "kernels/gemm_tensor.h"
#include "kernels/tensor_tile.h"

enum { DOWN = 8 }; /* tiles of C that blocks go down before they go across */

/* Where a thread reads an operand, four numbers at a time: its slices lie in memory ALONG_K or
 * across, LINES apart from one four of the thread to the next. What changes from slice to slice is
 * one address and one number, and no four has an address of its own: 64 sums and the fragments
 * leave few of the 128 registers. */
template <bool ALONG_K, int LINES, int DEPTH> struct operand_reader {
    const float *from; /* the first four of the slice to come */
    int pitch;         /* between lines in memory */
    int across;        /* places of the operand from the first four on, across k */
    int along;         /* ... and along it, in the slice to come */

    /* line, four: of the thread's first in a slice */
    __device__ operand_reader(const operand &x, int i0, int line, int four, int length, int depth)
        : pitch(ALONG_K ? depth : length) {
        int i = i0 + (ALONG_K ? line : four * 4), k = ALONG_K ? four * 4 : line;
        from = x.data + (ALONG_K ? (size_t)i * (size_t)pitch + k : (size_t)k * (size_t)pitch + i);
        across = length - i, along = depth - k;
    }
    /* How many of the e-th four's numbers are there: more than 3, or less than 1, too. */
    __device__ int there(int e) const {
        int lines = ALONG_K ? across : along, numbers = ALONG_K ? along : across;
        return e * LINES < lines ? numbers : 0;
    }
    __device__ const float *four(int e) const { return from + (size_t)(e * LINES) * (size_t)pitch; }
    __device__ void next_slice() {
        from += ALONG_K ? (size_t)DEPTH : (size_t)DEPTH * (size_t)pitch;
        along -= DEPTH;
    }
};

/* A thread's share of a slice, EACH times four numbers, on its way through registers: WHOLE says in
 * vectors of four. Slices are asked for in order; zeros for what lies outside. */
template <bool ALONG_K, bool WHOLE, int LINES, int DEPTH, int EACH> struct operand_loader {
    operand_reader<ALONG_K, LINES, DEPTH> reader;
    float held[EACH][4];

    __device__ operand_loader(const operand &x, int i0, int line, int four, int length, int depth)
        : reader(x, i0, line, four, length, depth) {}

    __device__ void fetch() {
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            int there = reader.there(e);
            const float *from = reader.four(e);
            if constexpr (WHOLE) {
                pack<4> p = {};
                if (there > 0) p = *(const pack<4> *)from;
#pragma unroll
                for (int i = 0; i < 4; i++) held[e][i] = p.v[i];
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++) held[e][i] = i < there ? from[i] : 0;
            }
        }
        reader.next_slice();
    }
};

static inline __device__ float in_bf16(float x, bool wanted) {
    return wanted ? __uint_as_float(to_bf16(0, x)) : x;
}

/* (few instructions: there are 64 sums, and a loop over them that is not unrolled would put them
 * into memory) */
static inline __device__ float finished(const gemm_finish &f, float sum, int column, float before) {
    if (f.bias) sum += in_bf16(f.bias[column], f.part);
    return in_bf16(before + in_bf16(sum, f.part), f.whole);
}

/* Two sums of row i, of columns j and j + 1; `whole`: stored in one go. */
static inline __device__ void put_two(const product &p, const gemm_finish &f, int i, int j,
                                      const float *two, bool whole) {
    if (i >= p.m || j >= p.n) return;
    float *c = p.C + (size_t)i * (size_t)p.n + j;
    if (whole) {
        pack<2> v = {};
        if (p.accumulate) v = *(const pack<2> *)c;
#pragma unroll
        for (int e = 0; e < 2; e++) v.v[e] = finished(f, two[e], j + e, v.v[e]);
        *(pack<2> *)c = v;
    } else {
#pragma unroll
        for (int e = 0; e < 2; e++)
            if (j + e < p.n) c[e] = finished(f, two[e], j + e, p.accumulate ? c[e] : 0);
    }
}

#endif
