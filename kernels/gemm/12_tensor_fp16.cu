/* 12_tensor_fp16.cu: rung 12 of gemm: in half precision, by nvcuda::wmma, for GPUs as old as a T4.
 *
 * Idea: tensor cores before compute capability 8.0 multiply halves, and nothing else. CUDA's own
 *   words for that are in mma.h: a warp loads 16 x 16 of A and of B, adds their product to 16 x 16
 *   floats, and stores those; which lane holds what, nobody is told. Numbers are rounded on their
 *   way into shared memory, as in rung 8, and lie there as memory has them: by rows or by columns
 *   is a fragment's type. While a slice is multiplied, the next one comes into registers.
 * Before: rungs 7 and 8 need instructions and types of compute capability 8.0; on a T4 rung 5 was
 *   the last.
 * Bound: what a tile must be sent: floats, 32 FLOP a byte of the second-level cache, as in rung 8.
 *   A slice is one step of 16 along k, so that two blocks have room in a T4's 64 KiB; with it a
 *   warp reads 3 KiB for 8 products.
 * Banks: lines are 8 halves longer than what is in them, so that 8 lines side by side lie in
 *   different banks where a fragment is loaded. Of an operand along k half a warp stores every
 *   second line, which lie apart as well.
 * Shapes: all; zeros past the edges. Lines that are no whole vectors are loaded one by one. */
#include "kernels/gemm/operands.h"

#ifndef TL_REAL_DOUBLE
#include <mma.h>

#include "kernels/gemm/tensor.h"

namespace wmma = nvcuda::wmma;

enum {
    SIDE = 16, /* of a fragment; numbers of a slice along k */
    TILE = TENSOR_ROWS,
    ROWS = 4, /* fragments of a warp, down and across: 2 x 4 warps */
    COLS = 2,
    WARPS = TENSOR_THREADS / 32,
    STAGES = 2,
};

/* A slice of one operand in shared memory, and a thread's share of the next one. */
template <bool ALONG_K, bool WHOLE> struct halves {
    static constexpr int LENGTH = ALONG_K ? SIDE : TILE, PITCH = LENGTH + 8; /* of a line */
    static constexpr int SIZE = TILE * SIDE / LENGTH * PITCH;
    static constexpr int FOURS = LENGTH / 4, LINES = TENSOR_THREADS / FOURS;
    static constexpr int EACH = TILE * SIDE / 4 / TENSOR_THREADS;
    operand_loader<ALONG_K, WHOLE, LINES, SIDE, EACH> load;

    static __device__ int line() {
        int l = (int)threadIdx.x / FOURS;
        return ALONG_K ? l / 8 * 8 + l % 4 * 2 + l / 4 % 2 : l;
    }
    static __device__ int four() { return (int)threadIdx.x % FOURS; }
    __device__ halves(const operand &x, int i0, int length, int depth)
        : load(x, i0, line(), four(), length, depth) {}

    __device__ void store(__half *to) const {
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const float(&held)[4] = load.held[e];
            __half2 low = __floats2half2_rn(held[0], held[1]);
            __half2 high = __floats2half2_rn(held[2], held[3]);
            uint2 pair;
            memcpy(&pair.x, &low, sizeof low), memcpy(&pair.y, &high, sizeof high);
            *(uint2 *)(to + (line() + e * LINES) * PITCH + four() * 4) = pair;
        }
    }
    /* Where the fragment begins that has line or column i of the tile. */
    static __device__ const __half *at(const __half *slice, int i) {
        return slice + i * (ALONG_K ? PITCH : 1);
    }
};

/* As a fragment's type says it: whether memory runs along the rows of A, or of B. */
template <bool BY_ROWS> struct layout { typedef wmma::col_major order; };
template <> struct layout<true> { typedef wmma::row_major order; };

/* (a type of its own: kernels of equal arguments share the code by which hostcuda launches them,
 * and of this file it does not watch calls: CALL_BACK of mk/hostcuda_device.mk) */
typedef struct fp16_job {
    product p;
    bool whole_c; /* C is stored in vectors of four */
} fp16_job;

template <bool A_ALONG_K, bool B_ALONG_K, bool WHOLE>
static __global__ void __launch_bounds__(TENSOR_THREADS, 2) multiply_fp16(fp16_job job) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700 /* (rungs.def keeps older GPUs away) */
    typedef halves<A_ALONG_K, WHOLE> of_a;
    typedef halves<B_ALONG_K, WHOLE> of_b;
    enum { A = STAGES * of_a::SIZE, STAGED = A + STAGES * of_b::SIZE };
    __shared__ __align__(128) __half memory[STAGED];
    const product &p = job.p;
    int i0, j0, slices = (int)tiles_of(p.k, SIDE);
    banded_tile(p, TILE, DOWN, &i0, &j0);
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    int row = warp / 4 * ROWS * SIDE, col = warp % 4 * COLS * SIDE;
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> sum[ROWS][COLS];
#pragma unroll
    for (int i = 0; i < ROWS * COLS; i++) wmma::fill_fragment(sum[i / COLS][i % COLS], 0.0f);
    of_a next_a(p.A, i0, p.m, p.k);
    of_b next_b(p.B, j0, p.n, p.k);
    next_a.load.fetch(), next_b.load.fetch();
    next_a.store(memory), next_b.store(memory + A);
    for (int s = 0; s < slices; s++) {
        __syncthreads(); /* slice s is there, and all have multiplied the one before it */
        const __half *a = memory + s % STAGES * of_a::SIZE,
                     *b = memory + A + s % STAGES * of_b::SIZE;
        next_a.load.fetch(), next_b.load.fetch(); /* (zeros past the end) */
        wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, __half, typename layout<!B_ALONG_K>::order>
            fb[COLS];
#pragma unroll
        for (int j = 0; j < COLS; j++)
            wmma::load_matrix_sync(fb[j], of_b::at(b, col + j * SIDE), of_b::PITCH);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, __half,
                           typename layout<A_ALONG_K>::order>
                fa;
            wmma::load_matrix_sync(fa, of_a::at(a, row + i * SIDE), of_a::PITCH);
#pragma unroll
            for (int j = 0; j < COLS; j++) wmma::mma_sync(sum[i][j], fa, fb[j], sum[i][j]);
        }
        next_a.store(memory + (s + 1) % STAGES * of_a::SIZE);
        next_b.store(memory + A + (s + 1) % STAGES * of_b::SIZE);
    }
    __syncthreads(); /* the room of slices is each warp's, for a fragment of sums */
    static_assert(STAGED * sizeof(__half) >= WARPS * SIDE * SIDE * sizeof(float), "it has none");
    float *own = (float *)memory + warp * SIDE * SIDE;
#pragma unroll
    for (int i = 0; i < ROWS * COLS; i++) {
        wmma::store_matrix_sync(own, sum[i / COLS][i % COLS], SIDE, wmma::mem_row_major);
        __syncwarp();
        for (int e = lane * 4; e < SIDE * SIDE; e += 32 * 4) {
            int at_i = i0 + row + i / COLS * SIDE + e / SIDE;
            int at_j = j0 + col + i % COLS * SIDE + e % SIDE;
            pack<4> four = *(const pack<4> *)(own + e);
            if (at_i < p.m) put_vector<4>(p, at_i, at_j, four.v, job.whole_c);
        }
        __syncwarp();
    }
#endif
}

template <bool WHOLE> static void (*choose(const product &p))(fp16_job) {
    if (p.A.col_step == 1)
        return p.B.col_step == 1 ? multiply_fp16<true, false, WHOLE>
                                 : multiply_fp16<true, true, WHOLE>;
    return p.B.col_step == 1 ? multiply_fp16<false, false, WHOLE>
                             : multiply_fp16<false, true, WHOLE>;
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 12: ctx, C, A, B or g is NULL");
    if (!countable(g)) return ctx->ops->rounding->gemm(ctx, C, A, B, g);
    product p = product_of(C, A, B, g);
    auto kernel = in_vectors(p.A, 4) && in_vectors(p.B, 4) ? choose<true>(p) : choose<false>(p);
    kernel<<<blocks_of(p, TILE, TILE), TENSOR_THREADS, 0, tl_stream(ctx)>>>(
        fp16_job{p, stored_in_vectors(p, 4)});
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_tensor_fp16(tl_backend *ops) { ops->gemm = gemm; }
#endif
