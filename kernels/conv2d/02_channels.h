/* 02_channels.h: what the files of the convolution in blocks of channels share.
 *
 * A block is two vectors of channels that lie side by side at every pixel, so a filter's tap is the
 * same offset for all lanes, no load crosses a cache line, and rows of any width are full. */
#ifndef TL_CONV2D_CHANNELS_H
#define TL_CONV2D_CHANNELS_H

#include "01_direct.h"

#define TL_CHANNELS     (2 * TL_DIRECT_LANES)
#define TL_CHANNELS_SUM 6 /* pixels, or channels of x, summed at once: 12 of AVX2's 16 registers */

/* Pixels whose sums, and what they are made of, stay in the first-level cache. */
enum { TL_CHANNELS_PIXELS = 128 };

static inline int tl_channels_blocks(int channels) {
    return (channels + TL_CHANNELS - 1) / TL_CHANNELS;
}
/* Of a block that begins with channel `first`. */
static inline int tl_channels_left(int channels, int first) {
    return channels - first < TL_CHANNELS ? channels - first : TL_CHANNELS;
}
/* Whole rows of q pixels in TL_CHANNELS_PIXELS, at least one. */
static inline int tl_channels_rows(int p, int q) {
    int rows = q < TL_CHANNELS_PIXELS ? TL_CHANNELS_PIXELS / q : 1;
    return rows < p ? rows : p;
}

/* to[pixel][lane] = from[lane][pixel], for `channels` planes; lanes beyond stay as they are. */
void tl_channels_gather(tl_real *to, const tl_real *from, size_t plane, int channels, int pixels);
/* to[lane][pixel] (+)= from[pixel][lane] + b[lane]; b may be NULL. */
void tl_channels_scatter(tl_real *to, const tl_real *from, size_t plane, int channels, int pixels,
                         const tl_real *b, int accumulate);
/* An image into its padded places, block by block; borders and lanes without a channel must be
 * zero already. `a` counts in pixels. */
void tl_channels_pad(tl_real *to, const tl_real *from, int channels, const tl_direct_layout *a);

/* What one block of output channels is summed from: r times s taps, `row` and `tap` reals of x
 * apart, each of `channels` channels. */
typedef struct tl_channels_job {
    const tl_real *w; /* [tap][channel of x][channel of y], whole blocks */
    int r, s;
    size_t row, tap;
    int channels;
    int first; /* nothing has been summed yet */
} tl_channels_job;

/* to[i][lane] (+)= sum over taps and channels of x * w, for the `pixels` pixels from x on. */
void tl_channels_sum(const tl_channels_job *j, const tl_real *x, tl_real *to, int pixels);

/* to[i][lane] += sum over `rows` rows of q pixels of x[pixel][i] * dy[pixel][lane], for `channels`
 * channels of x, whose rows are `pitch` pixels apart. */
typedef struct tl_channels_outer {
    const tl_real *x, *dy;
    int rows, q, pitch;
} tl_channels_outer;
void tl_channels_add_outer(const tl_channels_outer *j, tl_real *to, int channels);

/* 02_channels_pixels.c: as tl_direct_sum_run, with `d` from 01_direct.h. */
size_t tl_channels_sum_scratch(const tl_direct_sum *d); /* reals for each thread, and */
size_t tl_channels_sum_weights(const tl_direct_sum *d); /* reals for all of them */
void tl_channels_sum_run(const tl_direct_sum *d, tl_real *y, const tl_real *x, int workers,
                         tl_real *scratch);

/* 02_channels_weight.c: dw[k,c,r,s] += sum over n,p,q of dy * x. */
size_t tl_channels_weight_scratch(const tl_conv2d_geom *g);  /* reals for each thread, and */
size_t tl_channels_weight_partials(const tl_conv2d_geom *g); /* reals for all of them */
void tl_channels_weight_run(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy,
                            const tl_real *x, int workers, tl_real *scratch);

/* 02_channels.c: how a rung whose kernels share some scratch beside each thread's own is run. */
typedef struct tl_channels_kernels {
    size_t (*sum_shared)(const tl_direct_sum *d), (*sum_each)(const tl_direct_sum *d);
    void (*sum_run)(const tl_direct_sum *d, tl_real *y, const tl_real *x, int workers,
                    tl_real *scratch);
    size_t (*weight_shared)(const tl_conv2d_geom *g), (*weight_each)(const tl_conv2d_geom *g);
    void (*weight_run)(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy, const tl_real *x,
                       int workers, tl_real *scratch);
} tl_channels_kernels;

/* Layers of enough channels both ways to make up for what gathering them costs. */
int tl_channels_supports(const tl_conv2d_geom *g);
/* Bytes that the three passes need with all threads, as far as the plain path would take so much.
 */
size_t tl_channels_bytes(const tl_channels_kernels *k, const tl_ctx *ctx, const tl_conv2d_geom *g);
/* Run with as many threads as have room in that many bytes: true, or false if none has. */
int tl_channels_try_sum(const tl_channels_kernels *k, tl_ctx *ctx, const tl_direct_sum *sum,
                        tl_real *y, const tl_real *x, const tl_conv2d_geom *g, void *work);
int tl_channels_try_weight(const tl_channels_kernels *k, tl_ctx *ctx, tl_real *dw,
                           const tl_real *dy, const tl_real *x, const tl_conv2d_geom *g,
                           void *work);

/* The rung itself, which rung 3 hands over to. */
size_t tl_channels_work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g);
tl_status tl_channels_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                          const tl_real *b, const tl_conv2d_geom *g, void *work);
tl_status tl_channels_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                const tl_conv2d_geom *g, void *work);
tl_status tl_channels_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                 const tl_conv2d_geom *g, void *work);

#endif
