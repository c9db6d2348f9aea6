/* 03_winograd.h: what the files of Winograd's convolution share: squares of 2x2 outputs, which take
 * 16 products a pair of channels instead of 36.
 *
 * F(2x2,3x3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016):
 *   y = A' [ (G w G') . (B' x B) ] A
 * for a square of y and the 4x4 pixels of x that it sees, with the 16 products of each point summed
 * over the channels as a matrix product. */
#ifndef TL_CONV2D_WINOGRAD_H
#define TL_CONV2D_WINOGRAD_H

#include "02_channels.h"

enum { TL_POINTS = 16 };

/* How an image is cut into squares. Some rows of squares are worked on at once, or some whole
 * images. */
typedef struct tl_squares {
    int down, across;    /* squares of an image */
    int rows, images;    /* at once */
    int most;            /* squares at once: images * rows * across */
    tl_direct_layout at; /* the padded copy of an image, filled up to whole squares */
} tl_squares;

tl_squares tl_squares_of(int n, int p, int q, int h, int w, int pad_h, int pad_w);

/* Reals of the points of `most` squares: [point][block][square][channel of the block]. */
size_t tl_squares_points(const tl_squares *s, int blocks);

/* points = B' x B, for `rows` rows of squares from row `row` on of one padded block of an image;
 * `step` reals from point to point. */
void tl_squares_of_x(tl_real *points, size_t step, const tl_real *x, const tl_squares *s, int row,
                     int rows);

/* 03_winograd_pixels.c: as tl_direct_sum_run. */
size_t tl_winograd_sum_scratch(const tl_direct_sum *d); /* reals for each thread, and */
size_t tl_winograd_sum_weights(const tl_direct_sum *d); /* reals for all of them */
void tl_winograd_sum_run(const tl_direct_sum *d, tl_real *y, const tl_real *x, int workers,
                         tl_real *scratch);

/* 03_winograd_weight.c: dw[k,c,r,s] += sum over n,p,q of dy * x. */
size_t tl_winograd_weight_scratch(const tl_conv2d_geom *g);  /* reals for each thread, and */
size_t tl_winograd_weight_partials(const tl_conv2d_geom *g); /* reals for all of them */
void tl_winograd_weight_run(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy,
                            const tl_real *x, int workers, tl_real *scratch);

#endif
