/* 03_winograd_weight.c: Winograd's convolution, the gradient of the weights: the transpose of the
 * forward transforms.
 *   dw = G' [ sum over squares of (B' x B) . (A dy A') ] G */
#include "03_winograd.h"

#include <omp.h>

/* Tasks that share out well, and the most that all partial gradients together may take: beyond it
 * the output channels are shared out instead, which transforms the same images once for every
 * share. */
enum { TASKS = 8, PARTIAL_REALS = 1 << 18 };

/* How the work is cut, from the geometry alone: so the order of every sum is fixed. */
typedef struct cut {
    tl_squares s;
    int chunk;  /* images that add up in one partial gradient: whole groups */
    int chunks; /* partial gradients, added in index order at the end */
    int share;  /* blocks of output channels of one task */
    int shares;
} cut;

static int divide_up(int a, int b) { return (a - 1) / b + 1; }
static int least(int a, int b) { return a < b ? a : b; }

/* partial[block of y][block of x][point][channel of x][channel of y] */
enum { BLOCK_SIZE = TL_POINTS * TL_CHANNELS * TL_CHANNELS };
static size_t row_size(const tl_conv2d_geom *g) {
    return (size_t)tl_channels_blocks(g->c) * BLOCK_SIZE;
}
static size_t partial_size(const tl_conv2d_geom *g) {
    return (size_t)tl_channels_blocks(g->k) * row_size(g);
}

static cut cut_of(const tl_conv2d_geom *g) {
    cut c = {.s = tl_squares_of(g->n, g->p, g->q, g->h, g->w, g->pad_h, g->pad_w)};
    size_t fit = PARTIAL_REALS / partial_size(g);
    int most = fit < 1 ? 1 : fit < TASKS ? (int)fit : TASKS, blocks = tl_channels_blocks(g->k);
    c.chunk = divide_up(divide_up(g->n, c.s.images), most) * c.s.images;
    c.chunks = divide_up(g->n, c.chunk);
    c.share = divide_up(blocks, divide_up(TASKS, c.chunks));
    c.shares = divide_up(blocks, c.share);
    return c;
}

/* points = A dy A', `step` reals from point to point: rows of squares from rows of q pixels, of
 * which `pixels` rows are there; the others are 0. */
static void squares_of_dy(tl_real *points, size_t step, const tl_real *dy, int rows, int pixels,
                          int across, int q) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < across; j++, points += TL_CHANNELS) {
            const tl_real *from = dy + (2 * i * q + 2 * j) * TL_CHANNELS;
            int right = 2 * j + 1 < q, below = 2 * i + 1 < pixels;
            for (int v = 0; v < TL_CHANNELS; v += TL_DIRECT_LANES) {
                tl_direct_vec d[2][2] = {{{0}}}, t[4][2];
                d[0][0] = tl_direct_load(from + v);
                if (right) d[0][1] = tl_direct_load(from + TL_CHANNELS + v);
                if (below) d[1][0] = tl_direct_load(from + q * TL_CHANNELS + v);
                if (right && below) d[1][1] = tl_direct_load(from + (q + 1) * TL_CHANNELS + v);
                for (int b = 0; b < 2; b++) {
                    t[0][b] = d[0][b], t[1][b] = d[0][b] + d[1][b];
                    t[2][b] = d[0][b] - d[1][b], t[3][b] = -d[1][b];
                }
                for (int a = 0; a < 4; a++) {
                    tl_real *to = points + (size_t)(4 * a) * step + v;
                    tl_direct_store(to, t[a][0]);
                    tl_direct_store(to + step, t[a][0] + t[a][1]);
                    tl_direct_store(to + 2 * step, t[a][0] - t[a][1]);
                    tl_direct_store(to + 3 * step, -t[a][1]);
                }
            }
        }
}

/* What a thread works with: a padded image, points of x and of a block of dy, its pixels. */
typedef struct desk {
    tl_real *padded, *x, *dy, *pixels;
} desk;

static size_t padded_size(const tl_conv2d_geom *g, const tl_squares *s) {
    return (size_t)tl_channels_blocks(g->c) * s->at.plane * TL_CHANNELS;
}
size_t tl_winograd_weight_scratch(const tl_conv2d_geom *g) {
    tl_squares s = cut_of(g).s;
    return padded_size(g, &s) + tl_squares_points(&s, tl_channels_blocks(g->c)) +
           tl_squares_points(&s, 1) + (size_t)(2 * s.rows * g->q) * TL_CHANNELS;
}
size_t tl_winograd_weight_partials(const tl_conv2d_geom *g) {
    return (size_t)cut_of(g).chunks * partial_size(g);
}

/* partial += what `rows` rows of squares of each of `images` images give, whose points of x are
 * there, for the output channels from k to end. */
static void add_rows(tl_real *partial, const cut *c, const desk *at, const tl_real *dy, int images,
                     int row, int rows, int k, int end, const tl_conv2d_geom *g) {
    const tl_squares *s = &c->s;
    size_t block = (size_t)s->most * TL_CHANNELS, plane = (size_t)g->p * (size_t)g->q;
    int blocks = tl_channels_blocks(g->c), pixels = least(2 * rows, g->p - 2 * row);
    for (; k < end; k += TL_CHANNELS) {
        for (int i = 0; i < images; i++) {
            tl_channels_gather(at->pixels,
                               dy + (size_t)(i * g->k + k) * plane + (size_t)(2 * row * g->q),
                               plane, tl_channels_left(end, k), pixels * g->q);
            squares_of_dy(at->dy + (size_t)(i * rows * s->across) * TL_CHANNELS, block, at->pixels,
                          rows, pixels, s->across, g->q);
        }
        for (int b = 0; b < blocks; b++)
            for (int point = 0; point < TL_POINTS; point++, partial += TL_CHANNELS * TL_CHANNELS) {
                const tl_channels_outer j = {.x = at->x + (size_t)(point * blocks + b) * block,
                                             .dy = at->dy + (size_t)point * block,
                                             .rows = 1,
                                             .q = images * rows * s->across};
                tl_channels_add_outer(&j, partial, tl_channels_left(g->c, b * TL_CHANNELS));
            }
    }
}

/* One task: the partial gradient of one chunk of images for one share of the output channels. */
static void run_task(int task, const cut *c, tl_real *partials, const tl_real *dy, const tl_real *x,
                     const desk *at, const tl_conv2d_geom *g) {
    const tl_squares *s = &c->s;
    size_t x_image = (size_t)g->c * (size_t)g->h * (size_t)g->w;
    size_t y_image = (size_t)g->k * (size_t)g->p * (size_t)g->q;
    size_t block = (size_t)s->most * TL_CHANNELS, plane = s->at.plane * TL_CHANNELS;
    int first = task / c->shares * c->chunk, k = task % c->shares * c->share * TL_CHANNELS;
    int end = least(first + c->chunk, g->n), end_k = least(k + c->share * TL_CHANNELS, g->k);
    int blocks = tl_channels_blocks(g->c);
    tl_real *partial = partials + (size_t)(task / c->shares) * partial_size(g) +
                       (size_t)(k / TL_CHANNELS) * row_size(g);
    memset(partial, 0, (size_t)tl_channels_blocks(end_k - k) * row_size(g) * sizeof(tl_real));
    for (int n = first, images; n < end; n += images) {
        images = least(s->images, end - n);
        for (int row = 0; row < s->down; row += s->rows) {
            int rows = least(s->rows, s->down - row);
            for (int i = 0; i < images; i++) {
                if (row == 0)
                    tl_channels_pad(at->padded, x + (size_t)(n + i) * x_image, g->c, &s->at);
                for (int b = 0; b < blocks; b++)
                    tl_squares_of_x(
                        at->x + (size_t)b * block + (size_t)(i * rows * s->across) * TL_CHANNELS,
                        (size_t)blocks * block, at->padded + (size_t)b * plane, s, row, rows);
            }
            add_rows(partial, c, at, dy + (size_t)n * y_image, images, row, rows, k, end_k, g);
        }
    }
}

/* dw of one channel of x and a block of y, [tap][channel of y]: G' m G of the sum of all partial
 * gradients, in index order whatever thread made them. */
static void taps_of(tl_real *to, const tl_real *partials, int chunks, size_t step) {
    for (int v = 0; v < TL_CHANNELS; v += TL_DIRECT_LANES) {
        tl_direct_vec t[3][4];
        for (int b = 0; b < 4; b++) {
            tl_direct_vec m[4];
            for (int a = 0; a < 4; a++) {
                const tl_real *from = partials + (4 * a + b) * TL_CHANNELS * TL_CHANNELS + v;
                m[a] = (tl_direct_vec){0};
                for (int chunk = 0; chunk < chunks; chunk++)
                    m[a] += tl_direct_load(from + (size_t)chunk * step);
            }
            t[0][b] = m[0] + (m[1] + m[2]) / 2, t[1][b] = (m[1] - m[2]) / 2;
            t[2][b] = (m[1] + m[2]) / 2 + m[3];
        }
        for (int r = 0; r < 3; r++) {
            tl_real *at = to + 3 * r * TL_CHANNELS + v;
            tl_direct_store(at, t[r][0] + (t[r][1] + t[r][2]) / 2);
            tl_direct_store(at + TL_CHANNELS, (t[r][1] - t[r][2]) / 2);
            tl_direct_store(at + 2 * TL_CHANNELS, (t[r][1] + t[r][2]) / 2 + t[r][3]);
        }
    }
}

static void add_partials(tl_real *dw, const tl_real *partials, int chunks, const tl_conv2d_geom *g,
                         int workers) {
    const size_t taps = 9;
#pragma omp parallel for num_threads(workers) schedule(static)
    for (int k = 0; k < g->k; k += TL_CHANNELS)
        for (int c = 0; c < g->c; c++) {
            tl_real sum[9 * TL_CHANNELS];
            const tl_real *from = partials + (size_t)(k / TL_CHANNELS) * row_size(g) +
                                  (size_t)(c / TL_CHANNELS) * BLOCK_SIZE;
            taps_of(sum, from + c % TL_CHANNELS * TL_CHANNELS, chunks, partial_size(g));
            for (int lane = 0; lane < tl_channels_left(g->k, k); lane++) {
                tl_real *to = dw + ((size_t)(k + lane) * (size_t)g->c + (size_t)c) * taps;
                for (size_t t = 0; t < taps; t++) to[t] += sum[t * TL_CHANNELS + (size_t)lane];
            }
        }
}

void tl_winograd_weight_run(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy,
                            const tl_real *x, int workers, tl_real *scratch) {
    const cut c = cut_of(g);
    size_t each = tl_winograd_weight_scratch(g);
    tl_real *desks = scratch + tl_winograd_weight_partials(g);
#pragma omp parallel num_threads(workers)
    {
        desk at = {.padded = desks + (size_t)omp_get_thread_num() * each};
        at.x = at.padded + padded_size(g, &c.s);
        at.dy = at.x + tl_squares_points(&c.s, tl_channels_blocks(g->c));
        at.pixels = at.dy + tl_squares_points(&c.s, 1);
        /* borders and lanes without a channel stay zero from image to image */
        memset(at.padded, 0, each * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int task = 0; task < c.chunks * c.shares; task++)
            run_task(task, &c, scratch, dy, x, &at, g);
    }
    add_partials(dw, scratch, c.chunks, g, workers);
}
