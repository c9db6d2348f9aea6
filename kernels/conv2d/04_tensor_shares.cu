/* 04_tensor_shares.cu: the shares of dw, added (04_tensor.h, 04_tensor_weight.cu). */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

/* A block's part of dw: so many filters, channels, and at most so many taps. */
enum { FILTERS = 8, CHANNELS = 4, PART = FILTERS * CHANNELS, ADDERS = 2 * PART * MOST_TAPS };

/* dw += the shares' sums. Several groups of threads have every so many shares each, and the groups
 * are added in their order. Sums lie filter by filter, and dw tap by tap: they change places in
 * shared memory, so that neither is read or written in jumps. TAPS: of a part, of all layers whose
 * taps it divides; 0: at most MOST_TAPS. */
template <class T, int TAPS>
static __global__ void __launch_bounds__(ADDERS) add_shares(float *dw, weight_job job) {
    __shared__ float part[ADDERS];
    const int most = TAPS ? TAPS : MOST_TAPS;
    int filters = (job.g.k - 1) / FILTERS + 1, chunks = (job.taps - 1) / most + 1;
    int k0 = (int)blockIdx.x % filters * FILTERS, t0 = (int)blockIdx.x / filters % chunks * most;
    int c0 = (int)blockIdx.x / (filters * chunks) * CHANNELS, me = (int)threadIdx.x;
    const int taps = TAPS ? TAPS : least_of(job.taps - t0, most), all = PART * taps;
    int groups = ADDERS / all, group = me / all, at = me % all;
    int filter = at % FILTERS, c = at / FILTERS % CHANNELS, tap = at / PART;
    size_t k = (size_t)job.g.k, each = (size_t)job.taps * (size_t)job.of_tap * k;
    float sum = 0;
    if (k0 + filter < job.g.k && c0 + c < job.channels && group < groups) {
        size_t line = (size_t)(t0 + tap) * (size_t)job.of_tap + (size_t)(c0 + c);
        const float *from = job.sums + line * k + (size_t)(k0 + filter);
#pragma unroll 8
        for (int share = group; share < job.shares; share += groups)
            sum += from[(size_t)share * each];
    }
    if (group < groups) part[group * all + (filter * CHANNELS + c) * taps + tap] = sum;
    __syncthreads();
    if (me >= all) return;
    filter = me / (CHANNELS * taps), c = me / taps % CHANNELS, tap = me % taps;
    if (k0 + filter >= job.g.k || c0 + c >= job.channels) return;
    sum = part[me];
    for (int g = 1; g < groups; g++) sum += part[g * all + me];
    size_t to = (size_t)(k0 + filter) * (size_t)job.channels + (size_t)(c0 + c);
    dw[to * (size_t)job.taps + (size_t)(t0 + tap)] += result<T>(sum);
}

template <class T, int TAPS>
static tl_status launch(tl_ctx *ctx, float *dw, const weight_job *job) {
    const int most = TAPS ? TAPS : MOST_TAPS;
    int blocks = (job->g.k - 1) / FILTERS + 1;
    blocks *= ((job->taps - 1) / most + 1) * ((job->channels - 1) / CHANNELS + 1);
    add_shares<T, TAPS><<<(unsigned)blocks, ADDERS, 0, tl_stream(ctx)>>>(dw, *job);
    TL_LAUNCHED();
    return TL_OK;
}

template <class T> static tl_status add(tl_ctx *ctx, float *dw, const weight_job *job) {
    int taps = even_taps(job->taps);
    if (taps == 9) return launch<T, 9>(ctx, dw, job);
    return taps == 8 ? launch<T, 8>(ctx, dw, job) : launch<T, 0>(ctx, dw, job);
}

extern "C" tl_status tl_tensor_weight_add(tl_ctx *ctx, float *dw, const weight_job *job,
                                          tl_precision precision) {
    return precision == TL_BF16 ? add<bf16>(ctx, dw, job) : add<float>(ctx, dw, job);
}
#endif
