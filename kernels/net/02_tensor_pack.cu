/* 02_tensor_pack.cu: float arrays, rounded into the places where products by tensor cores read them
 * (02_tensor.h): a batch of images, the gradient of a net's result, and once a step all weights. */
#include "kernels/net/02_tensor_end.h"

#ifndef TL_REAL_DOUBLE

/* A thread has 16 bytes of a line. */
template <class T>
static __global__ void pack_columns(T *to, const float *from, tl_conv2d_geom g, unsigned of_line,
                                    unsigned pieces) {
    const int N = piece<T>::NUMBERS;
    for (size_t t = tl_thread(); t < pieces; t += tl_threads()) {
        unsigned line = (unsigned)t / of_line, row = line / (unsigned)g.q;
        int first = (int)((unsigned)t - line * of_line) * N, n = (int)(row / (unsigned)g.p);
        int h0 = ((int)row - n * g.p) * g.stride_h - g.pad_h;
        int w0 = (int)(line - row * (unsigned)g.q) * g.stride_w - g.pad_w;
        int c = first / (g.r * g.s), r = first / g.s % g.r, s = first % g.s;
        float v[N];
#pragma unroll
        for (int e = 0; e < N; e++) {
            int h = h0 + r * g.dil_h, w = w0 + s * g.dil_w;
            bool there = c < g.c && h >= 0 && h < g.h && w >= 0 && w < g.w;
            size_t plane = (size_t)n * (size_t)g.c + (size_t)c;
            v[e] = there ? from[(plane * (size_t)g.h + (size_t)h) * (size_t)g.w + (size_t)w] : 0.0f;
            if (++s == g.s) s = 0, r++;
            if (r == g.r) r = 0, c++;
        }
        put_piece(to + t * (size_t)N, v);
    }
}

extern "C" tl_status tl_rung_net_tensor_pack(tl_ctx *ctx, void *to, const float *from,
                                             const tl_conv2d_geom *g, tl_precision precision) {
    int channels = padded_to(precision, g->c * g->r * g->s);
    unsigned of_line = (unsigned)(channels / (precision == TL_BF16 ? 8 : 4));
    unsigned pieces = (unsigned)(g->n * g->p * g->q) * of_line,
             blocks = tl_blocks(pieces, TL_BLOCK);
    if (precision == TL_BF16)
        pack_columns<<<blocks, TL_BLOCK, 0, tl_stream(ctx)>>>((bf16 *)to, from, *g, of_line,
                                                              pieces);
    else
        pack_columns<<<blocks, TL_BLOCK, 0, tl_stream(ctx)>>>((float *)to, from, *g, of_line,
                                                              pieces);
    TL_LAUNCHED();
    return TL_OK;
}

/* ---- weights ---------------------------------------------------------------------------------*/

typedef struct weights_of {
    const float *w; /* [k][channels][taps] */
    size_t forward, backward;
    int k, channels, taps;
    bool by_tap, backward_wanted; /* backward: [taps][channels], not [channels][taps] */
    unsigned first;               /* block */
} weights_of;
typedef struct weights_list {
    int count;
    weights_of layer[TL_NET_LAYERS];
} weights_list;

/* A block's part: so many filters and channels, and at most so many taps. */
enum { WEIGHT_SIDE = 32, WEIGHT_TAPS = 9 };

static int parts_of(int size, int part) { return (size - 1) / part + 1; }

/* The parts of a layer go along its channels first. Both orders are written from shared memory:
 * neither of them is read in jumps. */
template <class T>
static __global__ void __launch_bounds__(TL_BLOCK)
    pack_weights(unsigned char *kept, const weights_list list, int depth) {
    __shared__ float part[WEIGHT_SIDE][WEIGHT_SIDE * WEIGHT_TAPS + 1];
    int l = 0;
    while (l + 1 < list.count && blockIdx.x >= list.layer[l + 1].first) l++;
    const weights_of &of = list.layer[l];
    int c_all = (of.channels + depth - 1) / depth * depth,
        k_all = (of.k + depth - 1) / depth * depth;
    int across = (c_all - 1) / WEIGHT_SIDE + 1, down = (k_all - 1) / WEIGHT_SIDE + 1;
    int block = (int)(blockIdx.x - of.first), c0 = block % across * WEIGHT_SIDE;
    int k0 = block / across % down * WEIGHT_SIDE, t0 = block / (across * down) * WEIGHT_TAPS;
    int taps = of.taps - t0 < WEIGHT_TAPS ? of.taps - t0 : WEIGHT_TAPS;
    int threads = (int)blockDim.x, line = WEIGHT_SIDE * taps;
    for (int i = (int)threadIdx.x; i < WEIGHT_SIDE * line; i += threads) {
        int k = k0 + i / line, at = i % line, c = c0 + at / taps;
        size_t from = ((size_t)k * (size_t)of.channels + (size_t)c) * (size_t)of.taps +
                      (size_t)(t0 + at % taps);
        part[i / line][at] = k < of.k && c < of.channels ? of.w[from] : 0.0f;
    }
    __syncthreads();
    T *forward = (T *)(kept + of.forward), *backward = (T *)(kept + of.backward);
    for (int i = (int)threadIdx.x; i < WEIGHT_SIDE * line; i += threads) {
        int side = i % WEIGHT_SIDE, other = i / WEIGHT_SIDE % WEIGHT_SIDE;
        int t = i / (WEIGHT_SIDE * WEIGHT_SIDE), k = k0 + other, c = c0 + side;
        size_t tap = (size_t)(t0 + t);
        if (k < of.k && c < c_all)
            put_rounded(forward + ((size_t)k * (size_t)of.taps + tap) * (size_t)c_all + (size_t)c,
                        part[other][side * taps + t]);
        k = k0 + side, c = c0 + other;
        if (!of.backward_wanted || k >= k_all || c >= (of.by_tap ? c_all : of.channels)) continue;
        size_t row =
            of.by_tap ? tap * (size_t)c_all + (size_t)c : (size_t)c * (size_t)of.taps + tap;
        put_rounded(backward + row * (size_t)k_all + (size_t)k, part[side][other * taps + t]);
    }
}

extern "C" tl_status tl_rung_net_tensor_weights(tl_ctx *ctx, void *kept, const tl_net_layer *layer,
                                                bool backward, tl_precision precision) {
    weights_list list = {};
    unsigned blocks = 0;
    for (const tl_net_layer *l = layer;; l++) {
        const tl_net_product *p = &l->of.product;
        bool wanted = backward && !p->first;
        list.layer[list.count++] =
            weights_of{l->w,    p->forward, p->backward, p->conv.k, p->channels,
                       p->taps, p->linear,  wanted,      blocks};
        blocks += (unsigned)(parts_of(padded_to(precision, p->channels), WEIGHT_SIDE) *
                             parts_of(padded_to(precision, p->conv.k), WEIGHT_SIDE) *
                             parts_of(p->taps, WEIGHT_TAPS));
        if (p->last) break;
    }
    if (precision == TL_BF16)
        pack_weights<bf16>
            <<<blocks, TL_BLOCK, 0, tl_stream(ctx)>>>((unsigned char *)kept, list, padded<bf16>(1));
    else
        pack_weights<float><<<blocks, TL_BLOCK, 0, tl_stream(ctx)>>>((unsigned char *)kept, list,
                                                                     padded<float>(1));
    TL_LAUNCHED();
    return TL_OK;
}
#endif
