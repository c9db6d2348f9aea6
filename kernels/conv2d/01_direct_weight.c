/* 01_direct_weight.c: direct convolution, the gradient of the weights. */
#include "01_direct.h"

#include <omp.h>

/* The sums of one register block run over the pixels of a group of images: long enough that adding
 * up the lanes at the end costs little, short enough that the group stays in the first-level cache.
 */
enum { GROUP_PIXELS = 512 };

/* Tasks that share out well, and the most that all partial gradients together may take: beyond it
 * the output channels are shared out instead, which needs no partial gradients but pads the same
 * images once for every share. */
enum { TASKS = 16, PARTIAL_REALS = 1 << 18 };

/* How the work is cut, from the geometry alone: so the order of every sum is fixed. */
typedef struct cut {
    int group;  /* images that one register block runs over */
    int chunk;  /* images that add up in one partial gradient: whole groups */
    int chunks; /* partial gradients, added in index order at the end */
    int share;  /* output channels of one task */
    int shares;
} cut;

static int divide_up(int a, int b) { return (a - 1) / b + 1; }

static cut cut_of(const tl_conv2d_geom *g) {
    size_t pixels = (size_t)g->p * (size_t)g->q, fit = PARTIAL_REALS / tl_conv2d_w_size(g);
    int most = fit < 1 ? 1 : fit < TASKS ? (int)fit : TASKS;
    cut c;
    c.group = pixels < GROUP_PIXELS ? divide_up(GROUP_PIXELS, (int)pixels) : 1;
    if (c.group > g->n) c.group = g->n;
    c.chunk = divide_up(divide_up(g->n, c.group), most) * c.group;
    c.chunks = divide_up(g->n, c.chunk);
    /* a multiple of 12 is whole register blocks for filters of every width */
    c.share = most < TASKS ? divide_up(divide_up(g->k, divide_up(TASKS, most)), 12) * 12 : g->k;
    if (c.share > g->k) c.share = g->k;
    c.shares = divide_up(g->k, c.share);
    return c;
}

/* The vectors of x and dy that one register block runs over: images x outer x inner of them, with
 * the steps in memory from one to the next. The inner loop goes along a row, or down the rows where
 * a row has but one vector. */
typedef struct group {
    const tl_real *x;  /* padded copies of one input channel, from the block's first tap on */
    const tl_real *dy; /* one output channel */
    int images, outer, inner;
    size_t x_image, x_outer, x_inner;
    size_t dy_image, dy_outer, dy_inner;
    size_t dy_plane; /* from one output channel to the next */
    int lanes;       /* that count in each vector */
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
    const size_t plane = a->dy_plane, x_step = a->x_inner, dy_step = a->dy_inner;
    for (int n = 0; n < a->images; n++)
        for (int o = 0; o < a->outer; o++) {
            const tl_real *x = a->x + (size_t)n * a->x_image + (size_t)o * a->x_outer;
            const tl_real *dy = a->dy + (size_t)n * a->dy_image + (size_t)o * a->dy_outer;
            for (int i = 0; i < a->inner; i++, x += x_step, dy += dy_step) {
                tl_direct_vec pixels[TL_DIRECT_MAX_TAPS];
                for (int t = 0; t < s; t++) pixels[t] = tl_direct_load_once(x + t);
                for (int k = 0; k < channels; k++) {
                    tl_direct_vec gradient = tl_direct_load_once(dy + (size_t)k * plane);
                    for (int t = 0; t < s; t++) sum[k][t] = vec_fma(gradient, pixels[t], sum[k][t]);
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
    return tl_direct_layout_of(g->h, g->w, g->pad_h, g->pad_w);
}

/* Padded copies of the images of a group, then the tails of four channels of dy. */
static size_t padded_size(const tl_conv2d_geom *g) {
    size_t planes = (size_t)cut_of(g).group * (size_t)g->c;
    return tl_direct_round(planes * layout_of(g).plane + (size_t)TL_DIRECT_LANES);
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

/* The whole vectors of dy, read in place. */
static group whole_vectors(const tl_real *dy, int images, const tl_direct_layout *a,
                           const tl_conv2d_geom *g) {
    size_t plane = (size_t)g->p * (size_t)g->q, pitch = (size_t)a->pitch, q = (size_t)g->q;
    group v = {.dy = dy,
               .images = images,
               .outer = g->p,
               .inner = g->q / TL_DIRECT_LANES,
               .x_image = (size_t)g->c * a->plane,
               .x_outer = pitch,
               .x_inner = (size_t)TL_DIRECT_LANES,
               .dy_image = (size_t)g->k * plane,
               .dy_outer = q,
               .dy_inner = (size_t)TL_DIRECT_LANES,
               .dy_plane = plane,
               .lanes = TL_DIRECT_LANES};
    if (v.inner == 1) {
        v.inner = g->p, v.x_inner = pitch, v.dy_inner = q;
        v.outer = 1;
    }
    return v;
}

/* The tails of `channels` planes, as copy_tails leaves them. */
static group tail_vectors(const tl_real *tail, int images, int channels, const tl_direct_layout *a,
                          const tl_conv2d_geom *g) {
    size_t plane = (size_t)g->p * (size_t)TL_DIRECT_LANES;
    return (group){.dy = tail,
                   .images = images,
                   .outer = 1,
                   .inner = g->p,
                   .x_image = (size_t)g->c * a->plane,
                   .x_inner = (size_t)a->pitch,
                   .dy_image = (size_t)channels * plane,
                   .dy_inner = (size_t)TL_DIRECT_LANES,
                   .dy_plane = plane,
                   .lanes = g->q % TL_DIRECT_LANES};
}

/* partial[first_k .. end_k, C,R,S] += the gradient of `images` images, whose padded copies lie at
 * `padded`. */
static void add_group(tl_real *partial, const tl_real *dy, const tl_real *padded, tl_real *tail,
                      int images, int first_k, int end_k, const tl_direct_layout *a,
                      const tl_conv2d_geom *g) {
    size_t plane = (size_t)g->p * (size_t)g->q, filter = tl_conv2d_col_rows(g);
    int rest = g->q % TL_DIRECT_LANES, rows = g->c * g->r;
    for (int k = first_k, channels; k < end_k; k += channels) {
        channels = tl_direct_block(end_k - k, most_channels[g->s - 1]);
        block_function run = blocks[g->s - 1][channels - 1];
        const tl_real *first = dy + (size_t)k * plane;
        group body = whole_vectors(first, images, a, g);
        group end = tail_vectors(tail, images, channels, a, g);
        if (rest) copy_tails(tail, first, images, channels, g);
        for (int row = 0; row < rows; row++) { /* of the filter: row = c*R + r */
            tl_real *sums = partial + (size_t)k * filter + (size_t)(row * g->s);
            body.x = padded + (size_t)(row / g->r) * a->plane + (size_t)(row % g->r * a->pitch);
            end.x = body.x + (g->q - rest);
            if (g->q > rest) run(&body, sums, filter);
            if (rest) run(&end, sums, filter);
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

/* One task: the partial gradient of one chunk of images for one share of the output channels. */
static void run_task(int task, const cut *c, tl_real *partials, const tl_real *dy, const tl_real *x,
                     tl_real *padded, tl_real *tail, const tl_conv2d_geom *g) {
    const tl_direct_layout a = layout_of(g);
    size_t x_image = (size_t)g->c * (size_t)g->h * (size_t)g->w;
    size_t y_image = (size_t)g->k * (size_t)g->p * (size_t)g->q;
    size_t size = tl_conv2d_w_size(g), filter = tl_conv2d_col_rows(g);
    int chunk = task / c->shares, first = chunk * c->chunk, k = task % c->shares * c->share;
    int end = first + c->chunk < g->n ? first + c->chunk : g->n;
    int end_k = k + c->share < g->k ? k + c->share : g->k;
    tl_real *partial = partials + (size_t)chunk * tl_direct_round(size);
    memset(partial + (size_t)k * filter, 0, (size_t)(end_k - k) * filter * sizeof(tl_real));
    for (int n = first; n < end; n += c->group) {
        int images = n + c->group < end ? c->group : end - n;
        tl_direct_pad(padded, x + (size_t)n * x_image, images * g->c, &a);
        add_group(partial, dy + (size_t)n * y_image, padded, tail, images, k, end_k, &a, g);
    }
}

void tl_direct_weight_run(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy, const tl_real *x,
                          int workers, tl_real *scratch) {
    const cut c = cut_of(g);
    size_t each = tl_direct_weight_scratch(g), copies = padded_size(g);
    tl_real *slices = scratch + tl_direct_weight_partials(g);
#pragma omp parallel num_threads(workers)
    {
        tl_real *padded = slices + (size_t)omp_get_thread_num() * each;
        /* the borders stay zero from group to group */
        memset(padded, 0, copies * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int task = 0; task < c.chunks * c.shares; task++)
            run_task(task, &c, scratch, dy, x, padded, padded + copies, g);
    }
    add_partials(dw, scratch, c.chunks, tl_conv2d_w_size(g), workers);
}
