/* 03_winograd_pixels.c: Winograd's convolution into pixels: forward, and the gradient of the input.
 */
#include "03_winograd.h"

#include <omp.h>

/* Squares whose points stay in the second-level cache, of all channels of x, and of one block of y.
 */
enum { SQUARES = 48 };

static int divide_up(int a, int b) { return (a - 1) / b + 1; }
static int least(int a, int b) { return a < b ? a : b; }

tl_squares tl_squares_of(int n, int p, int q, int h, int w, int pad_h, int pad_w) {
    tl_squares s = {.down = divide_up(p, 2), .across = divide_up(q, 2)};
    int all = s.down * s.across, fit = SQUARES / s.across;
    s.images = all < SQUARES ? least(SQUARES / all, n) : 1;
    s.rows = fit < 1 ? 1 : divide_up(s.down, divide_up(s.down, least(fit, s.down)));
    s.most = s.images * s.rows * s.across;
    s.at = tl_direct_layout_of(h, w, pad_h, pad_w);
    s.at.rows = 2 * s.down + 2;
    s.at.pitch = 2 * s.across + 2;
    s.at.plane = (size_t)s.at.rows * (size_t)s.at.pitch;
    return s;
}

size_t tl_squares_points(const tl_squares *s, int blocks) {
    return (size_t)(TL_POINTS * blocks * s->most) * TL_CHANNELS;
}

void tl_squares_of_x(tl_real *points, size_t step, const tl_real *x, const tl_squares *s, int row,
                     int rows) {
    const size_t pitch = (size_t)s->at.pitch * TL_CHANNELS;
    for (int i = row; i < row + rows; i++)
        for (int j = 0; j < s->across; j++, points += TL_CHANNELS) {
            const tl_real *from = x + (size_t)(2 * i) * pitch + (size_t)(2 * j) * TL_CHANNELS;
            for (int v = 0; v < TL_CHANNELS; v += TL_DIRECT_LANES) {
                tl_direct_vec t[4][4];
                for (int b = 0; b < 4; b++) {
                    tl_direct_vec d[4];
                    for (int a = 0; a < 4; a++)
                        d[a] = tl_direct_load(from + (size_t)a * pitch + b * TL_CHANNELS + v);
                    t[0][b] = d[0] - d[2], t[1][b] = d[1] + d[2];
                    t[2][b] = d[2] - d[1], t[3][b] = d[1] - d[3];
                }
                for (int a = 0; a < 4; a++) {
                    tl_real *to = points + (size_t)(4 * a) * step + v;
                    tl_direct_store(to, t[a][0] - t[a][2]);
                    tl_direct_store(to + step, t[a][1] + t[a][2]);
                    tl_direct_store(to + 2 * step, t[a][2] - t[a][1]);
                    tl_direct_store(to + 3 * step, t[a][1] - t[a][3]);
                }
            }
        }
}

/* y = A' points A, `step` reals from point to point: rows of squares into rows of `q` pixels, of
 * which those beyond p and q are left out. */
static void squares_to_y(tl_real *y, const tl_real *points, size_t step, const tl_squares *s,
                         int row, int rows, int p, int q) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < s->across; j++, points += TL_CHANNELS) {
            tl_real *to = y + (2 * i * q + 2 * j) * TL_CHANNELS;
            int right = 2 * j + 1 < q, below = 2 * (row + i) + 1 < p;
            for (int v = 0; v < TL_CHANNELS; v += TL_DIRECT_LANES) {
                tl_direct_vec t[2][4];
                for (int b = 0; b < 4; b++) {
                    tl_direct_vec m[4];
                    for (int a = 0; a < 4; a++)
                        m[a] = tl_direct_load(points + (size_t)(4 * a + b) * step + v);
                    t[0][b] = m[0] + m[1] + m[2], t[1][b] = m[1] - m[2] - m[3];
                }
                for (int a = 0; a < 1 + below; a++) {
                    tl_real *at = to + a * q * TL_CHANNELS + v;
                    tl_direct_store(at, t[a][0] + t[a][1] + t[a][2]);
                    if (right) tl_direct_store(at + TL_CHANNELS, t[a][1] - t[a][2] - t[a][3]);
                }
            }
        }
}

/* weights[block of y][point][channel of x][channel of y] = G w G'; 0 where there is no channel. */
static void transform_weights(tl_real *to, const tl_direct_sum *d, int block) {
    int k = block * TL_CHANNELS, some = tl_channels_left(d->out, k);
    int channels = tl_channels_blocks(d->in) * TL_CHANNELS;
    size_t step = (size_t)channels * TL_CHANNELS;
    memset(to, 0, TL_POINTS * step * sizeof(tl_real));
    for (int c = 0; c < d->in; c++, to += TL_CHANNELS)
        for (int lane = 0; lane < some; lane++) {
            const tl_real *w = d->weights + (k + lane) * d->w_out + c * d->w_in;
            tl_real t[4][3];
            for (int s = 0; s < 3; s++) {
                tl_real a = w[s * d->w_tap], b = w[(3 + s) * d->w_tap], e = w[(6 + s) * d->w_tap];
                t[0][s] = a, t[1][s] = (a + b + e) / 2, t[2][s] = (a - b + e) / 2, t[3][s] = e;
            }
            for (int a = 0; a < 4; a++) {
                tl_real *at = to + (size_t)(4 * a) * step + lane;
                at[0] = t[a][0];
                at[step] = (t[a][0] + t[a][1] + t[a][2]) / 2;
                at[2 * step] = (t[a][0] - t[a][1] + t[a][2]) / 2;
                at[3 * step] = t[a][2];
            }
        }
}

static tl_squares squares_of(const tl_direct_sum *d) {
    return tl_squares_of(d->n, d->p, d->q, d->h, d->w, d->pad_h, d->pad_w);
}
static size_t padded_size(const tl_direct_sum *d, const tl_squares *s) {
    return (size_t)tl_channels_blocks(d->in) * s->at.plane * TL_CHANNELS;
}
/* Reals of the transformed weights of a block of y. */
static size_t block_weights(const tl_direct_sum *d) {
    return (size_t)(TL_POINTS * tl_channels_blocks(d->in)) * TL_CHANNELS * TL_CHANNELS;
}
/* Reals of a block of y, some rows of one image. */
static size_t y_size(const tl_direct_sum *d, const tl_squares *s) {
    return (size_t)(2 * s->rows * d->q) * TL_CHANNELS;
}

size_t tl_winograd_sum_weights(const tl_direct_sum *d) {
    return (size_t)tl_channels_blocks(d->out) * block_weights(d);
}
size_t tl_winograd_sum_scratch(const tl_direct_sum *d) {
    tl_squares s = squares_of(d);
    return padded_size(d, &s) + tl_squares_points(&s, tl_channels_blocks(d->in)) +
           tl_squares_points(&s, 1) + y_size(d, &s);
}

/* What a thread works with. */
typedef struct desk {
    tl_real *padded, *x, *y, *pixels; /* an image; points of x; of a block of y; its pixels */
} desk;

/* `rows` rows of squares of each of `images` images, whose points of x are there. */
static void make_rows(const tl_direct_sum *d, const tl_squares *s, const desk *at, tl_real *y,
                      const tl_real *weights, int images, int row, int rows) {
    int blocks = tl_channels_blocks(d->in), squares = images * rows * s->across;
    size_t block = (size_t)s->most * TL_CHANNELS, plane = (size_t)d->p * (size_t)d->q;
    for (int k = 0; k < d->out; k += TL_CHANNELS) {
        for (int point = 0; point < TL_POINTS; point++, weights += block_weights(d) / TL_POINTS) {
            const tl_channels_job j = {.w = weights,
                                       .r = 1,
                                       .s = blocks,
                                       .tap = block,
                                       .channels = TL_CHANNELS,
                                       .first = 1};
            tl_channels_sum(&j, at->x + (size_t)(point * blocks) * block,
                            at->y + (size_t)point * block, squares);
        }
        int below = d->p - 2 * row, pixels = (below < 2 * rows ? below : 2 * rows) * d->q;
        for (int i = 0; i < images; i++) {
            squares_to_y(at->pixels, at->y + (size_t)(i * rows * s->across) * TL_CHANNELS, block, s,
                         row, rows, d->p, d->q);
            tl_channels_scatter(y + (size_t)(i * d->out + k) * plane + (size_t)(2 * row * d->q),
                                at->pixels, plane, tl_channels_left(d->out, k), pixels,
                                d->b ? d->b + k : NULL, d->accumulate);
        }
    }
}

/* `images` images from x on; the points of x go square by square, image by image. */
static void make_images(const tl_direct_sum *d, const tl_squares *s, const desk *at, tl_real *y,
                        const tl_real *x, const tl_real *weights, int images) {
    size_t image = (size_t)d->in * (size_t)d->h * (size_t)d->w;
    size_t block = (size_t)s->most * TL_CHANNELS, plane = s->at.plane * TL_CHANNELS;
    int blocks = tl_channels_blocks(d->in);
    for (int row = 0; row < s->down; row += s->rows) {
        int rows = least(s->rows, s->down - row);
        for (int i = 0; i < images; i++) {
            if (row == 0) tl_channels_pad(at->padded, x + (size_t)i * image, d->in, &s->at);
            for (int b = 0; b < blocks; b++)
                tl_squares_of_x(
                    at->x + (size_t)b * block + (size_t)(i * rows * s->across) * TL_CHANNELS,
                    (size_t)blocks * block, at->padded + (size_t)b * plane, s, row, rows);
        }
        make_rows(d, s, at, y, weights, images, row, rows);
    }
}

/* Images are independent, so the bits do not depend on who computes which. */
void tl_winograd_sum_run(const tl_direct_sum *d, tl_real *y, const tl_real *x, int workers,
                         tl_real *scratch) {
    const tl_squares s = squares_of(d);
    size_t each = tl_winograd_sum_scratch(d);
    size_t x_image = (size_t)d->in * (size_t)d->h * (size_t)d->w;
    size_t y_image = (size_t)d->out * (size_t)d->p * (size_t)d->q;
    tl_real *desks = scratch + tl_winograd_sum_weights(d);
#pragma omp parallel num_threads(workers)
    {
        desk at = {.padded = desks + (size_t)omp_get_thread_num() * each};
        at.x = at.padded + padded_size(d, &s);
        at.y = at.x + tl_squares_points(&s, tl_channels_blocks(d->in));
        at.pixels = at.y + tl_squares_points(&s, 1);
        /* the borders stay zero from image to image */
        memset(at.padded, 0, padded_size(d, &s) * sizeof(tl_real));
#pragma omp for schedule(static)
        for (int k = 0; k < tl_channels_blocks(d->out); k++)
            transform_weights(scratch + (size_t)k * block_weights(d), d, k);
#pragma omp for schedule(static)
        for (int n = 0; n < d->n; n += s.images)
            make_images(d, &s, &at, y + (size_t)n * y_image, x + (size_t)n * x_image, scratch,
                        least(s.images, d->n - n));
    }
}
