/* 02_tensor_pack.cu: float arrays, rounded into the places where products by tensor cores read them
 * (02_tensor.h): a batch of images, the gradient of a net's result, and once a step all weights. */
#include "kernels/net/02_tensor_end.h"

#ifndef TL_REAL_DOUBLE

/* A thread has the same 16 bytes of many lines: which channel and tap they come from it works out
 * once. Blocks are lines of pieces by lines. */
template <class T>
static __global__ void pack_columns(T *to, const float *from, tl_conv2d_geom g, int channels) {
    const int N = piece<T>::NUMBERS;
    int taps = g.r * g.s, lines = g.n * g.p * g.q;
    int first = (int)(blockIdx.y * blockDim.x + threadIdx.x) * N;
    if (first >= channels) return;
    int plane[N], down[N], right[N];
#pragma unroll
    for (int e = 0; e < N; e++) {
        int c = (first + e) / taps, tap = (first + e) % taps;
        plane[e] = c < g.c ? c * g.h * g.w : -1;
        down[e] = tap / g.s * g.dil_h - g.pad_h, right[e] = tap % g.s * g.dil_w - g.pad_w;
    }
    int step = (int)(gridDim.x * blockDim.y);
    for (int line = (int)(blockIdx.x * blockDim.y + threadIdx.y); line < lines; line += step) {
        int row = line / g.q, n = row / g.p;
        int h0 = (row - n * g.p) * g.stride_h, w0 = (line - row * g.q) * g.stride_w;
        const float *image = from + (size_t)n * (size_t)(g.c * g.h * g.w);
        float v[N];
#pragma unroll
        for (int e = 0; e < N; e++) {
            int h = h0 + down[e], w = w0 + right[e];
            bool there =
                plane[e] >= 0 && (unsigned)h < (unsigned)g.h && (unsigned)w < (unsigned)g.w;
            v[e] = there ? image[plane[e] + h * g.w + w] : 0.0f;
        }
        put_piece(to + (size_t)line * (size_t)channels + first, v);
    }
}

extern "C" tl_status tl_rung_net_tensor_pack(tl_ctx *ctx, void *to, const float *from,
                                             const tl_conv2d_geom *g, tl_precision precision) {
    int channels = padded_to(precision, g->c * g->r * g->s);
    int pieces = channels / (precision == TL_BF16 ? 8 : 4);
    unsigned wide = pieces < TL_BLOCK ? (unsigned)pieces : (unsigned)TL_BLOCK;
    dim3 block(wide, TL_BLOCK / wide);
    dim3 blocks(tl_blocks((size_t)g->n * (size_t)g->p * (size_t)g->q, 4 * (size_t)block.y),
                ((unsigned)pieces - 1) / wide + 1);
    if (precision == TL_BF16)
        pack_columns<<<blocks, block, 0, tl_stream(ctx)>>>((bf16 *)to, from, *g, channels);
    else
        pack_columns<<<blocks, block, 0, tl_stream(ctx)>>>((float *)to, from, *g, channels);
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
enum { WEIGHT_SIDE = 32, WEIGHT_TAPS = 9, WEIGHT_THREADS = 1024 };

static int parts_of(int size, int part) { return (size - 1) / part + 1; }

/* The parts of a layer go along its channels first. Both orders are written from shared memory:
 * neither of them is read in jumps. */
template <class T>
static __global__ void __launch_bounds__(WEIGHT_THREADS)
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
        pack_weights<bf16><<<blocks, WEIGHT_THREADS, 0, tl_stream(ctx)>>>((unsigned char *)kept,
                                                                          list, padded<bf16>(1));
    else
        pack_weights<float><<<blocks, WEIGHT_THREADS, 0, tl_stream(ctx)>>>((unsigned char *)kept,
                                                                           list, padded<float>(1));
    TL_LAUNCHED();
    return TL_OK;
}
#endif
