/* 04_tensor_shares.cu: the shares of dw, added (04_tensor.h, 04_tensor_weight.cu). */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

/* A block's part of dw: so many filters (4 FOURS), channels, and at most so many taps. */
enum { CHANNELS = 4, MOST_FOURS = 8, ADDERS = 576 };

/* The sums of filters k to k + 3 of a line, as many as there are. */
static inline __device__ pack<4> four_of(const float *line, int k, int filters) {
    if (filters % 4 == 0) return *(const pack<4> *)(line + k);
    pack<4> sum = {};
#pragma unroll
    for (int e = 0; e < 4; e++)
        if (k + e < filters) sum.v[e] = line[k + e];
    return sum;
}

/* dw += the shares' sums. Several groups of threads have every so many shares each, and the groups
 * are added in their order. Sums lie filter by filter, and dw tap by tap: they change places in
 * shared memory, so that neither is read or written in jumps. TAPS: even_taps. */
template <class T, int TAPS, int FOURS>
static __global__ void __launch_bounds__(ADDERS) add_shares(float *dw, weight_job job) {
    const int FILTERS = 4 * FOURS, most = TAPS ? TAPS : MOST_TAPS;
    __shared__ float part[ADDERS / (FOURS * CHANNELS * most) * FILTERS * CHANNELS * most];
    int filters = (job.g.k - 1) / FILTERS + 1, chunks = (job.taps - 1) / most + 1;
    int k0 = (int)blockIdx.x % filters * FILTERS, t0 = (int)blockIdx.x / filters % chunks * most;
    int c0 = (int)blockIdx.x / (filters * chunks) * CHANNELS, me = (int)threadIdx.x;
    const int taps = TAPS ? TAPS : least_of(job.taps - t0, most), all = FOURS * CHANNELS * taps;
    const int groups = ADDERS / (FOURS * CHANNELS * most), numbers = 4 * all;
    int group = me / all, at = me % all;
    int filter = at % FOURS * 4, c = at / FOURS % CHANNELS, tap = at / (FOURS * CHANNELS);
    size_t k = (size_t)job.g.k, each = (size_t)job.taps * (size_t)job.of_tap * k;
    pack<4> sum = {};
    if (k0 + filter < job.g.k && c0 + c < job.channels && group < groups) {
        size_t line = (size_t)(t0 + tap) * (size_t)job.of_tap + (size_t)(c0 + c);
        const float *from = job.sums + line * k;
#pragma unroll 4
        for (int share = group; share < job.shares; share += groups) {
            pack<4> more = four_of(from + (size_t)share * each, k0 + filter, job.g.k);
#pragma unroll
            for (int e = 0; e < 4; e++) sum.v[e] += more.v[e];
        }
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
        if (group < groups)
            part[group * numbers + ((filter + e) * CHANNELS + c) * taps + tap] = sum.v[e];
    __syncthreads();
    for (int i = me; i < numbers; i += ADDERS) {
        filter = i / (CHANNELS * taps), c = i / taps % CHANNELS, tap = i % taps;
        if (k0 + filter >= job.g.k || c0 + c >= job.channels) continue;
        float all_groups = part[i];
        for (int g = 1; g < groups; g++) all_groups += part[g * numbers + i];
        size_t to = (size_t)(k0 + filter) * (size_t)job.channels + (size_t)(c0 + c);
        dw[to * (size_t)job.taps + (size_t)(t0 + tap)] += result<T>(all_groups);
    }
}

template <class T, int TAPS, int FOURS>
static tl_status launch_fours(tl_ctx *ctx, float *dw, const weight_job *job, int others) {
    int blocks = others * ((job->g.k - 1) / (4 * FOURS) + 1);
    add_shares<T, TAPS, FOURS><<<(unsigned)blocks, ADDERS, 0, tl_stream(ctx)>>>(dw, *job);
    TL_LAUNCHED();
    return TL_OK;
}

/* Large parts if they are enough for a GPU, else small ones of more groups. */
template <class T, int TAPS>
static tl_status launch(tl_ctx *ctx, float *dw, const weight_job *job) {
    const int most = TAPS ? TAPS : MOST_TAPS;
    int others = ((job->taps - 1) / most + 1) * ((job->channels - 1) / CHANNELS + 1);
    return others * (job->g.k / (4 * MOST_FOURS)) >= FULL_GPU / 2
               ? launch_fours<T, TAPS, MOST_FOURS>(ctx, dw, job, others)
               : launch_fours<T, TAPS, 2>(ctx, dw, job, others);
}

template <class T> static tl_status add(tl_ctx *ctx, float *dw, const weight_job *job) {
    switch (even_taps(job->taps)) {
    case 9:
        return launch<T, 9>(ctx, dw, job);
    case 8:
        return launch<T, 8>(ctx, dw, job);
    case 1:
        return launch<T, 1>(ctx, dw, job);
    default:
        return launch<T, 0>(ctx, dw, job);
    }
}

extern "C" tl_status tl_tensor_weight_add(tl_ctx *ctx, float *dw, const weight_job *job,
                                          tl_precision precision) {
    return precision == TL_BF16 ? add<bf16>(ctx, dw, job) : add<float>(ctx, dw, job);
}
#endif
