/* 01_narrow.h: dw and db of a layer with few outputs, as the last one of a net is: part of rung 1.
 *
 * Tiles of dw = dyᵀ · x are as few as the outputs are, and each would walk over all images alone.
 * Here a block has a strip of columns of x and its threads share the images; a thread keeps the
 * sums of every output for one column and every LANES-th image, and the lanes are added in order.
 * db is one column more, of ones. */
#ifndef LINEAR_NARROW_H
#define LINEAR_NARROW_H

#include "tl/cuda.h"
#include "tl/layers.h"

enum {
    NARROW_MOST = 16, /* outputs, a sum in a register for each */
    STRIP = 8         /* columns of a block: a sector of an image's row */
};

template <int THREADS> struct narrow_sums { tl_real of[THREADS / STRIP][STRIP][NARROW_MOST]; };

static inline int strips_of(const tl_linear_geom *g) { return g->in / STRIP + 1; }

/* Adds what strip number `strip` has to dw, and the strip behind the last column to db, which may
 * be NULL. With MASK dy counts where y is positive. */
template <bool MASK, int THREADS>
static __device__ void add_strip(tl_real *dw, tl_real *db, const tl_real *__restrict__ dy,
                                 const tl_real *__restrict__ y, const tl_real *__restrict__ x,
                                 tl_linear_geom g, int strip, narrow_sums<THREADS> &sums) {
    enum { LANES = THREADS / STRIP };
    int lane = (int)threadIdx.x / STRIP, column = strip * STRIP + (int)threadIdx.x % STRIP;
    tl_real sum[NARROW_MOST] = {};
#pragma unroll 4
    for (int i = lane; i < g.n; i += LANES) {
        tl_real value = column < g.in ? x[(size_t)i * g.in + column] : TL_R(1);
#pragma unroll
        for (int o = 0; o < NARROW_MOST; o++) {
            if (o >= g.out) break;
            size_t at = (size_t)i * g.out + o;
            tl_real d = dy[at];
            sum[o] += (MASK && !(y[at] > 0) ? TL_R(0) : d) * value;
        }
    }
#pragma unroll
    for (int o = 0; o < NARROW_MOST; o++) sums.of[lane][threadIdx.x % STRIP][o] = sum[o];
    __syncthreads();
    for (int e = (int)threadIdx.x; e < STRIP * g.out; e += THREADS) {
        int c = e % STRIP, o = e / STRIP, n = strip * STRIP + c;
        tl_real total = 0;
#pragma unroll
        for (int k = 0; k < LANES; k++) total += sums.of[k][c][o];
        if (n < g.in)
            dw[(size_t)o * g.in + n] += total;
        else if (n == g.in && db)
            db[o] += total;
    }
}

#endif
