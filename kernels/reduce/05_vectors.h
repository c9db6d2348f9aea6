/* 05_vectors.h: a thread's share of a sum, with many numbers on their way: rung 5 of reduce, and
 * what rung 6 makes of it. */
#ifndef REDUCE_VECTORS_H
#define REDUCE_VECTORS_H

#include "kernels/reduce/walk.h"
#include "kernels/reduce/warp.h"

/* GROUP neighbours are a term each walk: four where planes are multiples of four. ROUND such loads
 * are on their way at once: 32 registers in either precision. */
enum {
    GROUP = 4,
    ROUND = 32 / sizeof(tl_real),
    COLUMN_NEAR = 8,
    COLUMN_LANES = 16,
    ROW_MOST = 512
};

static inline bool sums_are_columns(const sums *s) { return s->inner < COLUMN_NEAR && s->kept > 1; }
static inline int sums_group(const sums *s) { return s->inner % GROUP == 0 ? GROUP : 1; }

/* What thread `first` of `apart` adds of sum k, NEAR neighbours at a time, V of them in one load.
 * The order is the same for every V: alignment changes no bit. */
template <int NEAR, int V>
static inline __device__ tl_real add_share(const sums &s, size_t k, size_t first, size_t apart) {
    enum { LOADS = ROUND / NEAR };
    sums groups = s;
    groups.inner /= NEAR;
    tl_real sum[NEAR] = {};
    for (walk w(groups, k, first, apart); w.o < s.outer;) {
        pack<V> v[LOADS][NEAR / V] = {};
#pragma unroll
        for (int n = 0; n < LOADS; n++) {
            const tl_real *from = s.x + (w.at(groups) - groups.x) * NEAR;
#pragma unroll
            for (int j = 0; j < NEAR / V; j++)
                if (w.o < s.outer) v[n][j] = *(const pack<V> *)(from + j * V);
            w.step(groups);
        }
#pragma unroll
        for (int n = 0; n < LOADS; n++)
#pragma unroll
            for (int j = 0; j < NEAR; j++) sum[j] += v[n][j / V].v[j % V];
    }
#pragma unroll
    for (int j = 1; j < NEAR; j++) sum[0] += sum[j];
    return sum[0];
}

/* Rung 4's block of columns, with so many rows on their way; true for the thread that has a sum. */
static inline __device__ bool add_column(const sums &s, size_t k, tl_real *sum) {
    __shared__ tl_real part[COLUMN_LANES][WARP];
    part[threadIdx.y][threadIdx.x] =
        k < s.kept ? add_share<1, 1>(s, k, threadIdx.y, COLUMN_LANES) : TL_R(0);
    __syncthreads();
    *sum = 0;
    if (threadIdx.y > 0 || k >= s.kept) return false;
    for (int lane = 0; lane < COLUMN_LANES; lane++) *sum += part[lane][threadIdx.x];
    return true;
}

/* Rung 5 of any sums. */
extern "C" tl_status tl_rung_reduce_vectors_launch(tl_ctx *ctx, const sums *s);

#endif
