/* 02_channels_pixels.c: convolution in blocks of channels, into pixels: forward, and the gradient
 * of the input. */
#include "02_channels.h"

#include <omp.h>

/* Padded copies that stay in the second-level cache together. */
enum { GROUP_REALS = 1 << 16 };

/* sum[i] += over the taps and channels of w * x, for `pixels` pixels side by side from x on.
 *
 * For each channel of a tap two loads and `pixels` broadcasts feed 2 * pixels multiply-adds: 8 for
 * 12 at six pixels. All broadcasts have one base, so that little else is left to do. The last loop
 * is unrolled: else gcc 12 copies the sums to the stack, to number them there. */
TL_DIRECT_INLINE void tile(const tl_channels_job *j, const tl_real *x, tl_real *to,
                           const int pixels) {
    tl_direct_vec sum[TL_CHANNELS_SUM][2];
    const int channels = j->channels;
    const tl_real *w = j->w;
    for (int i = 0; i < pixels; i++) sum[i][0] = sum[i][1] = (tl_direct_vec){0};
    for (int r = 0; r < j->r; r++, x += j->row)
        for (int s = 0; s < j->s; s++) {
            const tl_real *from = x + (size_t)s * j->tap;
            for (int c = 0; c < channels; c++, from++, w += TL_CHANNELS) {
                tl_direct_vec w0 = tl_direct_load_once(w);
                tl_direct_vec w1 = tl_direct_load_once(w + TL_DIRECT_LANES);
                for (int i = 0; i < pixels; i++) {
                    tl_direct_vec pixel = vec_all(from[i * TL_CHANNELS]);
                    sum[i][0] = vec_fma(pixel, w0, sum[i][0]);
                    sum[i][1] = vec_fma(pixel, w1, sum[i][1]);
                }
            }
            w += (TL_CHANNELS - channels) * TL_CHANNELS;
        }
#pragma GCC unroll 6
    for (int i = 0; i < pixels; i++, to += TL_CHANNELS)
        for (int v = 0; v < 2; v++) {
            tl_real *at = to + v * TL_DIRECT_LANES;
            tl_direct_store(at, j->first ? sum[i][v] : tl_direct_load(at) + sum[i][v]);
        }
}

#define TILE(pixels)                                                                               \
    static void tile_##pixels(const tl_channels_job *j, const tl_real *x, tl_real *to) {           \
        tile(j, x, to, pixels);                                                                    \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
static void (*const tiles[TL_CHANNELS_SUM])(const tl_channels_job *, const tl_real *, tl_real *) = {
    tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

void tl_channels_sum(const tl_channels_job *j, const tl_real *x, tl_real *to, int pixels) {
    for (int done = 0, some; done < pixels; done += some) {
        some = tl_direct_block(pixels - done, TL_CHANNELS_SUM);
        tiles[some - 1](j, x + done * TL_CHANNELS, to + done * TL_CHANNELS);
    }
}

/* weights[block of y][block of x][tap][channel of x][channel of y]; 0 where there is no channel. */
static void pack_weights(tl_real *to, const tl_direct_sum *d, int block) {
    int taps = d->r * d->s, k = block * TL_CHANNELS, some = tl_channels_left(d->out, k);
    for (int c = 0; c < tl_channels_blocks(d->in) * TL_CHANNELS; c += TL_CHANNELS)
        for (int t = 0; t < taps; t++)
            for (int i = c; i < c + TL_CHANNELS; i++, to += TL_CHANNELS)
                for (int lane = 0; lane < TL_CHANNELS; lane++)
                    to[lane] = lane < some && i < d->in
                                   ? d->weights[(k + lane) * d->w_out + i * d->w_in + t * d->w_tap]
                                   : 0;
}

static tl_direct_layout layout_of(const tl_direct_sum *d) {
    return tl_direct_layout_of(d->h, d->w, d->pad_h, d->pad_w);
}
static size_t block_weights(const tl_direct_sum *d) {
    return (size_t)(d->r * d->s) * TL_CHANNELS * TL_CHANNELS;
}
/* Reals of an image's padded copy. */
static size_t padded_size(const tl_direct_sum *d) {
    return (size_t)tl_channels_blocks(d->in) * layout_of(d).plane * TL_CHANNELS;
}
/* Pixels of some rows of an image, whose sums wait while all blocks of x are added to them. */
static int some_pixels(const tl_direct_sum *d) { return tl_channels_rows(d->p, d->q) * d->q; }

/* Small images are taken together, so that a block of weights serves more pixels before the next
 * one comes from further away than the second-level cache. */
static int group_of(const tl_direct_sum *d) {
    int images = TL_CHANNELS_PIXELS / (d->p * d->q), fit = (int)(GROUP_REALS / padded_size(d));
    int group = images < fit ? images : fit;
    return group < 1 ? 1 : group < d->n ? group : d->n;
}

size_t tl_channels_sum_weights(const tl_direct_sum *d) {
    return (size_t)tl_channels_blocks(d->out) * (size_t)tl_channels_blocks(d->in) *
           block_weights(d);
}
size_t tl_channels_sum_scratch(const tl_direct_sum *d) {
    return (size_t)group_of(d) * (padded_size(d) + (size_t)(some_pixels(d) * TL_CHANNELS));
}

/* Some rows of one block of y, `k` its first channel, in `images` images. */
static void add_images(const tl_direct_sum *d, const tl_direct_layout *a, int images, int k,
                       int row, tl_real *y, const tl_real *weights, const tl_real *padded,
                       tl_real *sums) {
    size_t plane = (size_t)d->p * (size_t)d->q, step = (size_t)(some_pixels(d) * TL_CHANNELS);
    size_t pitch = (size_t)a->pitch * TL_CHANNELS;
    int blocks = tl_channels_blocks(d->in), rows = tl_channels_rows(d->p, d->q);
    if (rows > d->p - row) rows = d->p - row;
    weights += (size_t)(k / TL_CHANNELS * blocks) * block_weights(d);
    for (int block = 0; block < blocks; block++, weights += block_weights(d))
        for (int i = 0; i < images; i++) {
            const tl_channels_job j = {.w = weights,
                                       .r = d->r,
                                       .s = d->s,
                                       .row = pitch,
                                       .tap = TL_CHANNELS,
                                       .channels = tl_channels_left(d->in, block * TL_CHANNELS),
                                       .first = block == 0};
            const tl_real *x = padded + (size_t)i * padded_size(d) +
                               (size_t)block * a->plane * TL_CHANNELS + (size_t)row * pitch;
            tl_real *to = sums + (size_t)i * step;
            for (int p = 0; p < rows; p++, x += pitch, to += d->q * TL_CHANNELS)
                tl_channels_sum(&j, x, to, d->q);
        }
    for (int i = 0; i < images; i++)
        tl_channels_scatter(y + (size_t)(i * d->out + k) * plane + (size_t)(row * d->q),
                            sums + (size_t)i * step, plane, tl_channels_left(d->out, k),
                            rows * d->q, d->b ? d->b + k : NULL, d->accumulate);
}

/* Images are independent, so the bits do not depend on who computes which. */
void tl_channels_sum_run(const tl_direct_sum *d, tl_real *y, const tl_real *x, int workers,
                         tl_real *scratch) {
    const tl_direct_layout a = layout_of(d);
    size_t each = tl_channels_sum_scratch(d), copy = padded_size(d);
    size_t x_image = (size_t)d->in * (size_t)d->h * (size_t)d->w;
    size_t y_image = (size_t)d->out * (size_t)d->p * (size_t)d->q;
    size_t block = (size_t)tl_channels_blocks(d->in) * block_weights(d);
    tl_real *copies = scratch + tl_channels_sum_weights(d);
    const int group = group_of(d);
#pragma omp parallel num_threads(workers)
    {
        tl_real *padded = copies + (size_t)omp_get_thread_num() * each;
        tl_real *sums = padded + (size_t)group * copy;
        /* the borders stay zero from image to image */
        memset(padded, 0, (size_t)group * copy * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int k = 0; k < tl_channels_blocks(d->out); k++)
            pack_weights(scratch + (size_t)k * block, d, k);
#pragma omp for schedule(static)
        for (int n = 0; n < d->n; n += group) {
            int images = d->n - n < group ? d->n - n : group;
            for (int i = 0; i < images; i++)
                tl_channels_pad(padded + (size_t)i * copy, x + (size_t)(n + i) * x_image, d->in,
                                &a);
            for (int k = 0; k < d->out; k += TL_CHANNELS)
                for (int row = 0; row < d->p; row += tl_channels_rows(d->p, d->q))
                    add_images(d, &a, images, k, row, y + (size_t)n * y_image, scratch, padded,
                               sums);
        }
    }
}
