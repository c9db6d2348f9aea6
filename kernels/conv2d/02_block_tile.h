/* 02_block_tile.h: what a block of 02_block_*.cu lays out in shared memory, and how it gets there.
 *
 * A block is small and waits for memory most of its life: every copy here has several loads on
 * their way before the first is used. With one at a time the kernels took two to five times as
 * long. */
#ifndef CONV2D_BLOCK_TILE_H
#define CONV2D_BLOCK_TILE_H

#include "kernels/conv2d/02_block.h"
#include "kernels/device.h"

/* Division of numbers below 2^16 by one that only the host knows, as a multiplication. */
typedef struct divisor {
    unsigned by, factor;
} divisor;

static inline divisor divisor_of(int by) {
    divisor d = {(unsigned)by, by > 1 ? (unsigned)(((uint64_t)1 << 32) / (unsigned)by + 1) : 0};
    return d;
}

static inline __device__ unsigned quotient(unsigned i, const divisor &d) {
    return d.factor ? __umulhi(i, d.factor) : i;
}

/* What the kernels divide by. */
typedef struct divisors {
    int group;          /* pixels of a row of x that are loaded in one go: 4 or 1 */
    divisor across, h;  /* such groups in a row of x, rows of an image */
    divisor q, outputs; /* columns and size of a plane of y */
    divisor filter;     /* weights of an output channel */
} divisors;

static inline divisors divisors_of(const tl_conv2d_block *block, const tl_real *x) {
    const tl_conv2d_geom *g = &block->conv;
    int group = g->w % 4 == 0 && rung_aligned(x, sizeof(pack<4>)) ? 4 : 1;
    int scale = block->pool ? 2 : 1, p = g->p / scale, q = g->q / scale;
    divisors d = {group,         divisor_of(g->w / group), divisor_of(g->h),
                  divisor_of(q), divisor_of(p * q),        divisor_of(g->c * TAPS)};
    return d;
}

/* A plane of pixels in shared memory with its zero border: row i, column j of the plane is pixel
 * (i - pad, j - pad) of the image. */
typedef struct plane {
    int rows, pitch, size;
} plane;

static inline __device__ void fill_zero(tl_real *to, int count) {
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) to[i] = 0;
}

/* A host compiler does not see that a pixel is loaded and used under the same condition. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"

/* Copies `channels` planes of h x w pixels into planes of shared memory whose borders are zero
 * already, V pixels of a row at a time. All loads of a round are on their way before the first is
 * used: a block has too few threads to hide them otherwise. */
template <int V>
static inline __device__ void copy_pixels(tl_real *to, const tl_real *__restrict__ from,
                                          int channels, int h, int w, int pad, plane s, int size,
                                          const divisors &by) {
    enum { ROUND = V == 4 ? 4 : 8 };
    unsigned count = (unsigned)(channels * h * w) / V;
    for (unsigned first = threadIdx.x; first < count; first += ROUND * blockDim.x) {
        pack<V> v[ROUND];
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            unsigned at = first + i * blockDim.x;
            if (at < count) v[i] = ((const pack<V> *)from)[at];
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            unsigned at = first + i * blockDim.x;
            if (at >= count) break;
            unsigned row = quotient(at, by.across), column = (at - row * by.across.by) * V;
            unsigned channel = quotient(row, by.h), line = row - channel * (unsigned)h;
            tl_real *cell = to + channel * size + (line + pad) * s.pitch + column + pad;
#pragma unroll
            for (int e = 0; e < V; e++) cell[e] = v[i].v[e];
        }
    }
}

#pragma GCC diagnostic pop

static inline __device__ void load_image(tl_real *to, const tl_real *from, int channels, int h,
                                         int w, int pad, plane s, int size, const divisors &by) {
    if (by.group == 4)
        copy_pixels<4>(to, from, channels, h, w, pad, s, size, by);
    else
        copy_pixels<1>(to, from, channels, h, w, pad, s, size, by);
}

/* Calls put(index, dy, code) for `count` outputs from `dy` and `code` on, several loads at a time.
 */
template <typename Put>
static inline __device__ void each_output(const tl_real *__restrict__ dy,
                                          const uint8_t *__restrict__ code, int count, Put put) {
    enum { ROUND = 8 };
    for (int first = (int)threadIdx.x; first < count; first += ROUND * (int)blockDim.x) {
        tl_real d[ROUND];
        int c[ROUND];
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) d[i] = dy[at], c[i] = code[at];
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) put((unsigned)at, d[i], c[i]);
        }
    }
}

/* Calls put(index, w[index]) for `count` weights, several loads at a time. */
template <typename Put>
static inline __device__ void each_weight(const tl_real *__restrict__ w, int count, Put put) {
    enum { ROUND = 8 };
    for (int first = (int)threadIdx.x; first < count; first += ROUND * (int)blockDim.x) {
        tl_real v[ROUND];
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) v[i] = w[at];
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) put((unsigned)at, v[i]);
        }
    }
}

#endif
