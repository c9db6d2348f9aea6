/* 03_implicit_view.h: what an output of forward, or a pixel of dx, reads through each tap.
 *
 * Output p of forward begins at pixel p * stride and reads tap r at p * stride - pad + r *
 * dilation. Pixel h of dx was read by the outputs p with p * stride - pad + r * dilation = h:
 * for a stride above 1 only through some taps, which are the same for all pixels of equal h %
 * stride. So the pixels of one remainder are a class with a list of taps of its own, and a
 * convolution of dy of stride 1: no tap is tried in vain. */
#ifndef CONV2D_IMPLICIT_VIEW_H
#define CONV2D_IMPLICIT_VIEW_H

#include "kernels/conv2d/03_implicit.h"

/* One axis of a class: output i reads tap first + t * step, t in 0 .. taps-1, at i * stride +
 * origin(tap), and lies at put + i * put_step. */
typedef struct axis {
    int outputs, from; /* how many there are, and pixels of what is read */
    int stride, first, step, taps;
    int dilation, pad, put, put_step;
} axis;

typedef struct pixels_view {
    axis h, w;
    int taps, depth; /* of a channel, of all channels: terms of an output */
    int count;       /* outputs of all images */
} pixels_view;

template <bool INPUT>
static inline __device__ axis axis_of(int outputs, int pixels, int taps, int stride, int pad,
                                      int dilation, int step, int which) {
    if (!INPUT) return {outputs, pixels, stride, 0, 1, taps, dilation, pad, 0, 1};
    int first = 0;
    while (first < step && (which + pad - first * dilation) % stride != 0) first++;
    int there = first < step && first < taps ? (taps - 1 - first) / step + 1 : 0;
    return {(pixels - which + stride - 1) / stride,
            outputs,
            1,
            first,
            step,
            there,
            dilation,
            pad,
            which,
            stride};
}

/* The pixel of tap r for output 0 of the axis. */
template <bool INPUT> static inline __device__ int origin(const axis &a, int r) {
    return INPUT ? (a.put + a.pad - r * a.dilation) / a.put_step : r * a.dilation - a.pad;
}

/* What the kernel is told: steps[] is how far taps of one class are apart. */
typedef struct pixels_plan {
    tl_conv2d_geom g;
    int step_h, step_w;
    int across; /* tiles of output channels */
    bool fours; /* four outputs side by side may be written in one go */
} pixels_plan;

template <bool INPUT>
static inline __device__ pixels_view view_of(const pixels_plan &a, int which) {
    const tl_conv2d_geom &g = a.g;
    pixels_view v;
    v.h = axis_of<INPUT>(g.p, g.h, g.r, g.stride_h, g.pad_h, g.dil_h, a.step_h, which / g.stride_w);
    v.w = axis_of<INPUT>(g.q, g.w, g.s, g.stride_w, g.pad_w, g.dil_w, a.step_w, which % g.stride_w);
    v.taps = v.h.taps * v.w.taps;
    v.depth = v.taps * (INPUT ? g.k : g.c);
    v.count = g.n * v.h.outputs * v.w.outputs;
    return v;
}

/* Output j of a class: its image, and its row and column there. */
typedef struct pixels_spot {
    int n, h, w;
} pixels_spot;
static inline __device__ pixels_spot spot_of(const pixels_view &v, int j) {
    int row = j / v.w.outputs;
    return {row / v.h.outputs, row % v.h.outputs, j % v.w.outputs};
}

#endif
