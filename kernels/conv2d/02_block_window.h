/* 02_block_window.h: the loop that forward and dx share: 2x2 outputs of a few channels per thread.
 */
#ifndef CONV2D_BLOCK_WINDOW_H
#define CONV2D_BLOCK_WINDOW_H

#include "kernels/conv2d/02_block_tile.h"

/* How a plane of outputs is shared out: windows of 2x2 outputs, and groups of T output channels. */
typedef struct share {
    int columns, windows; /* windows of a row, of a plane */
    int groups;           /* groups of channels that a block takes */
    int blocks;           /* blocks of an image */
    int threads;          /* of a block */
} share;

static inline share share_of(int out_h, int out_w, int channels, int t) {
    share s;
    s.columns = (out_w + 1) / 2;
    s.windows = (out_h + 1) / 2 * s.columns;
    s.groups = s.windows < THREADS ? THREADS / s.windows : 1;
    int all = channels / t;
    if (s.groups > all) s.groups = all;
    s.blocks = (all + s.groups - 1) / s.groups;
    s.threads = (s.groups * s.windows + WARP - 1) / WARP * WARP;
    if (s.threads < THREADS) s.threads = THREADS;
    return s;
}

/* Output channels that a thread takes: 4 loads fewer numbers for each product, but leaves too few
 * threads in a small batch. The sums are the same. */
static inline int channels_of_thread(int n, int out_h, int out_w, int channels) {
    int windows = (out_h + 1) / 2 * ((out_w + 1) / 2);
    if (channels % 4 == 0 && (size_t)n * windows * (channels / 4) >= MANY_THREADS) return 4;
    return channels % 2 == 0 ? 2 : 1;
}

/* For threads that each read pairs of columns of their own 2x2 window. Where a row of windows is
 * shorter than half a warp, twice the pitch is that row's length (mod 32), so that the rows a warp
 * touches lie in different banks. */
static inline plane plane_of(int out_h, int out_w) {
    int half = (out_w + 1) / 2;
    plane s;
    s.rows = (out_h + 1) / 2 * 2 + 2;
    s.pitch = 2 * half + 2;
    while (half < WARP / 2 && s.pitch % 16 != half / 2 * 2) s.pitch += 2;
    s.size = s.rows * s.pitch;
    return s;
}

/* Sums of T output channels over a 2x2 window: acc[t][0..3]. `image` points to the window's first
 * pixel, weight[(channel * TAPS + tap) * channels_out + t] to the weights of those channels. Each
 * of 16 pixels serves up to 9 taps of T channels, each weight 4 pixels. */
template <int T>
static inline __device__ void sum_window(tl_real (&acc)[T][4], const tl_real *image,
                                         const tl_real *weight, int channels, plane s,
                                         int channels_out) {
#pragma unroll 2
    for (int i = 0; i < channels; i++) {
        tl_real v[4][4];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            pack<2> left = *(const pack<2> *)(image + r * s.pitch);
            pack<2> right = *(const pack<2> *)(image + r * s.pitch + 2);
            v[r][0] = left.v[0], v[r][1] = left.v[1], v[r][2] = right.v[0], v[r][3] = right.v[1];
        }
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            const int r = tap / 3, c = tap % 3;
            pack<T> w = *(const pack<T> *)(weight + tap * channels_out);
#pragma unroll
            for (int t = 0; t < T; t++) {
                acc[t][0] += v[r][c] * w.v[t];
                acc[t][1] += v[r][c + 1] * w.v[t];
                acc[t][2] += v[r + 1][c] * w.v[t];
                acc[t][3] += v[r + 1][c + 1] * w.v[t];
            }
        }
        image += s.size;
        weight += TAPS * channels_out;
    }
}

#endif
