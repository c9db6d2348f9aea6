/* 01_direct_weight.c: direct convolution, the gradient of the weights. */
#include "01_direct.h"

#include <omp.h>

/* The sums of one register block run over the pixels of a group of images: long enough that adding
 * up the lanes at the end costs little, short enough that the group stays in the first-level cache.
 */
enum { GROUP_PIXELS = 512, MOST_CHUNKS = 16 };

/* How the batch is cut, from the geometry alone: so the order of every sum is fixed. */
typedef struct cut {
    int group;  /* images that one register block runs over */
    int chunk;  /* images that add up in one partial gradient: whole groups */
    int chunks; /* partial gradients, added in index order at the end */
} cut;

static cut cut_of(const tl_conv2d_geom *g) {
    size_t pixels = (size_t)g->p * (size_t)g->q;
    cut c;
    c.group = pixels < GROUP_PIXELS ? (int)((GROUP_PIXELS + pixels - 1) / pixels) : 1;
    if (c.group > g->n) c.group = g->n;
    int groups = (g->n + c.group - 1) / c.group;
    c.chunk = (groups + MOST_CHUNKS - 1) / MOST_CHUNKS * c.group;
    c.chunks = (g->n + c.chunk - 1) / c.chunk;
    return c;
}

/* One group of images: full vectors of a row are read from dy in place, the rest of a row (if q is
 * no multiple of the vector) from `tail`, where the loads may run past the row. */
typedef struct group {
    const tl_real *x;  /* padded copies [images, c, rows, pitch] */
    size_t x_image;    /* from one image to the next */
    const tl_real *dy; /* one channel's plane of the first image, or its tail */
    size_t dy_image, dy_plane, dy_row;
    int images, p, vectors, lanes; /* vectors a row, and lanes that count in each */
    int pitch;
} group;

typedef tl_real half_vec __attribute__((vector_size(TL_DIRECT_BYTES / 2)));

/* The sum of all lanes of v, or of the first `lanes`. */
TL_DIRECT_INLINE tl_real add_all_lanes(tl_direct_vec v) {
    half_vec half[2], both;
    memcpy(half, &v, sizeof v);
    both = half[0] + half[1];
    tl_real total = 0;
    for (int i = 0; i < TL_DIRECT_LANES / 2; i++) total += both[i];
    return total;
}
TL_DIRECT_INLINE tl_real add_lanes(tl_direct_vec v, int lanes) {
    tl_real lane[TL_DIRECT_LANES], total = 0;
    tl_direct_store(lane, v);
    for (int i = 0; i < lanes; i++) total += lane[i];
    return total;
}

/* sums[k*s + t] += sum over images, p, q of dy[k][p,q] * x[p, q + t].
 *
 * channels + s loads for channels * s multiply-adds: 7 for 12 at 4 x 3. Lanes beyond the row's end
 * are left out when the lanes are added up, so a NaN in x reaches only the taps that see it. */
TL_DIRECT_INLINE void block(const group *a, tl_real *sums, size_t sums_step, const int channels,
                            const int s) {
    tl_direct_vec sum[4][TL_DIRECT_MAX_TAPS];
    for (int k = 0; k < channels; k++)
        for (int t = 0; t < s; t++) sum[k][t] = (tl_direct_vec){0};
    for (int n = 0; n < a->images; n++) {
        const tl_real *x = a->x + (size_t)n * a->x_image;
        const tl_real *dy = a->dy + (size_t)n * a->dy_image;
        for (int p = 0; p < a->p; p++, x += a->pitch, dy += a->dy_row) {
            for (int v = 0; v < a->vectors * TL_DIRECT_LANES; v += TL_DIRECT_LANES) {
                tl_direct_vec pixels[TL_DIRECT_MAX_TAPS];
                for (int t = 0; t < s; t++) pixels[t] = tl_direct_load_once(x + v + t);
                for (int k = 0; k < channels; k++) {
                    tl_direct_vec gradient = tl_direct_load_once(dy + (size_t)k * a->dy_plane + v);
                    for (int t = 0; t < s; t++) sum[k][t] += gradient * pixels[t];
                }
            }
        }
    }
    for (int k = 0; k < channels; k++, sums += sums_step)
        for (int t = 0; t < s; t++)
            sums[t] += a->lanes == TL_DIRECT_LANES ? add_all_lanes(sum[k][t])
                                                   : add_lanes(sum[k][t], a->lanes);
}

#define BLOCK(channels, s)                                                                         \
    static void block_##channels##x##s(const group *a, tl_real *sums, size_t sums_step) {          \
        block(a, sums, sums_step, channels, s);                                                    \
    }
BLOCK(1, 1)
BLOCK(2, 1)
BLOCK(3, 1)
BLOCK(4, 1)
BLOCK(1, 2)
BLOCK(2, 2)
BLOCK(3, 2)
BLOCK(4, 2)
BLOCK(1, 3)
BLOCK(2, 3)
BLOCK(3, 3)
BLOCK(4, 3)
BLOCK(1, 4)
BLOCK(2, 4)
BLOCK(3, 4)
BLOCK(1, 5)
BLOCK(2, 5)

typedef void (*block_function)(const group *, tl_real *, size_t);

/* By taps a row - 1 and channels - 1: never more than twelve sums, all in registers. */
static const block_function blocks[TL_DIRECT_MAX_TAPS][4] = {
    {block_1x1, block_2x1, block_3x1, block_4x1}, {block_1x2, block_2x2, block_3x2, block_4x2},
    {block_1x3, block_2x3, block_3x3, block_4x3}, {block_1x4, block_2x4, block_3x4, NULL},
    {block_1x5, block_2x5, NULL, NULL},
};
static const int most_channels[TL_DIRECT_MAX_TAPS] = {4, 4, 4, 3, 2};

static tl_direct_layout layout_of(const tl_conv2d_geom *g) {
    return tl_direct_layout_of(g->h, g->w, g->pad_h, g->pad_w, g->q, g->s);
}

/* Padded copies of the images of a group, then the tails of four channels of dy. */
static size_t padded_size(const tl_conv2d_geom *g) {
    return tl_direct_round((size_t)cut_of(g).group * (size_t)g->c * layout_of(g).plane);
}
size_t tl_direct_weight_scratch(const tl_conv2d_geom *g) {
    size_t tails = (size_t)cut_of(g).group * 4 * (size_t)g->p * (size_t)TL_DIRECT_LANES;
    return padded_size(g) + (g->q % TL_DIRECT_LANES ? tl_direct_round(tails) : 0);
}

size_t tl_direct_weight_partials(const tl_conv2d_geom *g) {
    return (size_t)cut_of(g).chunks * tl_direct_round(tl_conv2d_w_size(g));
}

/* The last q % lanes pixels of each row of `channels` planes, each in a vector filled up with 0. */
static void copy_tails(tl_real *tail, const tl_real *dy, int images, int channels,
                       const tl_conv2d_geom *g) {
    size_t plane = (size_t)g->p * (size_t)g->q;
    int some = g->q % TL_DIRECT_LANES;
    for (int n = 0; n < images; n++) {
        const tl_real *row = dy + (size_t)n * (size_t)g->k * plane + (size_t)(g->q - some);
        for (int i = 0; i < channels * g->p; i++, row += g->q, tail += TL_DIRECT_LANES)
            for (int lane = 0; lane < TL_DIRECT_LANES; lane++)
                tail[lane] = lane < some ? row[lane] : 0;
    }
}

/* partial[K,C,R,S] += the gradient of `images` images, whose padded copies lie at `padded`. */
static void add_group(tl_real *partial, const tl_real *dy, const tl_real *padded, tl_real *tail,
                      int images, const tl_direct_layout *layout, const tl_conv2d_geom *g) {
    size_t plane = (size_t)g->p * (size_t)g->q, taps = (size_t)g->r * (size_t)g->s;
    size_t filter = (size_t)g->c * taps;
    int full = g->q / TL_DIRECT_LANES, some = g->q % TL_DIRECT_LANES;
    for (int k = 0, channels; k < g->k; k += channels) {
        channels = tl_direct_block(g->k - k, most_channels[g->s - 1]);
        block_function run = blocks[g->s - 1][channels - 1];
        const tl_real *first = dy + (size_t)k * plane;
        group whole = {.x_image = (size_t)g->c * layout->plane,
                       .dy = first,
                       .dy_image = (size_t)g->k * plane,
                       .dy_plane = plane,
                       .dy_row = (size_t)g->q,
                       .images = images,
                       .p = g->p,
                       .vectors = full,
                       .lanes = TL_DIRECT_LANES,
                       .pitch = layout->pitch};
        group rest = whole;
        if (some) {
            copy_tails(tail, first, images, channels, g);
            rest.dy = tail;
            rest.dy_row = (size_t)TL_DIRECT_LANES;
            rest.dy_plane = (size_t)g->p * rest.dy_row;
            rest.dy_image = (size_t)channels * rest.dy_plane;
            rest.vectors = 1;
            rest.lanes = some;
        }
        for (int c = 0; c < g->c; c++)
            for (int r = 0; r < g->r; r++) {
                tl_real *sums =
                    partial + (size_t)k * filter + (size_t)c * taps + (size_t)(r * g->s);
                whole.x = padded + (size_t)c * layout->plane + (size_t)(r * layout->pitch);
                rest.x = whole.x + full * TL_DIRECT_LANES;
                if (full) run(&whole, sums, filter);
                if (some) run(&rest, sums, filter);
            }
    }
}

/* dw += the partial gradients, in index order whatever thread made them. */
static void add_partials(tl_real *dw, const tl_real *partials, int chunks, size_t size,
                         int workers) {
    size_t step = tl_direct_round(size);
#pragma omp parallel for num_threads(workers) schedule(static)
    for (size_t i = 0; i < size; i++) {
        tl_real sum = 0;
        for (int chunk = 0; chunk < chunks; chunk++) sum += partials[(size_t)chunk * step + i];
        dw[i] += sum;
    }
}

void tl_direct_weight_run(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy, const tl_real *x,
                          int workers, tl_real *scratch) {
    const cut c = cut_of(g);
    const tl_direct_layout layout = layout_of(g);
    size_t size = tl_conv2d_w_size(g), each = tl_direct_weight_scratch(g);
    size_t x_image = (size_t)g->c * (size_t)g->h * (size_t)g->w;
    size_t y_image = (size_t)g->k * (size_t)g->p * (size_t)g->q;
    tl_real *slices = scratch + tl_direct_weight_partials(g);
#pragma omp parallel num_threads(workers)
    {
        tl_real *padded = slices + (size_t)omp_get_thread_num() * each;
        tl_real *tail = padded + padded_size(g);
        /* the borders stay zero from group to group */
        memset(padded, 0, padded_size(g) * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int chunk = 0; chunk < c.chunks; chunk++) {
            tl_real *partial = scratch + (size_t)chunk * tl_direct_round(size);
            int end = (chunk + 1) * c.chunk < g->n ? (chunk + 1) * c.chunk : g->n;
            memset(partial, 0, size * sizeof(tl_real));
            for (int n = chunk * c.chunk; n < end; n += c.group) {
                int images = n + c.group < end ? c.group : end - n;
                tl_direct_pad(padded, x + (size_t)n * x_image, images * g->c, &layout);
                add_group(partial, dy + (size_t)n * y_image, padded, tail, images, &layout, g);
            }
        }
    }
    add_partials(dw, scratch, c.chunks, size, workers);
}
