/* 04_tensor_shares.cu: the shares of dw, added (04_tensor.h, 04_tensor_weight.cu). */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

/* A block's part of dw: so many filters, channels, and at most so many taps; a thread for each. */
enum { FILTERS = 8, CHANNELS = 8, TAPS = 9, ADDERS = FILTERS * CHANNELS * TAPS };

/* dw += the shares' sums. Of fewer taps several groups of threads have every so many shares each,
 * and the groups are added in their order. Sums lie filter by filter, and dw tap by tap: they
 * change places in shared memory, so that neither is read or written in jumps. */
template <class T>
static __global__ void __launch_bounds__(ADDERS) add_shares(float *dw, weight_job job) {
    __shared__ float part[ADDERS];
    int filters = (job.g.k - 1) / FILTERS + 1, chunks = (job.taps - 1) / TAPS + 1;
    int k0 = (int)blockIdx.x % filters * FILTERS, t0 = (int)blockIdx.x / filters % chunks * TAPS;
    int c0 = (int)blockIdx.x / (filters * chunks) * CHANNELS, me = (int)threadIdx.x;
    int taps = job.taps - t0 < TAPS ? job.taps - t0 : TAPS, all = FILTERS * CHANNELS * taps;
    int groups = ADDERS / all, group = me / all, at = me % all;
    int filter = at % FILTERS, c = at / FILTERS % CHANNELS, tap = at / (FILTERS * CHANNELS);
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

extern "C" tl_status tl_tensor_weight_add(tl_ctx *ctx, float *dw, const weight_job *job,
                                          tl_precision precision) {
    auto kernel = precision == TL_BF16 ? add_shares<bf16> : add_shares<float>;
    int blocks = (job->g.k - 1) / FILTERS + 1;
    blocks *= ((job->taps - 1) / TAPS + 1) * ((job->channels - 1) / CHANNELS + 1);
    kernel<<<(unsigned)blocks, ADDERS, 0, tl_stream(ctx)>>>(dw, *job);
    TL_LAUNCHED();
    return TL_OK;
}
#endif
