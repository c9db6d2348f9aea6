/* 01_direct_pixels.c: direct convolution into pixels: forward, and the gradient of the input. */
#include "01_direct.h"

#include <omp.h>

/* Padded input that stays in the second-level cache beside the weights. */
enum { SLICE_BYTES = 192 << 10 };

/* What stays the same for all tiles of a block of output channels. */
typedef struct job {
    const tl_real *x; /* padded copy, from the first input channel of the slice on */
    int in, r, s, pitch;
    size_t plane;
    const tl_real *w, *b; /* of the block's first output channel; b may be NULL */
    ptrdiff_t w_out, w_in, w_tap;
    tl_real *y; /* the block's first plane */
    size_t y_plane;
    int accumulate;
} job;

/* A run of vectors of one output plane: where each is read (first tap) and written, and how many of
 * its lanes belong to the row. */
typedef struct spot {
    size_t x_at[4], y_at[4];
    int lanes[4], whole; /* whole: every vector has all its lanes */
} spot;

/* y[k][v] (+)= sum[k][v] + b[k]; lanes beyond the end of a row are dropped. */
TL_DIRECT_INLINE void emit(const job *j, const spot *at, tl_direct_vec sum[4][4],
                           const int channels, const int vectors) {
    for (int k = 0; k < channels; k++) {
        tl_real *y = j->y + (size_t)k * j->y_plane, bias = j->b ? j->b[k] : 0;
        for (int v = 0; v < vectors; v++) {
            tl_real *to = y + at->y_at[v];
            tl_direct_vec out = sum[k][v] + bias;
            if (at->whole) {
                tl_direct_store(to, j->accumulate ? tl_direct_load(to) + out : out);
            } else {
                tl_real lane[TL_DIRECT_LANES];
                tl_direct_store(lane, out);
                for (int i = 0; i < at->lanes[v]; i++)
                    to[i] = j->accumulate ? to[i] + lane[i] : lane[i];
            }
        }
    }
}

/* One tap: sum[k][v] += weight k * pixels v. The fewer of the two wait in registers, the others
 * pass through one: 12 sums leave 4 of AVX2's 16 registers. */
TL_DIRECT_INLINE void add_tap(tl_direct_vec sum[4][4], const tl_real *w, ptrdiff_t w_out,
                              const tl_real *x, const size_t *x_at, const int channels,
                              const int vectors) {
    if (vectors <= channels) {
        tl_direct_vec pixels[4];
        for (int v = 0; v < vectors; v++) pixels[v] = tl_direct_load_once(x + x_at[v]);
        for (int k = 0; k < channels; k++)
            for (int v = 0; v < vectors; v++) sum[k][v] += w[k * w_out] * pixels[v];
    } else {
        for (int v = 0; v < vectors; v++) {
            tl_direct_vec pixels = tl_direct_load_once(x + x_at[v]);
            for (int k = 0; k < channels; k++) sum[k][v] += w[k * w_out] * pixels;
        }
    }
}

/* Sums over i, r, s of weight(k, i, r, s) * (the vector of x at x_at[v], moved by the tap).
 *
 * Each tap costs `vectors` loads and `channels` broadcasts for channels * vectors multiply-adds:
 * 7 loads for 12 at 4 x 3, which is what two loads and two multiply-adds a cycle can feed. Twelve
 * independent sums also hide the latency of an addition. `channels`, `vectors` and `three` are
 * constants where this is inlined. */
TL_DIRECT_INLINE void tile(const job *j, const spot *at, const int channels, const int vectors,
                           const int three) {
    const ptrdiff_t w_out = j->w_out, w_tap = j->w_tap;
    const int rows = j->r, pitch = j->pitch;
    tl_direct_vec sum[4][4];
    size_t x_at[4];
    for (int v = 0; v < vectors; v++) x_at[v] = at->x_at[v];
    for (int k = 0; k < channels; k++)
        for (int v = 0; v < vectors; v++) sum[k][v] = (tl_direct_vec){0};
    for (int i = 0; i < j->in; i++) {
        const tl_real *tap = j->w + i * j->w_in;
        const tl_real *row = j->x + (size_t)i * j->plane;
        for (int r = 0; r < rows; r++, row += pitch) {
            if (three) {
                add_tap(sum, tap, w_out, row, x_at, channels, vectors);
                add_tap(sum, tap + w_tap, w_out, row + 1, x_at, channels, vectors);
                add_tap(sum, tap + 2 * w_tap, w_out, row + 2, x_at, channels, vectors);
                tap += 3 * w_tap;
            } else {
                for (int t = 0; t < j->s; t++, tap += w_tap)
                    add_tap(sum, tap, w_out, row + t, x_at, channels, vectors);
            }
        }
    }
    emit(j, at, sum, channels, vectors);
}

/* Filters of three taps a row, by far the most common, get a tile with the taps unrolled. */
#define TILE(channels, vectors)                                                                    \
    static void tile_##channels##x##vectors(const job *j, const spot *at) {                        \
        if (j->s == 3)                                                                             \
            tile(j, at, channels, vectors, 1);                                                     \
        else                                                                                       \
            tile(j, at, channels, vectors, 0);                                                     \
    }
TILE(1, 1)
TILE(1, 2)
TILE(1, 4)
TILE(2, 1)
TILE(2, 2)
TILE(2, 4)
TILE(3, 1)
TILE(3, 2)
TILE(3, 4)
TILE(4, 1)
TILE(4, 2)
TILE(4, 3)

typedef void (*tile_function)(const job *, const spot *);

/* By channels - 1; each row from the widest tile to the narrowest. */
static const struct {
    int vectors;
    tile_function run;
} tiles[4][3] = {
    {{4, tile_1x4}, {2, tile_1x2}, {1, tile_1x1}},
    {{4, tile_2x4}, {2, tile_2x2}, {1, tile_2x1}},
    {{4, tile_3x4}, {2, tile_3x2}, {1, tile_3x1}},
    {{3, tile_4x3}, {2, tile_4x2}, {1, tile_4x1}},
};

/* The next `vectors` vectors after (*row, *column), which move on. */
static void next_spot(spot *to, int vectors, int *row, int *column, const tl_direct_sum *d,
                      int pitch) {
    to->whole = 1;
    for (int v = 0; v < vectors; v++) {
        int left = d->q - *column;
        to->x_at[v] = (size_t)*row * (size_t)pitch + (size_t)*column;
        to->y_at[v] = (size_t)*row * (size_t)d->q + (size_t)*column;
        to->lanes[v] = left < TL_DIRECT_LANES ? left : TL_DIRECT_LANES;
        to->whole &= left >= TL_DIRECT_LANES;
        *column += TL_DIRECT_LANES;
        if (*column >= d->q) {
            *column = 0;
            (*row)++;
        }
    }
}

/* All pixels of a block of `channels` output planes. */
static void planes(const tl_direct_sum *d, const job *j, int channels) {
    int left = (d->q + TL_DIRECT_LANES - 1) / TL_DIRECT_LANES * d->p;
    int row = 0, column = 0, choice = 0;
    while (left > 0) {
        while (tiles[channels - 1][choice].vectors > left) choice++;
        int vectors = tiles[channels - 1][choice].vectors;
        spot at;
        next_spot(&at, vectors, &row, &column, d, j->pitch);
        tiles[channels - 1][choice].run(j, &at);
        left -= vectors;
    }
}

/* One image. Many input channels are taken in slices that stay in the second-level cache while all
 * output channels read them; later slices add to what the first one wrote. */
static void image(const tl_direct_sum *d, const tl_direct_layout *a, const tl_real *padded,
                  tl_real *y) {
    size_t fit = SLICE_BYTES / (a->plane * sizeof(tl_real));
    int most = fit < 1 ? 1 : fit < (size_t)d->in ? (int)fit : d->in;
    job j = {.r = d->r,
             .s = d->s,
             .pitch = a->pitch,
             .plane = a->plane,
             .w_out = d->w_out,
             .w_in = d->w_in,
             .w_tap = d->w_tap,
             .y_plane = (size_t)d->p * (size_t)d->q};
    for (int i = 0; i < d->in; i += j.in) {
        j.in = tl_direct_block(d->in - i, most);
        j.x = padded + (size_t)i * a->plane;
        j.accumulate = d->accumulate || i > 0;
        for (int k = 0, channels; k < d->out; k += channels) {
            channels = tl_direct_block(d->out - k, 4);
            j.w = d->weights + k * d->w_out + i * d->w_in;
            j.b = d->b && i == 0 ? d->b + k : NULL;
            j.y = y + (size_t)k * j.y_plane;
            planes(d, &j, channels);
        }
    }
}

static tl_direct_layout layout_of(const tl_direct_sum *d) {
    return tl_direct_layout_of(d->h, d->w, d->pad_h, d->pad_w, d->q, d->s);
}

size_t tl_direct_sum_scratch(const tl_direct_sum *d) {
    return tl_direct_round((size_t)d->in * layout_of(d).plane);
}

/* Images are independent, so the bits do not depend on who computes which. */
void tl_direct_sum_run(const tl_direct_sum *d, tl_real *y, const tl_real *x, int workers,
                       tl_real *scratch) {
    tl_direct_layout a = layout_of(d);
    size_t each = tl_direct_sum_scratch(d);
    size_t x_image = (size_t)d->in * (size_t)d->h * (size_t)d->w;
    size_t y_image = (size_t)d->out * (size_t)d->p * (size_t)d->q;
#pragma omp parallel num_threads(workers)
    {
        tl_real *padded = scratch + (size_t)omp_get_thread_num() * each;
        /* the borders stay zero from image to image */
        memset(padded, 0, each * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int n = 0; n < d->n; n++) {
            tl_direct_pad(padded, x + (size_t)n * x_image, d->in, &a);
            image(d, &a, padded, y + (size_t)n * y_image);
        }
    }
}
