/* 01_direct_pixels.c: direct convolution into pixels: forward, and the gradient of the input. */
#include "01_direct.h"

#include <omp.h>

#ifndef MI
#define MI 48
#endif
enum { MOST_INPUTS = MI };

/* One image's share of the work, as the register tiles see it. */
typedef struct job {
    const tl_real *x; /* padded copy */
    int in, r, s, pitch;
    size_t plane;
    ptrdiff_t w_out, w_in, w_tap;
} job;

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

/* result[k][v] = sum over i, r, s of weight(k, i, r, s) * (vector of x at x_at[v], moved by the
 * tap).
 *
 * Each tap costs `vectors` loads and `channels` broadcasts for channels * vectors multiply-adds:
 * 7 loads for 12 at 4 x 3, which is what two loads and two multiply-adds a cycle can feed. Twelve
 * sums, three pixels and one weight fill the 16 registers of AVX2; twelve independent sums also
 * hide the latency of an addition. `channels`, `vectors` and `three` are constants where this is
 * inlined. */
TL_DIRECT_INLINE void tile(const job *j, const tl_real *w, const size_t *x_at,
                           tl_direct_vec *result, const int channels, const int vectors,
                           const int three) {
    const ptrdiff_t w_out = j->w_out, w_tap = j->w_tap;
    const int rows = j->r, pitch = j->pitch;
    tl_direct_vec sum[4][4];
    size_t at[4];
    for (int v = 0; v < vectors; v++) at[v] = x_at[v];
    for (int k = 0; k < channels; k++)
        for (int v = 0; v < vectors; v++) sum[k][v] = (tl_direct_vec){0};
    for (int i = 0; i < j->in; i++) {
        const tl_real *tap = w + i * j->w_in;
        const tl_real *row = j->x + (size_t)i * j->plane;
        for (int r = 0; r < rows; r++, row += pitch) {
            if (three) {
                add_tap(sum, tap, w_out, row, at, channels, vectors);
                add_tap(sum, tap + w_tap, w_out, row + 1, at, channels, vectors);
                add_tap(sum, tap + 2 * w_tap, w_out, row + 2, at, channels, vectors);
                tap += 3 * w_tap;
            } else {
                for (int t = 0; t < j->s; t++, tap += w_tap)
                    add_tap(sum, tap, w_out, row + t, at, channels, vectors);
            }
        }
    }
    for (int k = 0; k < channels; k++)
        for (int v = 0; v < vectors; v++) result[k * vectors + v] = sum[k][v];
}

/* Filters of three taps a row, by far the most common, get a tile with the taps unrolled. */
#define TILE(channels, vectors)                                                                    \
    static void tile_##channels##x##vectors(const job *j, const tl_real *w, const size_t *x_at,    \
                                            tl_direct_vec *result) {                               \
        if (j->s == 3)                                                                             \
            tile(j, w, x_at, result, channels, vectors, 1);                                        \
        else                                                                                       \
            tile(j, w, x_at, result, channels, vectors, 0);                                        \
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

typedef void (*tile_function)(const job *, const tl_real *, const size_t *, tl_direct_vec *);

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

/* A run of vectors of one output plane: where each is read (first tap) and written, and how many of
 * its lanes belong to the row. */
typedef struct spot {
    size_t x_at[4], y_at[4];
    int lanes[4], whole; /* whole: every vector has all its lanes */
} spot;

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

/* y[k][v] (+)= result[k][v] + b[k]; lanes beyond the end of a row are dropped. */
static void emit(tl_real *y, size_t y_plane, const tl_direct_vec *result, const tl_real *b,
                 const spot *at, int channels, int vectors, int accumulate) {
    for (int k = 0; k < channels; k++, y += y_plane) {
        tl_real bias = b ? b[k] : 0;
        for (int v = 0; v < vectors; v++) {
            tl_real *to = y + at->y_at[v];
            tl_direct_vec out = *result++ + bias;
            if (at->whole)
                tl_direct_store(to, accumulate ? tl_direct_load(to) + out : out);
            else
                for (int i = 0; i < at->lanes[v]; i++) to[i] = accumulate ? to[i] + out[i] : out[i];
        }
    }
}

/* All pixels of `channels` planes of y, from `w` and `b` of the first of them on. */
static void planes(const tl_direct_sum *d, const job *j, tl_real *y, const tl_real *w,
                   const tl_real *b, int channels, int accumulate) {
    size_t y_plane = (size_t)d->p * (size_t)d->q;
    int left = (d->q + TL_DIRECT_LANES - 1) / TL_DIRECT_LANES * d->p;
    int row = 0, column = 0, choice = 0;
    while (left > 0) {
        while (tiles[channels - 1][choice].vectors > left) choice++;
        int vectors = tiles[channels - 1][choice].vectors;
        tl_direct_vec result[16];
        spot at;
        next_spot(&at, vectors, &row, &column, d, j->pitch);
        tiles[channels - 1][choice].run(j, w, at.x_at, result);
        emit(y, y_plane, result, b, &at, channels, vectors, accumulate);
        left -= vectors;
    }
}

/* One image. The input channels are taken in slices whose rows and weights stay in the first-level
 * cache while a block of output channels is made; later slices add to what the first one wrote. */
static void image(const tl_direct_sum *d, job j, tl_real *y) {
    size_t y_plane = (size_t)d->p * (size_t)d->q;
    const tl_real *padded = j.x;
    for (int i = 0; i < d->in; i += j.in) {
        j.in = tl_direct_block(d->in - i, MOST_INPUTS);
        j.x = padded + (size_t)i * j.plane;
        for (int k = 0, channels; k < d->out; k += channels) {
            channels = tl_direct_block(d->out - k, 4);
            planes(d, &j, y + (size_t)k * y_plane, d->weights + k * d->w_out + i * d->w_in,
                   d->b && i == 0 ? d->b + k : NULL, channels, d->accumulate || i > 0);
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
        job j = {padded, d->in, d->r, d->s, a.pitch, a.plane, d->w_out, d->w_in, d->w_tap};
        /* the borders stay zero from image to image */
        memset(padded, 0, each * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int n = 0; n < d->n; n++) {
            tl_direct_pad(padded, x + (size_t)n * x_image, d->in, &a);
            image(d, j, y + (size_t)n * y_image);
        }
    }
}
