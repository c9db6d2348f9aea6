/* 02_tensor_bias.cu: the gradients of all biases of a net in one launch (02_tensor.h): of each
 * channel the sum of its parts, which the products of dx have left; of a net's last bias those are
 * the gradient of its result, row by row. */
#include "kernels/net/02_tensor.h"
#include "tl/cuda.h"

#ifndef TL_REAL_DOUBLE

typedef struct columns_of {
    const float *parts; /* [count][stride] */
    float *db;          /* [out] */
    int count, stride, out;
    bool rounded;   /* parts are numbers of the precision, not rounded yet */
    unsigned first; /* block */
} columns_of;
typedef struct columns_list {
    int count;
    columns_of layer[TL_NET_LAYERS];
} columns_list;

/* A block has so many channels: 32 bytes of a part; and so many threads for each. */
enum { BIAS_CHANNELS = 8, BIAS_THREADS = 128 };

template <class T>
static __global__ void __launch_bounds__(BIAS_CHANNELS *BIAS_THREADS)
    add_columns(const columns_list list) {
    __shared__ float part[BIAS_THREADS][BIAS_CHANNELS];
    int l = 0;
    while (l + 1 < list.count && blockIdx.x >= list.layer[l + 1].first) l++;
    const columns_of &of = list.layer[l];
    int x = (int)threadIdx.x % BIAS_CHANNELS, y = (int)threadIdx.x / BIAS_CHANNELS;
    int channel = (int)(blockIdx.x - of.first) * BIAS_CHANNELS + x;
    float sum = 0;
    if (channel < of.out) {
#pragma unroll 8
        for (int i = y; i < of.count; i += BIAS_THREADS) {
            float v = of.parts[(size_t)i * (size_t)of.stride + (size_t)channel];
            sum += of.rounded ? result<T>(v) : v;
        }
    }
    part[y][x] = sum;
    for (int half = BIAS_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (y < half) part[y][x] += part[y + half][x];
    }
    if (y == 0 && channel < of.out) of.db[channel] += result<T>(part[0][x]);
}

extern "C" tl_status tl_rung_net_tensor_biases(tl_ctx *ctx, const void *kept, const float *dy,
                                               const tl_net_layer *layer, tl_precision precision) {
    columns_list list = {};
    unsigned blocks = 0;
    for (const tl_net_layer *l = layer;; l++) {
        const tl_net_product *p = &l->of.product;
        const tl_net_product *next = p->last ? NULL : &l[1].of.product;
        if (l->db) {
            columns_of of = {dy, l->db, p->conv.n, p->conv.k, p->conv.k, p->last, blocks};
            if (next) {
                of.parts = (const float *)((const unsigned char *)kept + p->columns);
                of.count = tl_rung_net_tensor_parts(&next->conv, precision);
                of.stride = padded_to(precision, p->conv.k);
                if (next->linear) of.count *= next->taps;
            }
            list.layer[list.count++] = of;
            blocks += (unsigned)((of.out - 1) / BIAS_CHANNELS + 1);
        }
        if (p->last) break;
    }
    if (list.count == 0) return TL_OK;
    auto kernel = precision == TL_BF16 ? add_columns<bf16> : add_columns<float>;
    kernel<<<blocks, BIAS_CHANNELS * BIAS_THREADS, 0, tl_stream(ctx)>>>(list);
    TL_LAUNCHED();
    return TL_OK;
}
#endif
