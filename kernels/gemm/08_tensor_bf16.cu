/* 08_tensor_bf16.cu: rung 8 of gemm: in bfloat16, of half the bytes in shared memory.
 *
 * Idea: numbers are rounded to bfloat16 on their way into shared memory, where they take half the
 *   room; an instruction multiplies 16 x 16 by 16 x 8 of them, and ldmatrix brings the fragments of
 *   either order of memory, for it can turn 16-bit numbers. A thread loads its share of the next
 *   slice of A into registers while the first half of this slice is multiplied, and rounds and
 *   stores it; then B, with the second half: 16 numbers wait in registers, not 32.
 * Before: rung 7 rounds each number again for each warp that multiplies by it, and reads four bytes
 *   for it, where bfloat16 needs two.
 * Bound: what a tile must be sent: it is floats that come from the second-level cache, 32 FLOP a
 *   byte as in rung 7, though a product takes half as long. Who has bfloat16 in memory sends half
 *   (conv2d/04_tensor.h).
 * Shapes: all; zeros past the edges. Lines that are no whole vectors are loaded one by one. */
#include "kernels/gemm/operands.h"

#ifndef TL_REAL_DOUBLE
#include "kernels/gemm/tensor.h"

enum { STAGES = 2 };

/* A thread's share of a slice of one operand: four times four numbers. */
template <bool ALONG_K, bool WHOLE> struct loader {
    typedef slice<bf16, TENSOR_ROWS, ALONG_K> S;
    static constexpr int FOURS = 2 * S::PIECES; /* of a line */
    static constexpr int EACH = 2 * S::EACH;
    operand_loader<ALONG_K, WHOLE, TENSOR_THREADS / FOURS, S::DEPTH, EACH> load;

    static __device__ int line_of(int e) { return ((int)threadIdx.x + e * TENSOR_THREADS) / FOURS; }
    __device__ loader(const operand &x, int i0, int length, int depth)
        : load(x, i0, line_of(0), (int)threadIdx.x % FOURS, length, depth) {}

    __device__ void store(unsigned char *to) {
        int four = (int)threadIdx.x % FOURS;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const float(&held)[4] = load.held[e];
            uint2 pair = make_uint2(to_bf16(held[0], held[1]), to_bf16(held[2], held[3]));
            *(uint2 *)(to + S::at(line_of(e), four / 2) + four % 2 * 8) = pair;
        }
    }
};

template <bool A_ALONG_K, bool B_ALONG_K, bool WHOLE>
static __global__ void __launch_bounds__(TENSOR_THREADS, 1 + COPIES_ARE_ASYNC)
    multiply_bf16(product p, gemm_finish finish, bool whole_c) {
    typedef loader<A_ALONG_K, WHOLE> from_a;
    typedef loader<B_ALONG_K, WHOLE> from_b;
    enum { BYTES = from_a::S::BYTES, B = STAGES * BYTES }; /* of a slice; where those of B begin */
    __shared__ __align__(128) unsigned char memory[2 * STAGES * BYTES];
    int i0, j0, slices = (int)tiles_of(p.k, from_a::S::DEPTH);
    banded_tile(p, TENSOR_ROWS, DOWN, &i0, &j0);
    from_a next_a(p.A, i0, p.m, p.k);
    from_b next_b(p.B, j0, p.n, p.k);
    tensor_sums<TENSOR_ROWS> sum = {};
    next_a.load.fetch();
    next_a.store(memory);
    next_b.load.fetch();
    next_b.store(memory + B);
    for (int s = 0; s < slices; s++) {
        __syncthreads(); /* slice s is there, and all have multiplied the one before it */
        int now = s % STAGES * BYTES, then = (s + 1) % STAGES * BYTES;
        next_a.load.fetch(); /* (zeros past the end) */
        multiply_step<bf16, TENSOR_ROWS, A_ALONG_K, B_ALONG_K, false>(sum, memory, now, B + now, 0);
        next_a.store(memory + then);
        next_b.load.fetch();
        multiply_step<bf16, TENSOR_ROWS, A_ALONG_K, B_ALONG_K, false>(sum, memory, now, B + now, 1);
        next_b.store(memory + B + then);
    }
    sum.each(
        [&](int i, int j, const float *two) { put_two(p, finish, i0 + i, j0 + j, two, whole_c); });
}

template <bool WHOLE> static void (*choose(const product &p))(product, gemm_finish, bool) {
    if (p.A.col_step == 1)
        return p.B.col_step == 1 ? multiply_bf16<true, false, WHOLE>
                                 : multiply_bf16<true, true, WHOLE>;
    return p.B.col_step == 1 ? multiply_bf16<false, false, WHOLE>
                             : multiply_bf16<false, true, WHOLE>;
}

extern "C" tl_status tl_gemm_bf16(tl_ctx *ctx, float *C, const float *A, const float *B,
                                  const tl_matmul_geom *g, const gemm_finish *finish) {
    TL_NEED(countable(g), TL_EINVAL, "a product by tensor cores: a size is above 2^30");
    product p = product_of(C, A, B, g);
    auto kernel = in_vectors(p.A, 4) && in_vectors(p.B, 4) ? choose<true>(p) : choose<false>(p);
    kernel<<<blocks_of(p, TENSOR_ROWS, TENSOR_ROWS), TENSOR_THREADS, 0, tl_stream(ctx)>>>(
        p, *finish, stored_in_vectors(p, 2));
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 8: ctx, C, A, B or g is NULL");
    if (!countable(g)) return ctx->ops->rounding->gemm(ctx, C, A, B, g);
    const gemm_finish none = {NULL, false, false};
    return tl_gemm_bf16(ctx, C, A, B, g, &none);
}

extern "C" void tl_rung_gemm_tensor_bf16(tl_backend *ops) { ops->gemm = gemm; }
#endif
