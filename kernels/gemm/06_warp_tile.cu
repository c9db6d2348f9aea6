/* 06_warp_tile.cu: rung 6 of gemm: the next slices come while this one is multiplied.
 *
 * Idea: three slices of 16 lie in shared memory. Copies to it pass the registers by (cp.async): two
 *   slices are on their way while the third is multiplied, and one barrier a slice is enough. The
 *   factors of step k + 1 are read while step k is multiplied, in a second set of registers. Each
 *   warp makes a tile of 64 x 32 of its own; its lanes lie in it zigzag, so that a half warp reads
 *   each 16 bytes once. Blocks go down 8 tiles of C, then across: B stays in the second-level
 *   cache.
 * Before: loads and multiply-adds took turns, at two barriers a slice of 8.
 * Bound: multiply-adds. 64 of them for 4 reads of shared memory; 64 sums, 32 factors and the places
 *   of the copies in 128 registers, 49.5 KiB of shared memory: two blocks on an SM. 32 FLOP a byte.
 * Banks: an operand that runs along k is copied number by number, 8 of k by 4 lines a warp, to bank
 *   4k + i: no conflict at a pitch of 132.
 * Shapes: all; zeros past the edges. Lines that are no whole vectors are copied number by
 *   number. In double 64 x 64, 4 x 4 and 32 x 16. Before compute capability 8.0: rungs.def. */
#include "kernels/gemm/operands.h"

enum {
    V = 16 / sizeof(tl_real), /* numbers of a vector */
    SIDE =
        sizeof(tl_real) == sizeof(float) ? 8 : 4, /* of a thread's square: two vectors each way */
    TILE = 16 * SIDE,                             /* of a block: 2 x 4 warps of 8 x 4 lanes */
    THREADS = 256,
    DEPTH = 16,
    STAGES = 3,
    PITCH = TILE + V,
    BYTES = 2 * STAGES * DEPTH * PITCH * sizeof(tl_real), /* of shared memory */
    DOWN = 8, /* tiles of C that blocks go down before they go across */
};
typedef tl_real slice[DEPTH][PITCH];

/* A thread's share of the copies of one operand: memory runs along k, or along the tile, and
 * there in WHOLE vectors or not. */
template <bool ALONG_K, bool WHOLE> struct copier {
    static constexpr int EACH = ALONG_K || !WHOLE ? 1 : V; /* numbers of a copy */
    static constexpr int ACROSS = ALONG_K ? 8 : TILE / EACH, LINES = THREADS / ACROSS;
    const tl_real *from;
    size_t step;     /* between lines in memory */
    int depth, k, i; /* length of op() along k; the thread's place in a slice */
    int left;        /* places of the tile from i on that lie in the matrix */

    __device__ copier(const operand &x, int i0, int length, int k_length)
        : step(ALONG_K ? k_length : length), depth(k_length) {
        int along = (int)threadIdx.x % ACROSS, line = (int)threadIdx.x / ACROSS;
        k = ALONG_K ? along : line, i = ALONG_K ? line : along * EACH;
        left = length - i0 - i;
        from = x.data + (ALONG_K ? (size_t)(i0 + i) * step + k : (size_t)k * step + i0 + i);
    }

    /* The slice that begins with k0, zeros for what lies outside. Slices are asked for in order. */
    __device__ void copy(slice &to, int k0) {
        int more = depth - k0 - k;
        if constexpr (ALONG_K) {
#pragma unroll
            for (int n = 0; n < TILE; n += LINES)
#pragma unroll
                for (int e = 0; e < DEPTH; e += ACROSS)
                    copy_async<1>(&to[k + e][i + n], from + n * step + e, n < left && e < more);
            from += DEPTH;
        } else {
#pragma unroll
            for (int e = 0; e < DEPTH; e += LINES)
                copy_async<EACH>(&to[k + e][i], from + e * step, left > 0 && e < more);
            from += DEPTH * step;
        }
    }
};

/* Two vectors of a row: lanes side by side, `apart` between the two. */
static __device__ void take(tl_real (&v)[SIDE], const tl_real *row, int apart) {
#pragma unroll
    for (int i = 0; i < SIDE; i += V) {
        pack<V> p = *(const pack<V> *)(row + i / V * apart);
#pragma unroll
        for (int e = 0; e < V; e++) v[i + e] = p.v[e];
    }
}

static __device__ void multiply(tl_real (&sum)[SIDE][SIDE], const tl_real (&row)[SIDE],
                                const tl_real (&col)[SIDE]) {
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) sum[i][j] += row[i] * col[j];
}

template <bool A_ALONG_K, bool B_ALONG_K, bool WHOLE>
static __global__ void __launch_bounds__(THREADS, 1 + COPIES_ARE_ASYNC)
    multiply_warp_tile(product p, bool whole_c) {
    extern __shared__ __align__(16) unsigned char memory[];
    slice *a = (slice *)memory, *b = a + STAGES;
    int i0, j0;
    banded_tile(p, TILE, DOWN, &i0, &j0);
    copier<A_ALONG_K, WHOLE> from_a(p.A, i0, p.m, p.k);
    copier<B_ALONG_K, WHOLE> from_b(p.B, j0, p.n, p.k);
    for (int s = 0; s < STAGES - 1; s++) {
        from_a.copy(a[s], s * DEPTH);
        from_b.copy(b[s], s * DEPTH);
        copy_commit();
    }
    copy_wait<STAGES - 2>();
    __syncthreads();

    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    int lane_i = lane / 2 % 2 + lane / 8 * 2, lane_j = lane % 2 + lane / 4 % 2 * 2;
    int ti = warp / 4 * (TILE / 2) + lane_i * V, tj = warp % 4 * (TILE / 4) + lane_j * V;
    tl_real sum[SIDE][SIDE] = {}, row[2][SIDE], col[2][SIDE];
    take(row[0], a[0][0] + ti, 8 * V);
    take(col[0], b[0][0] + tj, 4 * V);
    int now = 0, next = STAGES - 1; /* stages: that is multiplied, that is copied to */
    for (int k0 = 0; k0 < p.k; k0 += DEPTH) {
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            if (k == DEPTH - 1) { /* all have read the last factors of this slice */
                copy_wait<STAGES - 2>();
                __syncthreads();
                next = now;
                now = now + 1 < STAGES ? now + 1 : 0;
            }
            take(row[(k + 1) % 2], a[now][(k + 1) % DEPTH] + ti, 8 * V);
            take(col[(k + 1) % 2], b[now][(k + 1) % DEPTH] + tj, 4 * V);
            if (k == 0) {
                from_a.copy(a[next], k0 + (STAGES - 1) * DEPTH);
                from_b.copy(b[next], k0 + (STAGES - 1) * DEPTH);
                copy_commit();
            }
            multiply(sum, row[k % 2], col[k % 2]);
        }
    }
    copy_wait<0>();
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j += V) {
            int at_i = i0 + ti + i / V * 8 * V + i % V, at_j = j0 + tj + j * 4;
            if (at_i < p.m) put_vector<V>(p, at_i, at_j, &sum[i][j], whole_c);
        }
}

template <bool WHOLE> static void (*choose(bool a_along_k, bool b_along_k))(product, bool) {
    if (a_along_k)
        return b_along_k ? multiply_warp_tile<true, true, true>
                         : multiply_warp_tile<true, false, WHOLE>;
    return b_along_k ? multiply_warp_tile<false, true, WHOLE>
                     : multiply_warp_tile<false, false, WHOLE>;
}

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 6: ctx, C, A, B or g is NULL");
    if (!countable(g)) return tl_gemm(ctx, C, A, B, g);
    product p = product_of(C, A, B, g);
    bool a_along_k = p.A.col_step == 1, b_along_k = p.B.col_step != 1;
    bool whole = (a_along_k || in_vectors(p.A, V)) && (b_along_k || in_vectors(p.B, V));
    auto kernel = whole ? choose<true>(a_along_k, b_along_k) : choose<false>(a_along_k, b_along_k);
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
    kernel<<<blocks_of(p, TILE, TILE), THREADS, BYTES, tl_stream(ctx)>>>(p,
                                                                         stored_in_vectors(p, V));
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_gemm_warp_tile(tl_backend *ops) { ops->gemm = gemm; }
