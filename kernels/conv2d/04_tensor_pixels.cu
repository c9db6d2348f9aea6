/* 04_tensor_pixels.cu: forward and dx by tensor cores (04_tensor.h): an implicit matrix product.
 *
 * A tile is 128 outputs by 64 or 128 channels. The lines of its first factor are the pixels that
 * the outputs read through one tap: a thread has worked out once where two of its outputs begin,
 * and each slice asks whether that pixel lies in the image; if not, cp.async writes zeros. dx is
 * the same of dy: pixel h was read through tap r by output p where p * stride = h + pad - r *
 * dilation, if there is such a p. (With strides most taps find none, and multiply zeros.)
 *
 * Bound: of wide layers what tensor cores multiply in mma.sync; a slice brings half the bytes of
 * that of gemm:8. Of small batches the tiles, which are too few for a GPU. */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

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
    float *result;         /* [n][out][high][wide] */
    const float *bias;     /* forward: or NULL */
} pixels_job;

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
    int h[A::EACH], w[A::EACH];
    int j0, channel, r, s;

    __device__ pixels_source(const pixels_job &of, int i0, int first)
        : job(of), j0(first), channel(A::piece_of() * A::NUMBERS), r(0), s(0) {
        int plane = of.high * of.wide;
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int at = i0 + A::line_of(e), n = at / plane, place = at - n * plane;
            size_t pixels = (size_t)of.h.pixels * (size_t)of.w.pixels;
            h[e] = place / of.wide, w[e] = place % of.wide;
            image[e] = at < of.count ? (const T *)of.from + (size_t)n * pixels * (size_t)of.channels
                                     : NULL;
        }
    }

    __device__ void copy(unsigned char *a, unsigned char *b, int) {
        int piece = A::piece_of();
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int at_h = read_at<INPUT>(job.h, h[e], r), at_w = read_at<INPUT>(job.w, w[e], s);
            bool there = image[e] && at_h >= 0 && at_w >= 0;
            size_t pixel = there ? (size_t)at_h * (size_t)job.w.pixels + (size_t)at_w : 0;
            const T *from =
                there ? image[e] + pixel * (size_t)job.channels + channel : (const T *)job.from;
            copy_16_async(a + A::at(A::line_of(e), piece), from, there);
        }
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            int to = j0 + B::line_of(e);
            bool there = to < job.out;
            size_t tap =
                (size_t)(there ? to : 0) * (size_t)(job.r * job.s) + (size_t)(r * job.s + s);
            const T *from = (const T *)job.weights + tap * (size_t)job.channels + channel;
            copy_16_async(b + B::at(B::line_of(e), piece), from, there);
        }
        channel += A::DEPTH;
        if (channel >= job.channels) {
            channel -= job.channels;
            if (++s == job.s) s = 0, r++;
        }
    }
};

template <class T, int SIDE, bool INPUT>
static __global__ void __launch_bounds__(TENSOR_THREADS, 1 + COPIES_ARE_ASYNC)
    sum_pixels(pixels_job job) {
    extern __shared__ __align__(1024) unsigned char memory[];
    int across = (job.out - 1) / SIDE + 1;
    int i0 = (int)blockIdx.x / across * TENSOR_ROWS, j0 = (int)blockIdx.x % across * SIDE;
    pixels_source<T, SIDE, INPUT> from(job, i0, j0);
    sums_of<T, SIDE, true, true, false> sum = {};
    int slices = job.r * job.s * (job.channels / (SLICE_BYTES / (int)sizeof(T)));
    sum_by_tensor_cores<T, SIDE, true, true, false>(sum, memory, from, slices);
    int plane = job.high * job.wide;
    sum.each([&](int i, int j, const float *two) {
        int at = i0 + i, n = at / plane;
        if (at >= job.count) return;
#pragma unroll
        for (int e = 0; e < 2; e++) {
            int channel = j0 + j + e;
            if (channel >= job.out) break;
            float *to = job.result +
                        ((size_t)n * (size_t)job.out + (size_t)channel) * (size_t)plane +
                        (at - n * plane);
            if (INPUT)
                *to = result<T>(*to + result<T>(two[e]));
            else
                *to = result<T>(two[e] + (job.bias ? result<T>(job.bias[channel]) : 0));
        }
    });
}

template <class T, int SIDE, bool INPUT>
static tl_status launch(tl_ctx *ctx, const pixels_job &job) {
    const int bytes = TENSOR_STAGES * stage_of<T, SIDE>::BYTES;
    auto kernel = sum_pixels<T, SIDE, INPUT>;
    unsigned tiles = (unsigned)((job.count - 1) / TENSOR_ROWS + 1);
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<tiles *(unsigned)((job.out - 1) / SIDE + 1), TENSOR_THREADS, (size_t)bytes,
             tl_stream(ctx)>>>(job);
    TL_LAUNCHED();
    return TL_OK;
}

template <class T, bool INPUT> static tl_status launch_as(tl_ctx *ctx, const pixels_job &job) {
    return fill_wide(job.out) ? launch<T, 128, INPUT>(ctx, job) : launch<T, 64, INPUT>(ctx, job);
}

static pixels_job job_of(const tl_conv2d_geom &g, bool input) {
    axis_read h = {input ? g.p : g.h, g.stride_h, g.pad_h, g.dil_h};
    axis_read w = {input ? g.q : g.w, g.stride_w, g.pad_w, g.dil_w};
    int high = input ? g.h : g.p, wide = input ? g.w : g.q, out = input ? g.c : g.k;
    return pixels_job{NULL, NULL, 0, h, w, g.r, g.s, high, wide, 0, out, NULL, NULL};
}

/* `plan->images` at a time: packed, then multiplied. */
template <class T, bool INPUT>
static tl_status run(tl_ctx *ctx, float *to, const float *from, const float *bias,
                     const tensor_plan &plan, void *work) {
    const tl_conv2d_geom &g = plan.g;
    pixels_job job = job_of(g, INPUT);
    int channels = INPUT ? g.k : g.c, pixels = job.h.pixels * job.w.pixels;
    unsigned char *images = (unsigned char *)work + plan.first;
    job.from = images, job.weights = work, job.channels = padded<T>(channels), job.bias = bias;
    for (int n = 0; n < g.n; n += plan.images) {
        int count = g.n - n < plan.images ? g.n - n : plan.images;
        size_t read = (size_t)n * (size_t)channels * (size_t)pixels;
        TL_TRY(tl_rung_conv2d_tensor_pack(ctx, images, from + read, (size_t)count, channels, pixels,
                                          plan.precision));
        job.count = count * job.high * job.wide;
        job.result = to + (size_t)n * (size_t)job.out * (size_t)job.high * (size_t)job.wide;
        TL_TRY((launch_as<T, INPUT>(ctx, job)));
    }
    return TL_OK;
}

/* Weights [k][c][taps] become [k][taps][c]. */
extern "C" tl_status tl_rung_conv2d_tensor_fwd(tl_ctx *ctx, float *y, const float *x,
                                               const float *w, const float *b,
                                               const tensor_plan *plan, void *work) {
    const tl_conv2d_geom &g = plan->g;
    TL_TRY(tl_rung_conv2d_tensor_pack(ctx, work, w, (size_t)g.k, g.c, g.r * g.s, plan->precision));
    return plan->precision == TL_BF16 ? run<bf16, false>(ctx, y, x, b, *plan, work)
                                      : run<float, false>(ctx, y, x, b, *plan, work);
}

/* … and [c][taps][k]. */
extern "C" tl_status tl_rung_conv2d_tensor_bwd_input(tl_ctx *ctx, float *dx, const float *dy,
                                                     const float *w, const tensor_plan *plan,
                                                     void *work) {
    const tl_conv2d_geom &g = plan->g;
    TL_TRY(tl_rung_conv2d_tensor_pack(ctx, work, w, 1, g.k, g.c * g.r * g.s, plan->precision));
    return plan->precision == TL_BF16 ? run<bf16, true>(ctx, dx, dy, NULL, *plan, work)
                                      : run<float, true>(ctx, dx, dy, NULL, *plan, work);
}
#endif
