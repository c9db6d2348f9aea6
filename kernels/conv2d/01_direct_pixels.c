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
    tl_real *y; /* the block's first plane, rows of whole vectors */
    size_t y_plane;
    int accumulate;
} job;

/* y[k][v] (+)= sum[k][v] + b[k]. (Both loops unrolled: else gcc 12 copies the sums to the stack, to
 * number them there.) */
TL_DIRECT_INLINE void emit(const job *j, size_t y_at, tl_direct_vec sum[4][4], const int channels,
                           const int vectors) {
#pragma GCC unroll 4
    for (int k = 0; k < channels; k++) {
        tl_real *y = j->y + (size_t)k * j->y_plane + y_at, bias = j->b ? j->b[k] : 0;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++, y += TL_DIRECT_LANES) {
            tl_direct_vec out = sum[k][v] + bias;
            tl_direct_store(y, j->accumulate ? tl_direct_load(y) + out : out);
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
            for (int v = 0; v < vectors; v++)
                sum[k][v] = vec_fma(vec_all(w[k * w_out]), pixels[v], sum[k][v]);
    } else {
        for (int v = 0; v < vectors; v++) {
            tl_direct_vec pixels = tl_direct_load_once(x + x_at[v]);
            for (int k = 0; k < channels; k++)
                sum[k][v] = vec_fma(vec_all(w[k * w_out]), pixels, sum[k][v]);
        }
    }
}

/* Sums over i, r, s of weight(k, i, r, s) * (the vector of x at x_at[v], moved by the tap).
 *
 * Each tap costs `vectors` loads and `channels` broadcasts for channels * vectors multiply-adds:
 * 7 loads for 12 at 4 x 3, which is what two loads and two multiply-adds a cycle can feed. Twelve
 * independent sums also hide the latency of an addition. `channels` and `vectors` are constants
 * where this is inlined. */
TL_DIRECT_INLINE void tile(const job *j, const size_t *from, size_t y_at, const int channels,
                           const int vectors) {
    const ptrdiff_t w_out = j->w_out, w_tap = j->w_tap;
    const int rows = j->r, taps = j->s, pitch = j->pitch;
    tl_direct_vec sum[4][4];
    size_t x_at[4];
    for (int v = 0; v < vectors; v++) x_at[v] = from[v];
    for (int k = 0; k < channels; k++)
        for (int v = 0; v < vectors; v++) sum[k][v] = (tl_direct_vec){0};
    for (int i = 0; i < j->in; i++) {
        const tl_real *tap = j->w + i * j->w_in;
        const tl_real *row = j->x + (size_t)i * j->plane;
        for (int r = 0; r < rows; r++, row += pitch) {
            /* (not unrolled: there gcc 12 kept one of the twelve sums in memory, and each of its
             * multiply-adds waited for the store of the one before) */
#pragma GCC unroll 1
            for (int t = 0; t < taps; t++, tap += w_tap)
                add_tap(sum, tap, w_out, row + t, x_at, channels, vectors);
        }
    }
    emit(j, y_at, sum, channels, vectors);
}

#define TILE(channels, vectors)                                                                    \
    static void tile_##channels##x##vectors(const job *j, const size_t *x_at, size_t y_at) {       \
        tile(j, x_at, y_at, channels, vectors);                                                    \
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

typedef void (*tile_function)(const job *, const size_t *, size_t);

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

/* All `rows` rows of a block of output channels, per_row vectors each. */
static void block(const job *j, int channels, int rows, int per_row) {
    int row = 0, column = 0, choice = 0;
    for (int at = 0, vectors; at < rows * per_row; at += vectors) {
        while (tiles[channels - 1][choice].vectors > rows * per_row - at) choice++;
        vectors = tiles[channels - 1][choice].vectors;
        size_t x_at[4];
        for (int v = 0; v < vectors; v++) {
            x_at[v] = (size_t)row * (size_t)j->pitch + (size_t)(column * TL_DIRECT_LANES);
            if (++column == per_row) column = 0, row++;
        }
        tiles[channels - 1][choice].run(j, x_at, (size_t)(at * TL_DIRECT_LANES));
    }
}

/* Vectors in a plane whose rows are no whole vectors: it is made as one long row, the filter
 * running over the ends of the rows, and what lies between them is dropped afterwards. That wastes
 * pitch - q pixels a row, less than a row filled up to whole vectors would on most widths. */
static int long_row(const tl_direct_sum *d, const tl_direct_layout *a) {
    return (d->p * a->pitch + TL_DIRECT_LANES - 1) / TL_DIRECT_LANES;
}
static int ragged(const tl_direct_sum *d) { return d->q % TL_DIRECT_LANES != 0; }

/* y[k,p,q] (+)= the first q elements of each row of `from`. */
static void copy_rows(tl_real *y, const tl_real *from, int channels, size_t from_plane, int pitch,
                      int accumulate, const tl_direct_sum *d) {
    for (int k = 0; k < channels; k++, from += from_plane) {
        const tl_real *row = from;
        for (int p = 0; p < d->p; p++, y += d->q, row += pitch)
            for (int q = 0; q < d->q; q++) y[q] = accumulate ? y[q] + row[q] : row[q];
    }
}

/* One image. Many input channels are taken in slices that stay in the second-level cache while all
 * output channels read them; later slices add to what the first one wrote. */
static void image(const tl_direct_sum *d, const tl_direct_layout *a, tl_real *y,
                  const tl_real *padded, tl_real *rows) {
    size_t y_plane = (size_t)d->p * (size_t)d->q, fit = SLICE_BYTES / (a->plane * sizeof(tl_real));
    int most = fit < 1 ? 1 : fit < (size_t)d->in ? (int)fit : d->in;
    job j = {.r = d->r,
             .s = d->s,
             .pitch = a->pitch,
             .plane = a->plane,
             .w_out = d->w_out,
             .w_in = d->w_in,
             .w_tap = d->w_tap};
    for (int i = 0; i < d->in; i += j.in) {
        int accumulate = d->accumulate || i > 0;
        j.in = tl_direct_block(d->in - i, most);
        j.x = padded + (size_t)i * a->plane;
        for (int k = 0, channels; k < d->out; k += channels) {
            channels = tl_direct_block(d->out - k, 4);
            j.w = d->weights + k * d->w_out + i * d->w_in;
            j.b = d->b && i == 0 ? d->b + k : NULL;
            j.y = y + (size_t)k * y_plane;
            j.y_plane = y_plane;
            j.accumulate = accumulate;
            if (!ragged(d)) {
                block(&j, channels, d->p, d->q / TL_DIRECT_LANES);
                continue;
            }
            tl_real *to = j.y;
            j.y = rows;
            j.y_plane = (size_t)(long_row(d, a) * TL_DIRECT_LANES);
            j.accumulate = 0;
            block(&j, channels, 1, long_row(d, a));
            copy_rows(to, rows, channels, j.y_plane, a->pitch, accumulate, d);
        }
    }
}

static tl_direct_layout layout_of(const tl_direct_sum *d) {
    return tl_direct_layout_of(d->h, d->w, d->pad_h, d->pad_w);
}

/* The padded copy of one image. The long row reads beyond the last plane: by the taps of the ends
 * that are dropped, and by less than a vector. */
static size_t padded_size(const tl_direct_sum *d) {
    return tl_direct_round((size_t)d->in * layout_of(d).plane +
                           (size_t)(TL_DIRECT_LANES + TL_DIRECT_MAX_TAPS));
}

size_t tl_direct_sum_scratch(const tl_direct_sum *d) {
    tl_direct_layout a = layout_of(d);
    size_t rows = ragged(d) ? (size_t)(4 * TL_DIRECT_LANES) * (size_t)long_row(d, &a) : 0;
    return padded_size(d) + tl_direct_round(rows);
}

/* Images are independent, so the bits do not depend on who computes which. */
void tl_direct_sum_run(const tl_direct_sum *d, tl_real *y, const tl_real *x, int workers,
                       tl_real *scratch) {
    const tl_direct_layout a = layout_of(d);
    size_t each = tl_direct_sum_scratch(d), copy = padded_size(d);
    size_t x_image = (size_t)d->in * (size_t)d->h * (size_t)d->w;
    size_t y_image = (size_t)d->out * (size_t)d->p * (size_t)d->q;
#pragma omp parallel num_threads(workers)
    {
        tl_real *padded = scratch + (size_t)omp_get_thread_num() * each;
        /* the borders stay zero from image to image */
        memset(padded, 0, copy * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int n = 0; n < d->n; n++) {
            tl_direct_pad(padded, x + (size_t)n * x_image, d->in, &a);
            image(d, &a, y + (size_t)n * y_image, padded, padded + copy);
        }
    }
}
