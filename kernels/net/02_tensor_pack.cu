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

/* A block's part: so many filters and channels. */
enum { WEIGHT_SIDE = 16, WEIGHT_THREADS = WEIGHT_SIDE * WEIGHT_SIDE };

static int parts_of(int size, int part) { return (size - 1) / part + 1; }

/* The parts of a layer go along its channels first. Both orders are written from shared memory:
 * neither of them is read in jumps. TAPS: of each part; 0: at most MOST_TAPS. */
typedef float weights_part[WEIGHT_SIDE][WEIGHT_SIDE * MOST_TAPS + 1];

template <class T, int TAPS>
static __device__ void pack_part(unsigned char *kept, weights_part &part, const weights_of &of,
                                 int depth) {
    int c_all = (of.channels + depth - 1) / depth * depth,
        k_all = (of.k + depth - 1) / depth * depth;
    int across = (c_all - 1) / WEIGHT_SIDE + 1, down = (k_all - 1) / WEIGHT_SIDE + 1;
    int block = (int)(blockIdx.x - of.first), c0 = block % across * WEIGHT_SIDE;
    const int most = TAPS ? TAPS : MOST_TAPS;
    int k0 = block / across % down * WEIGHT_SIDE, t0 = block / (across * down) * most;
    const int taps = TAPS ? TAPS : least_of(of.taps - t0, most), line = WEIGHT_SIDE * taps;
#pragma unroll
    for (int n = 0; n < most; n++) {
        int i = (int)threadIdx.x + n * WEIGHT_THREADS, at = i % line;
        int k = k0 + i / line, c = c0 + at / taps;
        size_t from = ((size_t)k * (size_t)of.channels + (size_t)c) * (size_t)of.taps +
                      (size_t)(t0 + at % taps);
        if (n < taps) part[i / line][at] = k < of.k && c < of.channels ? of.w[from] : 0.0f;
    }
    __syncthreads();
    T *forward = (T *)(kept + of.forward), *backward = (T *)(kept + of.backward);
    int side = (int)threadIdx.x % WEIGHT_SIDE, other = (int)threadIdx.x / WEIGHT_SIDE;
#pragma unroll
    for (int n = 0; n < most; n++) {
        if (n >= taps) break;
        size_t tap = (size_t)(t0 + n);
        int k = k0 + other, c = c0 + side;
        if (k < of.k && c < c_all)
            put_rounded(forward + ((size_t)k * (size_t)of.taps + tap) * (size_t)c_all + (size_t)c,
                        part[other][side * taps + n]);
        k = k0 + side, c = c0 + other;
        if (!of.backward_wanted || k >= k_all || c >= (of.by_tap ? c_all : of.channels)) continue;
        size_t row =
            of.by_tap ? tap * (size_t)c_all + (size_t)c : (size_t)c * (size_t)of.taps + tap;
        put_rounded(backward + row * (size_t)k_all + (size_t)k, part[side][other * taps + n]);
    }
}

template <class T>
static __global__ void __launch_bounds__(WEIGHT_THREADS)
    pack_weights(unsigned char *kept, const weights_list list, int depth) {
    __shared__ weights_part part;
    int l = 0;
    while (l + 1 < list.count && blockIdx.x >= list.layer[l + 1].first) l++;
    const weights_of &of = list.layer[l];
    int taps = even_taps(of.taps);
    if (taps == 9)
        pack_part<T, 9>(kept, part, of, depth);
    else if (taps == 8)
        pack_part<T, 8>(kept, part, of, depth);
    else if (taps == 1)
        pack_part<T, 1>(kept, part, of, depth);
    else
        pack_part<T, 0>(kept, part, of, depth);
}

extern "C" tl_status tl_rung_net_tensor_weights(tl_ctx *ctx, void *kept, const tl_net_layer *layer,
                                                bool backward, tl_precision precision) {
    weights_list list = {};
    unsigned blocks = 0;
    for (const tl_net_layer *l = layer;; l++) {
        const tl_net_product *p = &l->of.product;
        bool wanted = backward && !p->first;
        int taps = even_taps(p->taps);
        list.layer[list.count++] =
            weights_of{l->w,    p->forward, p->backward, p->conv.k, p->channels,
                       p->taps, p->linear,  wanted,      blocks};
        blocks += (unsigned)(parts_of(padded_to(precision, p->channels), WEIGHT_SIDE) *
                             parts_of(padded_to(precision, p->conv.k), WEIGHT_SIDE) *
                             parts_of(p->taps, taps ? taps : MOST_TAPS));
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
