/* tensor_pixels.h: convolutions by tensor cores, of images whose channels lie side by side
 * (kernels/tensor_tile.h): an implicit matrix product, forward and of dx.
 *
 * A tile is 128 outputs by 64 or 128 channels. The lines of its first factor are the pixels that
 * the outputs read through one tap: a thread has worked out once where two of its outputs begin,
 * and for each tap whether that pixel lies in the image; if not, cp.async writes zeros. dx is
 * the same of dy: pixel h was read through tap r by output p where p * stride = h + pad - r *
 * dilation, if there is such a p. (With strides most taps find none, and multiply zeros.)
 *
 * What becomes of the sums says End, an object with
 *
 *   template <int SIDE, class Sums> __device__ void put(const Sums &sum, unsigned char *memory,
 *                                           const pixels_job &job, int i0, int j0, int share) const
 *
 * for the tile of outputs from i0 and channels from j0 on; `memory` is the slices' place. */
#ifndef KERNELS_TENSOR_PIXELS_H
#define KERNELS_TENSOR_PIXELS_H

#include "kernels/tensor_conv.h"
#include "kernels/tensor_tile.h"

/* One axis of the pixels that are read. */
typedef struct axis_read {
    int pixels, stride, pad, dilation;
} axis_read;

typedef struct pixels_job {
    const void *from, *weights; /* images [n][h][w][channels], weights [out][taps][channels] */
    int channels;               /* padded */
    axis_read h, w;
    int r, s;
    int high, wide, count; /* outputs: of an image, of all */
    int out;               /* their channels */
    bool windows;          /* outputs come as 2x2 windows: four that follow each other are one */
    int shares, slices;    /* of the sum, for as many blocks; of one of them */
} pixels_job;

/* The products of g: forward, or of dx, which reads dy. */
static inline pixels_job pixels_job_of(const tl_conv2d_geom &g, bool input) {
    axis_read h = {input ? g.p : g.h, g.stride_h, g.pad_h, g.dil_h};
    axis_read w = {input ? g.q : g.w, g.stride_w, g.pad_w, g.dil_w};
    pixels_job job = {};
    job.h = h, job.w = w, job.r = g.r, job.s = g.s;
    job.high = input ? g.h : g.p, job.wide = input ? g.w : g.q, job.out = input ? g.c : g.k;
    job.shares = 1;
    return job;
}

/* Where output `at` of an axis reads through a tap; -1: nowhere. */
template <bool INPUT> static inline __device__ int read_at(const axis_read &a, int at, int tap) {
    int pixel = INPUT ? at + a.pad - tap * a.dilation : at * a.stride - a.pad + tap * a.dilation;
    if (INPUT && a.stride > 1) {
        if (pixel % a.stride != 0) return -1;
        pixel /= a.stride;
    }
    return pixel >= 0 && pixel < a.pixels ? pixel : -1;
}

/* A thread's copies: slices go through the channels of a tap, then to the next tap. */
template <class T, int SIDE, bool INPUT> struct pixels_source {
    typedef slice<T, TENSOR_ROWS, true> A;
    typedef slice<T, SIDE, true> B;
    const pixels_job &job;
    const T *image[A::EACH]; /* NULL: past the last output */
    const T *pixel[A::EACH]; /* that this tap reads, from the thread's piece on; NULL: none */
    const T *weights;        /* of the thread's first channel of outputs, this slice's */
    int h[A::EACH], w[A::EACH];
    int j0, channel, r, s;

    /* `slice`: the first. */
    __device__ pixels_source(const pixels_job &of, int i0, int first, int slice)
        : job(of), j0(first) {
        int of_tap = of.channels / A::DEPTH, tap = slice / of_tap;
        r = tap / of.s, s = tap % of.s;
        channel = slice % of_tap * A::DEPTH;
        weights = (const T *)of.weights + (size_t)(first + B::line_of(0)) * of_output() +
                  (size_t)slice * B::DEPTH + B::piece_of() * B::NUMBERS;
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int at = i0 + A::line_of(e), corner = of.windows ? at % 4 : 0;
            int wide = of.windows ? of.wide / 2 : of.wide, place = of.windows ? at / 4 : at;
            int plane = of.windows ? of.high / 2 * wide : of.high * wide, n = place / plane;
            size_t pixels = (size_t)of.h.pixels * (size_t)of.w.pixels;
            place -= n * plane;
            h[e] = place / wide, w[e] = place % wide;
            if (of.windows) h[e] = 2 * h[e] + corner / 2, w[e] = 2 * w[e] + corner % 2;
            image[e] = at < of.count ? (const T *)of.from + (size_t)n * pixels * (size_t)of.channels
                                     : NULL;
        }
    }

    /* Weights of an output channel: all taps, and the channels of each. */
    __device__ size_t of_output() const {
        return (size_t)(job.r * job.s) * (size_t)job.channels;
    }

    __device__ void find_pixels() {
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int at_h = read_at<INPUT>(job.h, h[e], r), at_w = read_at<INPUT>(job.w, w[e], s);
            bool there = image[e] && at_h >= 0 && at_w >= 0;
            size_t place = (size_t)at_h * (size_t)job.w.pixels + (size_t)at_w;
            pixel[e] = there ? image[e] + place * (size_t)job.channels +
                                   (channel + A::piece_of() * A::NUMBERS)
                             : NULL;
        }
    }

    __device__ void copy(unsigned char *a, unsigned char *b, int slice) {
        if (slice == 0 || channel == 0) find_pixels();
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            bool there = pixel[e];
            copy_16_async(a + A::place_of(e), there ? pixel[e] : (const T *)job.from, there);
            if (there) pixel[e] += A::DEPTH;
        }
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            int line = e * (TENSOR_THREADS / B::PIECES); /* behind the thread's first */
            bool there = j0 + B::line_of(0) + line < job.out;
            copy_16_async(b + B::place_of(e),
                          there ? weights + (size_t)line * of_output() : (const T *)job.weights,
                          there);
        }
        weights += B::DEPTH;
        channel += A::DEPTH;
        if (channel == job.channels) {
            channel = 0;
            if (++s == job.s) s = 0, r++;
        }
    }
};

/* Slices of all taps. */
template <class T> static inline __host__ __device__ int pixels_slices(const pixels_job &job) {
    return job.r * job.s * (job.channels / (SLICE_BYTES / (int)sizeof(T)));
}

template <class T, int SIDE, bool INPUT, class End>
static __global__ void __launch_bounds__(TENSOR_THREADS, 1 + COPIES_ARE_ASYNC)
    sum_pixels(pixels_job job, End end) {
    extern __shared__ __align__(1024) unsigned char memory[];
    int across = (job.out - 1) / SIDE + 1, tile = (int)blockIdx.x / job.shares;
    int share = (int)blockIdx.x % job.shares, first = share * job.slices;
    int i0 = tile / across * TENSOR_ROWS, j0 = tile % across * SIDE;
    pixels_source<T, SIDE, INPUT> from(job, i0, j0, first);
    sums_of<T, SIDE, true, true, false> sum = {};
    int left = pixels_slices<T>(job) - first;
    sum_by_tensor_cores<T, SIDE, true, true, false>(sum, memory, from,
                                                    left < job.slices ? left : job.slices);
    end.template put<SIDE>(sum, memory, job, i0, j0, share);
}

/* (job.shares is there, and job.slices follows from it) */
template <class T, int SIDE, bool INPUT, class End>
static tl_status sum_pixels_on(tl_ctx *ctx, pixels_job job, const End &end) {
    const int bytes = TENSOR_STAGES * stage_of<T, SIDE>::BYTES;
    auto kernel = sum_pixels<T, SIDE, INPUT, End>;
    unsigned tiles = (unsigned)((job.count - 1) / TENSOR_ROWS + 1);
    tiles *= (unsigned)((job.out - 1) / SIDE + 1);
    job.slices = (pixels_slices<T>(job) - 1) / job.shares + 1;
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<tiles *(unsigned)job.shares, TENSOR_THREADS, (size_t)bytes, tl_stream(ctx)>>>(job,
                                                                                          end);
    TL_LAUNCHED();
    return TL_OK;
}

#endif
