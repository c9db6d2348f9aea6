/* conv2d_shapes.h: geometries on which convolutions go wrong, awkward ones first. */
#ifndef TESTS_CONV2D_SHAPES_H
#define TESTS_CONV2D_SHAPES_H

#include <stdio.h>

#include "claim.h"

/*  n, c, h, w, k, r, s, stride, pad, dilation (h and w each) */
static const tl_conv2d_geom conv2d_shapes[] = {
    {2, 3, 5, 7, 4, 3, 2, 1, 1, 0, 0, 1, 1, 0, 0},    /* nothing is square, C < K */
    {2, 2, 9, 11, 3, 3, 2, 2, 3, 3, 1, 2, 3, 0, 0},   /* stride, pad and dilation all differ */
    {2, 2, 7, 6, 3, 3, 3, 2, 1, 1, 1, 1, 1, 0, 0},    /* stride 2 in one direction */
    {3, 4, 6, 5, 2, 2, 3, 1, 2, 0, 2, 1, 1, 0, 0},    /* C > K, pad in one direction */
    {1, 3, 9, 8, 2, 3, 3, 1, 1, 2, 2, 2, 2, 0, 0},    /* dilation 2 */
    {2, 1, 4, 3, 2, 2, 2, 1, 1, 4, 5, 1, 1, 0, 0},    /* outputs that see only padding */
    {2, 2, 3, 3, 2, 5, 5, 1, 1, 2, 2, 1, 1, 0, 0},    /* a filter bigger than the image */
    {2, 2, 7, 7, 3, 2, 2, 3, 4, 0, 0, 1, 1, 0, 0},    /* pixels that no output sees */
    {2, 3, 4, 4, 5, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},    /* 1x1 */
    {2, 2, 5, 5, 3, 1, 1, 2, 2, 1, 1, 1, 1, 0, 0},    /* 1x1, strided, padded */
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},    /* one number */
    {7, 1, 3, 4, 1, 3, 1, 1, 1, 1, 0, 1, 1, 0, 0},    /* more images than threads */
    {3, 3, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},    /* as in the nets: few channels, pad 1 */
    {4, 1, 12, 12, 9, 3, 3, 1, 1, 0, 0, 1, 1, 0, 0},  /* as in net m */
    {1, 3, 32, 32, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},  /* wide rows; 1,024 terms in a weight */
    {8, 8, 16, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0}, /* net a's middle; work for threads */
    {1, 5, 5, 37, 3, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},   /* a row off every vector width */
    {1, 64, 5, 5, 70, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},  /* 576 taps, K beyond a tile */
    {67, 2, 3, 3, 2, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0},   /* more images than two warps have threads */
};
enum { CONV2D_SHAPES = sizeof conv2d_shapes / sizeof *conv2d_shapes };

/* The s-th geometry, checked. The first `CONV2D_SMALL` are small enough for numeric gradients. */
enum { CONV2D_SMALL = 12, CONV2D_THREADED = 11 }; /* from there on: more images or work */
static inline tl_conv2d_geom conv2d_shape(claim *c, int s) {
    tl_conv2d_geom g = conv2d_shapes[s];
    if (tl_conv2d_check(&g) != TL_OK) claim_fail(c, "shape %d: %s", s, tl_error());
    return g;
}

/* A case of a convolution's operation, with the traits that failures may have in common. */
static inline void conv2d_case(claim *c, const call_target *t, const char *op,
                               const tl_conv2d_geom *g) {
    char chunk[40] = "";
    int images = tl_conv2d_chunk(g, t->column_bytes);
    if (t->column_bytes)
        snprintf(chunk, sizeof chunk, ", %s at a time", images == 1 ? "one image" : "two images");
    claim_case(c, t, "%s x[%d,%d,%d,%d] w[%d,%d,%d,%d] stride %d,%d pad %d,%d dilation %d,%d%s", op,
               g->n, g->c, g->h, g->w, g->k, g->c, g->r, g->s, g->stride_h, g->stride_w, g->pad_h,
               g->pad_w, g->dil_h, g->dil_w, chunk);
    claim_trait(c, "dilation", g->dil_h > 1 || g->dil_w > 1);
    claim_trait(c, "stride", g->stride_h > 1 || g->stride_w > 1);
    claim_trait(c, "padding", g->pad_h > 0 || g->pad_w > 0);
    claim_trait(c, "nonsquare",
                g->h != g->w || g->r != g->s || g->stride_h != g->stride_w ||
                    g->pad_h != g->pad_w || g->dil_h != g->dil_w);
    claim_trait(c, "filter_nonsquare", g->r != g->s);
    claim_trait(c, "image_nonsquare", g->h != g->w);
    claim_trait(c, "outputs_nonsquare", g->p != g->q);
    claim_trait(c, "two_strides", g->stride_h != g->stride_w);
    claim_trait(c, "two_pads", g->pad_h != g->pad_w);
    claim_trait(c, "two_dilations", g->dil_h != g->dil_w);
    claim_trait(c, "batch", g->n > 1 && (!t->column_bytes || images > 1));
    claim_trait(c, "channels", g->c > 1);
    claim_trait(c, "chunks", g->n > 1 && t->column_bytes);
    claim_trait(c, "last_chunk", t->column_bytes && g->n % images != 0);
}

#endif
