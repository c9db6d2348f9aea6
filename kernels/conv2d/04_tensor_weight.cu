/* 04_tensor_weight.cu: dw by tensor cores (04_tensor.h).
 *
 * A tile is 128 of [taps and c] by 64 or 128 of [k], and the sum goes over outputs: in scratch both
 * factors lie across it, channels side by side, so ldmatrix turns them (numbers of TF32 are read
 * one by one). A thread keeps its tap and channels, and outputs pass by.
 *
 * Of 3x3 in bfloat16 a block has all nine taps instead, from patches: 04_tensor_patches.cu.
 *
 * Few tiles, and very many terms: the outputs are cut into shares, as many as fill a GPU, by the
 * geometry alone. Each leaves its sums, and a second kernel adds them in a fixed order: same bits
 * in every run.
 *
 * Bound: of bfloat16 what tensor cores multiply; in TF32 reading fragments number by number. */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

/* A thread's copies. Each of its outputs is DEPTH further on from slice to slice: its column, row
 * and image go on by as much, and what is too far is carried to the next of them. */
template <class T, int SIDE> struct weight_source {
    typedef slice<T, TENSOR_ROWS, false> A;
    typedef slice<T, SIDE, false> B;
    const weight_job &job;
    int first, images;                      /* output of the share; of all that are here */
    int step_n, step_p, step_q;             /* DEPTH outputs */
    int n[A::EACH], p[A::EACH], q[A::EACH]; /* outputs of the next slice */
    int h, w;                               /* the pixel that its tap reads for output 0 */
    int channel;                            /* -1: past the last */
    int filter;                             /* ... */

    __device__ weight_source(const weight_job &of, int i0, int j0, int share)
        : job(of), first(share * of.slices * A::DEPTH) {
        int i = i0 + A::piece_of() * A::NUMBERS, tap = i / of.c;
        h = tap / of.g.s * of.g.dil_h - of.g.pad_h, w = tap % of.g.s * of.g.dil_w - of.g.pad_w;
        channel = tap < of.g.r * of.g.s ? i % of.c : -1;
        filter = j0 + B::piece_of() * B::NUMBERS;
        if (filter >= of.k) filter = -1;
        images = of.outputs / (of.g.p * of.g.q);
        part(A::DEPTH, &step_n, &step_p, &step_q);
#pragma unroll
        for (int e = 0; e < A::EACH; e++) part(first + A::line_of(e), &n[e], &p[e], &q[e]);
    }

    __device__ void part(int output, int *of_n, int *of_p, int *of_q) const {
        int row = output / job.g.q;
        *of_q = output % job.g.q, *of_p = row % job.g.p, *of_n = row / job.g.p;
    }

    __device__ void go_on(int *of_n, int *of_p, int *of_q) const {
        *of_q += step_q;
        int carry = *of_q >= job.g.q;
        *of_q -= carry ? job.g.q : 0;
        *of_p += step_p + carry;
        carry = *of_p >= job.g.p;
        *of_p -= carry ? job.g.p : 0;
        *of_n += step_n + carry;
    }

    template <int DEEP> __device__ void copy(unsigned char *a, unsigned char *b, int, int s) {
        const T *x = (const T *)job.x, *dy = (const T *)job.dy;
#pragma unroll
        for (int e = 0; e < A::EACH; e++) {
            int at_h = p[e] * job.g.stride_h + h, at_w = q[e] * job.g.stride_w + w;
            bool there = channel >= 0 && n[e] < images && (unsigned)at_h < (unsigned)job.g.h &&
                         (unsigned)at_w < (unsigned)job.g.w;
            int pixel = (n[e] * job.g.h + at_h) * job.g.w + at_w;
            copy_16_async_again(a + A::place_of(e),
                                there ? x + (size_t)pixel * (size_t)job.c + channel : x, there);
            go_on(&n[e], &p[e], &q[e]);
        }
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            int line = B::line_of(e), output = first + s * A::DEPTH + line;
            bool there = filter >= 0 && output < job.outputs;
            copy_16_async(b + B::place_of(e),
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
    tensor_sums_of<T, SIDE, false, false, false> sum = {};
    int left = (job.outputs - from.first + weight_source<T, SIDE>::A::DEPTH - 1) /
               weight_source<T, SIDE>::A::DEPTH;
    sum_by_tensor_cores<T, SIDE, false, false, false, 1>(sum, memory, from,
                                                         left < job.slices ? left : job.slices);
    float *sums = job.sums + (size_t)share * (size_t)lines * (size_t)job.g.k;
    sum.each([&](int i, int j, const float *two) {
        if (i0 + i < lines) put_sums(sums + (size_t)(i0 + i) * (size_t)job.g.k, j0 + j, two, job);
    });
}

template <class T, int SIDE> static tl_status launch(tl_ctx *ctx, const weight_job &job) {
    const int bytes = stage_of<T, SIDE>::MEMORY;
    auto kernel = sum_outputs<T, SIDE>;
    int down = (job.g.r * job.g.s * job.c - 1) / TENSOR_ROWS + 1, across = (job.g.k - 1) / SIDE + 1;
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<(unsigned)(down * across * job.shares), TENSOR_THREADS, (size_t)bytes,
             tl_stream(ctx)>>>(job);
    TL_LAUNCHED();
    return TL_OK;
}

static int depth_of(tl_precision precision) {
    return SLICE_BYTES / (int)(precision == TL_BF16 ? sizeof(bf16) : sizeof(float));
}

extern "C" size_t tl_tensor_weight_bytes(const tl_conv2d_geom *g, int c) {
    return (size_t)g->r * (size_t)g->s * (size_t)c * (size_t)g->k * sizeof(float);
}

extern "C" int tl_tensor_weight_shares(const tl_conv2d_geom *g, int c, tl_precision precision,
                                       size_t room) {
    if (tl_tensor_in_patches(g, precision)) return tl_tensor_patches_shares(g, c, room);
    size_t across = fill_wide(g->k) ? 128 : 64, k = (size_t)g->k;
    size_t lines = (size_t)g->r * (size_t)g->s * (size_t)c;
    size_t tiles = ((lines - 1) / TENSOR_ROWS + 1) * ((k - 1) / across + 1);
    size_t outputs = (size_t)g->n * (size_t)g->p * (size_t)g->q;
    size_t shares = FULL_GPU / tiles;
    size_t most = outputs / (size_t)depth_of(precision) / LEAST_SLICES;
    if (shares > most) shares = most;
    while (shares > 1 && shares * tl_tensor_weight_bytes(g, c) > room) shares /= 2;
    return shares > 1 ? (int)shares : 1;
}

extern "C" tl_status tl_tensor_weight_sums(tl_ctx *ctx, weight_job *job, tl_precision precision) {
    int depth = depth_of(precision);
    bool wide = fill_wide(job->g.k);
    if (tl_tensor_in_patches(&job->g, precision)) return tl_tensor_patches_sums(ctx, job);
    job->slices = ((job->outputs + depth - 1) / depth - 1) / job->shares + 1;
    if (precision == TL_BF16)
        return wide ? launch<bf16, 128>(ctx, *job) : launch<bf16, 64>(ctx, *job);
    return wide ? launch<float, 128>(ctx, *job) : launch<float, 64>(ctx, *job);
}

extern "C" tl_status tl_rung_conv2d_tensor_bwd_weight(tl_ctx *ctx, float *dw, const float *dy,
                                                      const float *x, const tensor_plan *plan,
                                                      void *work) {
    const tl_conv2d_geom &g = plan->g;
    const size_t each = plan->precision == TL_BF16 ? sizeof(bf16) : sizeof(float);
    size_t of_x = (size_t)g.h * (size_t)g.w, of_y = (size_t)g.p * (size_t)g.q;
    weight_job job = {};
    job.c = padded_to(plan->precision, g.c), job.k = padded_to(plan->precision, g.k);
    job.g = g, job.shares = plan->shares, job.sums = (float *)work;
    job.taps = g.r * g.s, job.of_tap = job.c, job.channels = g.c;
    unsigned char *images = (unsigned char *)work + plan->first;
    unsigned char *images_dy = images + (size_t)plan->images * of_x * (size_t)job.c * each;
    job.x = images, job.dy = images_dy;
    for (int n = 0; n < g.n; n += plan->images, job.add = true) {
        int count = g.n - n < plan->images ? g.n - n : plan->images;
        size_t first = (size_t)n;
        TL_TRY(tl_rung_conv2d_tensor_pack(ctx, images, x + first * (size_t)g.c * of_x,
                                          (size_t)count, g.c, (int)of_x, plan->precision));
        TL_TRY(tl_rung_conv2d_tensor_pack(ctx, images_dy, dy + first * (size_t)g.k * of_y,
                                          (size_t)count, g.k, (int)of_y, plan->precision));
        job.outputs = count * (int)of_y;
        TL_TRY(tl_tensor_weight_sums(ctx, &job, plan->precision));
    }
    return tl_tensor_weight_add(ctx, dw, &job, plan->precision);
}
#endif
