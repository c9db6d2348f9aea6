/* tensor_conv.h: what convolutions by tensor cores share, wherever their images come from: packed
 * for one call (kernels/conv2d/04_tensor.h), or a net's own (kernels/net/02_tensor.h). CUDA C,
 * float alone.
 *
 * T is bf16 or, rounded to TF32, float. Images are [n][h][w][channels] of T, the channels filled up
 * with zeros to whole slices of a tile (kernels/tensor_tile.h). */
#ifndef KERNELS_TENSOR_CONV_H
#define KERNELS_TENSOR_CONV_H

#include "kernels/tensor_tile.h"
#include "tl/conv2d.h"
#include "tl/precision.h"

enum {
    FULL_GPU = 264,   /* blocks that keep a large GPU busy: two for each multiprocessor */
    LEAST_SLICES = 8, /* of a share of a sum, else adding the shares costs more than it saves */
    MOST_TAPS = 9,    /* of a part of weights that change places in shared memory */
};

/* A sum in the precision of T, where that rounds results (tl/precision.h). */
template <class T> static inline __device__ float result(float sum) {
    return sizeof(T) == sizeof(bf16) ? __uint_as_float(to_bf16(0, sum) & 0xffff0000u) : sum;
}

/* x, rounded to T, to memory. */
static inline __device__ void put_rounded(bf16 *to, float x) {
    *to = (bf16)(to_bf16(x, 0) & 0xffff);
}
static inline __device__ void put_rounded(float *to, float x) { *to = __uint_as_float(to_tf32(x)); }

/* Channels of a pixel. */
template <class T> static inline int padded(int channels) {
    const int depth = SLICE_BYTES / (int)sizeof(T);
    return (channels + depth - 1) / depth * depth;
}
static inline int padded_to(tl_precision precision, int channels) {
    return precision == TL_BF16 ? padded<bf16>(channels) : padded<float>(channels);
}

/* Whether tiles are 128 channels across: those of 64 would not waste less. */
static inline bool fill_wide(int channels) { return (channels - 1) % 128 >= 64; }

static inline __host__ __device__ int least_of(int a, int b) { return a < b ? a : b; }

/* Taps of each such part, if some number of them divides a layer's: then the compiler knows it, and
 * divides by it. 0: it does not. */
static inline __host__ __device__ int even_taps(int taps) {
    return taps % 9 == 0 ? 9 : taps % 8 == 0 ? 8 : taps == 1;
}

/* What the kernels count in int, with room for a tile that reaches past the end. */
static inline bool tensor_countable(const tl_conv2d_geom *g) {
    const size_t most = (size_t)1 << 30;
    size_t h = (size_t)g->h + 2 * (size_t)g->pad_h + 1, w = (size_t)g->w + 2 * (size_t)g->pad_w + 1;
    size_t channels = (size_t)(g->c > g->k ? g->c : g->k) + 32, n = (size_t)g->n;
    if (h > most || w > most || h * w > most || channels > most / (h * w)) return false;
    size_t taps = (size_t)g->r * (size_t)g->s;
    return n <= most / (h * w) && taps <= most / channels / channels;
}

/* dw of a convolution, whose parts lie [tap][c][k]. As an image of one pixel is one of many with
 * all their channels side by side, what is one tap for the product may be several of dw. */
typedef struct weight_job {
    const void *x, *dy; /* [n][h][w][c], [n][p][q][k], padded to: */
    int c, k;
    tl_conv2d_geom g;
    int outputs;        /* of all images that are here */
    int shares, slices; /* of a share; by patches: squares (kernels/conv2d/04_tensor_weight.cu) */
    float *sums;        /* [share][taps and c][g.k], not padded in k */
    bool add;           /* images before these have left their sums there */
    int taps, of_tap;   /* dw[g.k][channels][taps], whose sums are [taps][of_tap][g.k] */
    int channels;
} weight_job;

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of dw that outputs of g are summed in, as many as make a full GPU of the tiles if there is
 * enough to add, and their sums fit into `room` bytes. (The geometry decides, and no clock: same
 * bits in every run.) x has c channels, padded. */
int tl_tensor_weight_shares(const tl_conv2d_geom *g, int c, tl_precision precision, size_t room);
/* Whether g's dw is summed by patches of pixels (kernels/conv2d/04_tensor_patches.cu), in how many
 * shares, and its sums. */
bool tl_tensor_in_patches(const tl_conv2d_geom *g, tl_precision precision);
int tl_tensor_patches_shares(const tl_conv2d_geom *g, int c, size_t room);
tl_status tl_tensor_patches_sums(tl_ctx *ctx, weight_job *job);

/* Bytes of the sums of a share. */
size_t tl_tensor_weight_bytes(const tl_conv2d_geom *g, int c);

/* sums = those of the job's images, added to what is there if job->add. */
tl_status tl_tensor_weight_sums(tl_ctx *ctx, weight_job *job, tl_precision precision);
/* dw += the shares, added in a fixed order. */
tl_status tl_tensor_weight_add(tl_ctx *ctx, float *dw, const weight_job *job,
                               tl_precision precision);

#ifdef __cplusplus
}
#endif
#endif
