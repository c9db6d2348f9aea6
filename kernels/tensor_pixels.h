/* tensor_pixels.h: convolutions by tensor cores, of images whose channels lie side by side
 * (kernels/tensor_tile.h): an implicit matrix product, forward and of dx.
 *
 * A tile is 128 outputs by 64 or 128 channels. The lines of its first factor are the pixels that
 * the outputs read through one tap: a thread has worked out once where two of its outputs begin,
 * and each slice asks whether that pixel lies in the image; if not, cp.async writes zeros. dx is
 * the same of dy: pixel h was read through tap r by output p where p * stride = h + pad - r *
 * dilation, if there is such a p. (With strides most taps find none, and multiply zeros.)
 *
 * What becomes of the sums says End, an object with
 *
 *   template <int SIDE, class Team, class Sums, class Rows>
 *   __device__ float put(const Sums &sum, unsigned char *memory, const pixels_job &job,
 *                        const Rows &rows, int j0, int share) const
 *
 * for a tile of outputs `rows` and channels from j0 on; `memory` has room for all sums, and the
 * threads of the team are done with what was there. What it returns is added over a team's tiles,
 * and goes to
 *
 *   template <int SIDE, class Team> __device__ void put_total(float total, int part, int j0) const
 *
 * `part` counts such totals. */
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

/* The threads that have a tile: the block's. SQUARES: its outputs come in squares (tensor_patch.h),
 * so the product is a convolution of 3x3 and its sums are whole. */
struct block_team {
    enum { THREADS = TENSOR_THREADS, ROWS = TENSOR_ROWS, SQUARES = 0 };
    static __device__ int thread() { return (int)threadIdx.x; }
    static __device__ void sync() { __syncthreads(); }
};

/* A tile's rows: outputs that follow each other. */
struct rows_in_line {
    int first, end;
    /* The output that is row i; -1: past the last. */
    __device__ int output(int i) const { return first + i < end ? first + i : -1; }
    /* Its place among the tile's, if windows are to lie together: here they do. */
    __device__ int place(int i) const { return i; }
};

/* Output `at` of an axis, as read_at takes it. */
template <bool INPUT> static inline __device__ int begin_of(const axis_read &a, int at) {
    return INPUT ? at + a.pad : at * a.stride - a.pad;
}

/* Where an output reads through a tap; not below a.pixels, or below 0: nowhere. */
template <bool INPUT> static inline __device__ int read_at(const axis_read &a, int begin, int tap) {
    int pixel = INPUT ? begin - tap * a.dilation : begin + tap * a.dilation;
    if (!INPUT || a.stride == 1) return pixel;
    return pixel % a.stride == 0 ? pixel / a.stride : -1;
}

static inline __device__ bool lies_in(const axis_read &a, int pixel) {
    return (unsigned)pixel < (unsigned)a.pixels;
}

/* A thread's copies: slices go through the channels of a tap, then to the next tap. (Offsets within
 * an image, and within the weights, fit an int: tensor_countable.) */
template <class T, int SIDE, bool INPUT> struct pixels_source {
    typedef slice<T, TENSOR_ROWS, true> A;
    typedef slice<T, SIDE, true> B;
    const pixels_job &job;
    const T *image[A::EACH]; /* NULL: past the last output */
    int h[A::EACH], w[A::EACH];
    int filter[B::EACH]; /* where its weights begin; -1: past the last */
    int weight;          /* how far they are read */
    int channel, r, s;

    /* `slice`: the first. */
    __device__ pixels_source(const pixels_job &of, int i0, int j0, int slice)
        : job(of), weight(slice * A::DEPTH + A::piece_of() * A::NUMBERS) {
        int of_tap = of.channels / A::DEPTH, tap = slice / of_tap;
        r = tap / of.s, s = tap % of.s;
        channel = slice % of_tap * A::DEPTH + A::piece_of() * A::NUMBERS;
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int at = i0 + A::line_of(e), corner = of.windows ? at % 4 : 0;
            int wide = of.windows ? of.wide / 2 : of.wide, place = of.windows ? at / 4 : at;
            int plane = of.windows ? of.high / 2 * wide : of.high * wide, n = place / plane;
            size_t pixels = (size_t)of.h.pixels * (size_t)of.w.pixels;
            place -= n * plane;
            h[e] = place / wide, w[e] = place % wide;
            if (of.windows) h[e] = 2 * h[e] + corner / 2, w[e] = 2 * w[e] + corner % 2;
            h[e] = begin_of<INPUT>(of.h, h[e]), w[e] = begin_of<INPUT>(of.w, w[e]);
            image[e] = at < of.count ? (const T *)of.from + (size_t)n * pixels * (size_t)of.channels
                                     : NULL;
        }
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            int to = j0 + B::line_of(e);
            filter[e] = to < of.out ? to * of.r * of.s * of.channels : -1;
        }
    }

    /* (slices that are copied together are of one tap) */
    template <int DEEP> __device__ void copy(unsigned char *a, unsigned char *b, int apart, int) {
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int at_h = read_at<INPUT>(job.h, h[e], r), at_w = read_at<INPUT>(job.w, w[e], s);
            bool there = image[e] && lies_in(job.h, at_h) && lies_in(job.w, at_w);
            int offset = (at_h * job.w.pixels + at_w) * job.channels + channel;
            const T *pixel = there ? image[e] + offset : (const T *)job.from;
#pragma unroll
            for (int d = 0; d < DEEP; d++)
                copy_16_async_again(a + d * apart + A::place_of(e), pixel + d * A::DEPTH, there);
        }
        const T *weights = (const T *)job.weights + weight;
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            bool there = filter[e] >= 0;
            const T *from = there ? weights + filter[e] : (const T *)job.weights;
#pragma unroll
            for (int d = 0; d < DEEP; d++)
                copy_16_async(b + d * apart + B::place_of(e), from + d * B::DEPTH, there);
        }
        weight += DEEP * A::DEPTH, channel += DEEP * A::DEPTH;
        if (channel >= job.channels) {
            channel -= job.channels;
            if (++s == job.s) s = 0, r++;
        }
    }
};

/* Slices of all taps. */
template <class T> static inline __host__ __device__ int pixels_slices(const pixels_job &job) {
    return job.r * job.s * (job.channels / (SLICE_BYTES / (int)sizeof(T)));
}

template <class T, int SIDE, bool INPUT, int DEEP, class End>
static __global__ void __launch_bounds__(TENSOR_THREADS,
                                         1 + COPIES_ARE_ASYNC * (SIDE == 64 && !INPUT ? 2 : 1))
    sum_pixels(pixels_job job, End end) {
    extern __shared__ __align__(1024) unsigned char memory[];
    int across = (job.out - 1) / SIDE + 1, tile = (int)blockIdx.x / job.shares;
    int share = (int)blockIdx.x % job.shares, first = share * job.slices;
    int i0 = tile / across * TENSOR_ROWS, j0 = tile % across * SIDE;
    pixels_source<T, SIDE, INPUT> from(job, i0, j0, first);
    tensor_sums_of<T, SIDE, true, true, false> sum = {};
    int left = pixels_slices<T>(job) - first;
    sum_by_tensor_cores<T, SIDE, true, true, false, DEEP>(sum, memory, from,
                                                          left < job.slices ? left : job.slices);
    rows_in_line rows = {i0, job.count};
    float total = end.template put<SIDE, block_team>(sum, memory, job, rows, j0, share);
    end.template put_total<SIDE, block_team>(total, tile / across, j0);
}

/* (job.shares is there, and job.slices follows from it) */
template <class T, int SIDE, bool INPUT, int DEEP, class End>
static tl_status sum_pixels_deep(tl_ctx *ctx, pixels_job job, const End &end) {
    const int bytes = stage_of<T, SIDE, DEEP>::MEMORY;
    auto kernel = sum_pixels<T, SIDE, INPUT, DEEP, End>;
    unsigned tiles = (unsigned)((job.count - 1) / TENSOR_ROWS + 1);
    tiles *= (unsigned)((job.out - 1) / SIDE + 1);
    job.slices = ((pixels_slices<T>(job) / DEEP - 1) / job.shares + 1) * DEEP;
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<tiles *(unsigned)job.shares, TENSOR_THREADS, (size_t)bytes, tl_stream(ctx)>>>(job,
                                                                                           end);
    TL_LAUNCHED();
    return TL_OK;
}

/* Two slices of a tap at a time where all have an even number: half of the work of finding
 * pixels. */
template <class T, int SIDE, bool INPUT, class End>
static tl_status sum_pixels_on(tl_ctx *ctx, const pixels_job &job, const End &end) {
    bool even = job.channels % (2 * SLICE_BYTES / (int)sizeof(T)) == 0;
    return even ? sum_pixels_deep<T, SIDE, INPUT, 2>(ctx, job, end)
                : sum_pixels_deep<T, SIDE, INPUT, 1>(ctx, job, end);
}

#endif
