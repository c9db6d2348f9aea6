/* 02_channels_weight.c: convolution in blocks of channels, the gradient of the weights.
 *
 * For one tap, 6 channels of x and a block of channels of y are summed over some rows of pixels in
 * 12 registers: two loads of dy and 6 broadcasts of x for 12 multiply-adds. */
#include "02_channels.h"

#include <omp.h>

/* Tasks that share out well, and the most that all partial gradients together may take: beyond it
 * the output channels are shared out instead, which gathers the same images once for every share.
 */
enum { TASKS = 16, PARTIAL_REALS = 1 << 18 };

/* How the work is cut, from the geometry alone: so the order of every sum is fixed. */
typedef struct cut {
    int chunk;  /* images that add up in one partial gradient */
    int chunks; /* partial gradients, added in index order at the end */
    int share;  /* blocks of output channels of one task */
    int shares;
} cut;

static int divide_up(int a, int b) { return (a - 1) / b + 1; }

/* partial[block of y][block of x][tap][channel of x][channel of y] */
static size_t block_size(const tl_conv2d_geom *g) {
    return (size_t)(g->r * g->s) * TL_CHANNELS * TL_CHANNELS;
}
static size_t row_size(const tl_conv2d_geom *g) {
    return (size_t)tl_channels_blocks(g->c) * block_size(g);
}
static size_t partial_size(const tl_conv2d_geom *g) {
    return (size_t)tl_channels_blocks(g->k) * row_size(g);
}

static cut cut_of(const tl_conv2d_geom *g) {
    size_t fit = PARTIAL_REALS / partial_size(g);
    int most = fit < 1 ? 1 : fit < TASKS ? (int)fit : TASKS, blocks = tl_channels_blocks(g->k);
    cut c;
    c.chunk = divide_up(g->n, most);
    c.chunks = divide_up(g->n, c.chunk);
    c.share = divide_up(blocks, divide_up(TASKS, c.chunks));
    c.shares = divide_up(blocks, c.share);
    return c;
}

/* sum[i][lane] += sum over pixels of x[pixel][i] * dy[pixel][lane], for `channels` channels.
 * The sums begin at 0 and are added at the end: short sums round less than one long one. The last
 * loop is unrolled: else gcc 12 copies the sums to the stack, to number them there. */
TL_DIRECT_INLINE void tile(const tl_channels_outer *j, int first, tl_real *to, const int channels) {
    tl_direct_vec sum[TL_CHANNELS_SUM][2];
    const tl_real *dy = j->dy;
    to += first * TL_CHANNELS;
    for (int i = 0; i < channels; i++) sum[i][0] = sum[i][1] = (tl_direct_vec){0};
    for (int row = 0; row < j->rows; row++) {
        const tl_real *x = j->x + row * j->pitch * TL_CHANNELS + first;
        for (int q = 0; q < j->q; q++, x += TL_CHANNELS, dy += TL_CHANNELS) {
            tl_direct_vec d0 = tl_direct_load_once(dy);
            tl_direct_vec d1 = tl_direct_load_once(dy + TL_DIRECT_LANES);
            for (int i = 0; i < channels; i++) {
                tl_direct_vec pixel = vec_all(x[i]);
                sum[i][0] = vec_fma(pixel, d0, sum[i][0]);
                sum[i][1] = vec_fma(pixel, d1, sum[i][1]);
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < channels; i++, to += TL_CHANNELS)
        for (int v = 0; v < 2; v++) {
            tl_real *at = to + v * TL_DIRECT_LANES;
            tl_direct_store(at, tl_direct_load(at) + sum[i][v]);
        }
}

#define TILE(channels)                                                                             \
    static void tile_##channels(const tl_channels_outer *j, int first, tl_real *to) {              \
        tile(j, first, to, channels);                                                              \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
static void (*const tiles[TL_CHANNELS_SUM])(const tl_channels_outer *, int, tl_real *) = {
    tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

void tl_channels_add_outer(const tl_channels_outer *j, tl_real *to, int channels) {
    for (int c = 0, some; c < channels; c += some) {
        some = tl_direct_block(channels - c, TL_CHANNELS_SUM);
        tiles[some - 1](j, c, to);
    }
}

static tl_direct_layout layout_of(const tl_conv2d_geom *g) {
    return tl_direct_layout_of(g->h, g->w, g->pad_h, g->pad_w);
}

/* A thread's blocks of dy of one image, and one padded block of x. */
static size_t dy_size(const tl_conv2d_geom *g) {
    return (size_t)cut_of(g).share * (size_t)g->p * (size_t)g->q * TL_CHANNELS;
}
size_t tl_channels_weight_scratch(const tl_conv2d_geom *g) {
    return dy_size(g) + layout_of(g).plane * TL_CHANNELS;
}
size_t tl_channels_weight_partials(const tl_conv2d_geom *g) {
    return (size_t)cut_of(g).chunks * partial_size(g);
}

/* partial += what one block of x and one of dy give, some rows after the other. */
static void add_block(tl_real *partial, const tl_real *dy, const tl_real *x, int channels,
                      int pitch, const tl_conv2d_geom *g) {
    int most = tl_channels_rows(g->p, g->q);
    for (int row = 0; row < g->p; row += most) {
        tl_real *to = partial;
        for (int r = 0; r < g->r; r++)
            for (int s = 0; s < g->s; s++, to += TL_CHANNELS * TL_CHANNELS) {
                const tl_channels_outer j = {.x = x + ((row + r) * pitch + s) * TL_CHANNELS,
                                             .dy = dy + row * g->q * TL_CHANNELS,
                                             .rows = g->p - row < most ? g->p - row : most,
                                             .q = g->q,
                                             .pitch = pitch};
                tl_channels_add_outer(&j, to, channels);
            }
    }
}

/* One task: the partial gradient of one chunk of images for one share of the output channels. */
static void run_task(int task, const cut *c, tl_real *partials, const tl_real *dy, const tl_real *x,
                     tl_real *dy_blocks, tl_real *padded, const tl_conv2d_geom *g) {
    const tl_direct_layout a = layout_of(g);
    size_t x_plane = (size_t)g->h * (size_t)g->w, y_plane = (size_t)g->p * (size_t)g->q;
    int first = task / c->shares * c->chunk, k = task % c->shares * c->share * TL_CHANNELS;
    int end = first + c->chunk < g->n ? first + c->chunk : g->n;
    int end_k = k + c->share * TL_CHANNELS < g->k ? k + c->share * TL_CHANNELS : g->k;
    size_t row = row_size(g), blocks = (size_t)tl_channels_blocks(end_k - k);
    tl_real *partial =
        partials + (size_t)(task / c->shares) * partial_size(g) + (size_t)(k / TL_CHANNELS) * row;
    memset(partial, 0, blocks * row * sizeof(tl_real));
    for (int n = first; n < end; n++) {
        for (int i = k; i < end_k; i += TL_CHANNELS)
            tl_channels_gather(dy_blocks + (size_t)(i - k) * y_plane,
                               dy + ((size_t)n * (size_t)g->k + (size_t)i) * y_plane, y_plane,
                               tl_channels_left(end_k, i), (int)y_plane);
        for (int i = 0; i < g->c; i += TL_CHANNELS) {
            int channels = tl_channels_left(g->c, i);
            tl_channels_pad(padded, x + ((size_t)n * (size_t)g->c + (size_t)i) * x_plane, channels,
                            &a);
            for (size_t b = 0; b < blocks; b++)
                add_block(partial + b * row + (size_t)(i / TL_CHANNELS) * block_size(g),
                          dy_blocks + b * y_plane * TL_CHANNELS, padded, channels, a.pitch, g);
        }
    }
}

/* dw += the partial gradients, in index order whatever thread made them. */
static void add_partials(tl_real *dw, const tl_real *partials, int chunks, const tl_conv2d_geom *g,
                         int workers) {
    size_t step = partial_size(g), row = row_size(g), block = block_size(g);
    int taps = g->r * g->s;
#pragma omp parallel for num_threads(workers) schedule(static)
    for (int k = 0; k < g->k; k++)
        for (int c = 0; c < g->c; c++)
            for (int t = 0; t < taps; t++) {
                const tl_real *from =
                    partials + (size_t)(k / TL_CHANNELS) * row + (size_t)(c / TL_CHANNELS) * block;
                tl_real sum = 0;
                from += (t * TL_CHANNELS + c % TL_CHANNELS) * TL_CHANNELS + k % TL_CHANNELS;
                for (int chunk = 0; chunk < chunks; chunk++) sum += from[(size_t)chunk * step];
                dw[((size_t)k * (size_t)g->c + (size_t)c) * (size_t)taps + (size_t)t] += sum;
            }
}

void tl_channels_weight_run(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy,
                            const tl_real *x, int workers, tl_real *scratch) {
    const cut c = cut_of(g);
    size_t each = tl_channels_weight_scratch(g), dy_reals = dy_size(g);
    tl_real *slices = scratch + tl_channels_weight_partials(g);
#pragma omp parallel num_threads(workers)
    {
        tl_real *own = slices + (size_t)omp_get_thread_num() * each;
        /* borders and lanes without a channel stay zero from image to image */
        memset(own, 0, each * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int task = 0; task < c.chunks * c.shares; task++)
            run_task(task, &c, scratch, dy, x, own, own + dy_reals, g);
    }
    add_partials(dw, scratch, c.chunks, g, workers);
}
