/* 04_tensor_weight.cu: dw by tensor cores (04_tensor.h).
 *
 * A tile is 128 of [taps and c] by 64 or 128 of [k], and the sum goes over outputs: in scratch both
 * factors lie across it, channels side by side, so ldmatrix turns them (numbers of TF32 are read
 * one by one). A thread keeps its tap and channels, and outputs pass by.
 *
 * Few tiles, and very many terms: the outputs are cut into shares, as many as fill a GPU, by the
 * geometry alone. Each leaves its sums, and a second kernel adds them in the order of the shares:
 * same bits in every run.
 *
 * Bound: where an output lies in the image is worked out anew for each slice, by two divisions for
 * 16 bytes; in TF32 the reading of fragments number by number. */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

typedef struct weight_job {
    const void *x, *dy; /* [n][h][w][c], [n][p][q][k], padded to: */
    int c, k;
    tl_conv2d_geom g;
    int outputs;        /* of all images that are here */
    int shares, slices; /* of a share */
    float *sums;        /* [share][taps and c][k], not padded in k */
    bool add;           /* images before these have left their sums there */
} weight_job;

template <class T, int SIDE> struct weight_source {
    typedef slice<T, TENSOR_ROWS, false> A;
    typedef slice<T, SIDE, false> B;
    const weight_job &job;
    int first;   /* output of the share */
    int h, w;    /* the pixel that its tap reads for output 0 */
    int channel; /* -1: past the last */
    int filter;  /* … */

    __device__ weight_source(const weight_job &of, int i0, int j0, int share)
        : job(of), first(share * of.slices * A::DEPTH) {
        int i = i0 + A::piece_of() * A::NUMBERS, tap = i / of.c;
        h = tap / of.g.s * of.g.dil_h - of.g.pad_h, w = tap % of.g.s * of.g.dil_w - of.g.pad_w;
        channel = tap < of.g.r * of.g.s ? i % of.c : -1;
        filter = j0 + B::piece_of() * B::NUMBERS;
        if (filter >= of.k) filter = -1;
    }

    __device__ void copy(unsigned char *a, unsigned char *b, int s) {
        int from = first + s * A::DEPTH;
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int line = A::line_of(e), output = from + line;
            int row = output / job.g.q, n = row / job.g.p;
            int at_h = (row - n * job.g.p) * job.g.stride_h + h;
            int at_w = (output - row * job.g.q) * job.g.stride_w + w;
            bool there = channel >= 0 && output < job.outputs && at_h >= 0 && at_h < job.g.h &&
                         at_w >= 0 && at_w < job.g.w;
            size_t pixel =
                ((size_t)n * (size_t)job.g.h + (size_t)at_h) * (size_t)job.g.w + (size_t)at_w;
            const T *x = (const T *)job.x;
            copy_16_async(a + A::at(line, A::piece_of()),
                          there ? x + pixel * (size_t)job.c + channel : x, there);
        }
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            int line = B::line_of(e), output = from + line;
            bool there = filter >= 0 && output < job.outputs;
            const T *dy = (const T *)job.dy;
            copy_16_async(b + B::at(line, B::piece_of()),
                          there ? dy + (size_t)output * (size_t)job.k + filter : dy, there);
        }
    }
};

template <class T, int SIDE>
static __global__ void __launch_bounds__(TENSOR_THREADS, 1 + COPIES_ARE_ASYNC)
    sum_outputs(weight_job job) {
    extern __shared__ __align__(1024) unsigned char memory[];
    int lines = job.g.r * job.g.s * job.c, across = (job.g.k - 1) / SIDE + 1;
    int down = (lines - 1) / TENSOR_ROWS + 1, tile = (int)blockIdx.x % (across * down);
    int share = (int)blockIdx.x / (across * down);
    int i0 = tile / across * TENSOR_ROWS, j0 = tile % across * SIDE;
    weight_source<T, SIDE> from(job, i0, j0, share);
    sums_of<T, SIDE, false, false, false> sum = {};
    int left = (job.outputs - from.first + weight_source<T, SIDE>::A::DEPTH - 1) /
               weight_source<T, SIDE>::A::DEPTH;
    sum_by_tensor_cores<T, SIDE, false, false, false>(sum, memory, from,
                                                      left < job.slices ? left : job.slices);
    float *sums = job.sums + (size_t)share * (size_t)lines * (size_t)job.g.k;
    sum.each([&](int i, int j, const float *two) {
        if (i0 + i >= lines) return;
#pragma unroll
        for (int e = 0; e < 2; e++)
            if (j0 + j + e < job.g.k) {
                float *to = sums + (size_t)(i0 + i) * (size_t)job.g.k + (j0 + j + e);
                *to = job.add ? *to + two[e] : two[e];
            }
    });
}

/* dw[k][c][tap] += the shares' sums, added in their order. */
template <class T> static __global__ void add_shares(float *dw, weight_job job) {
    size_t k = (size_t)job.g.k, taps = (size_t)job.g.r * (size_t)job.g.s;
    size_t each = taps * (size_t)job.c * k;
    for (size_t i = tl_thread(); i < each; i += tl_threads()) {
        size_t line = i / k, filter = i % k, tap = line / (size_t)job.c, c = line % (size_t)job.c;
        if (c >= (size_t)job.g.c) continue;
        float sum = job.sums[i];
        for (int share = 1; share < job.shares; share++) sum += job.sums[(size_t)share * each + i];
        dw[(filter * (size_t)job.g.c + c) * taps + tap] += result<T>(sum);
    }
}

template <class T, int SIDE> static tl_status launch(tl_ctx *ctx, const weight_job &job) {
    const int bytes = TENSOR_STAGES * stage_of<T, SIDE>::BYTES;
    auto kernel = sum_outputs<T, SIDE>;
    int down = (job.g.r * job.g.s * job.c - 1) / TENSOR_ROWS + 1, across = (job.g.k - 1) / SIDE + 1;
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<(unsigned)(down * across * job.shares), TENSOR_THREADS, (size_t)bytes,
             tl_stream(ctx)>>>(job);
    TL_LAUNCHED();
    return TL_OK;
}

template <class T>
static tl_status run(tl_ctx *ctx, float *dw, const float *dy, const float *x,
                     const tensor_plan &plan, void *work) {
    const tl_conv2d_geom &g = plan.g;
    const int depth = SLICE_BYTES / (int)sizeof(T);
    int of_x = g.h * g.w, of_y = g.p * g.q;
    weight_job job = {NULL,        NULL, padded<T>(g.c), padded<T>(g.k), g, 0,
                      plan.shares, 0,    (float *)work,  false};
    T *packed = (T *)((unsigned char *)work + plan.first);
    T *packed_dy = packed + (size_t)plan.images * (size_t)of_x * (size_t)job.c;
    job.x = packed, job.dy = packed_dy;
    for (int n = 0; n < g.n; n += plan.images, job.add = true) {
        int count = g.n - n < plan.images ? g.n - n : plan.images;
        size_t first = (size_t)n;
        TL_TRY(tl_rung_conv2d_tensor_pack(ctx, packed, x + first * (size_t)g.c * (size_t)of_x,
                                          (size_t)count, g.c, of_x, plan.precision));
        TL_TRY(tl_rung_conv2d_tensor_pack(ctx, packed_dy, dy + first * (size_t)g.k * (size_t)of_y,
                                          (size_t)count, g.k, of_y, plan.precision));
        job.outputs = count * of_y;
        job.slices = ((job.outputs + depth - 1) / depth - 1) / job.shares + 1;
        TL_TRY((fill_wide(g.k) ? launch<T, 128>(ctx, job) : launch<T, 64>(ctx, job)));
    }
    size_t elements = (size_t)g.r * (size_t)g.s * (size_t)job.c * (size_t)g.k;
    add_shares<T><<<tl_blocks(elements, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dw, job);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" tl_status tl_rung_conv2d_tensor_bwd_weight(tl_ctx *ctx, float *dw, const float *dy,
                                                      const float *x, const tensor_plan *plan,
                                                      void *work) {
    return plan->precision == TL_BF16 ? run<bf16>(ctx, dw, dy, x, *plan, work)
                                      : run<float>(ctx, dw, dy, x, *plan, work);
}
#endif
