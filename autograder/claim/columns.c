/* columns.c: geometries for im2col and col2im (columns.h). */
#include "columns.h"

#define SET(shapes)                                                                                \
    { shapes, sizeof(shapes) / sizeof *(shapes) }

/*  n, c, h, w, k, r, s, stride, pad, dilation (h and w each) */
static const tl_conv2d_geom plain[] = {
    {1, 1, 3, 3, 1, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0},  /* small enough to do by hand */
    {1, 3, 5, 7, 4, 3, 2, 1, 1, 0, 0, 1, 1, 0, 0},  /* nothing is square */
    {1, 2, 6, 4, 3, 1, 3, 1, 1, 0, 0, 1, 1, 0, 0},  /* a filter of one row */
    {1, 2, 4, 4, 3, 3, 2, 1, 1, 0, 0, 1, 1, 0, 0},  /* the image alone is square */
    {1, 2, 6, 4, 3, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0},  /* and the filter alone */
    {1, 2, 5, 4, 3, 3, 2, 1, 1, 0, 0, 1, 1, 0, 0},  /* and the output alone */
    {1, 2, 4, 4, 3, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0},  /* all of them, of two channels */
    {1, 4, 3, 11, 2, 3, 5, 1, 1, 0, 0, 1, 1, 0, 0}, /* one row of outputs */
    {1, 3, 4, 5, 2, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},  /* 1x1: columns are the image */
    {1, 3, 18, 21, 8, 3, 3, 1, 1, 0, 0, 1, 1, 0, 0},
};
static const tl_conv2d_geom apart[] = {
    {1, 1, 4, 4, 1, 2, 2, 2, 2, 0, 0, 1, 1, 0, 0},
    {1, 3, 4, 5, 2, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0},
    {1, 2, 6, 4, 3, 3, 2, 3, 2, 0, 0, 1, 1, 0, 0}, /* nothing is square */
    {1, 3, 7, 7, 3, 2, 2, 3, 4, 0, 0, 1, 1, 0, 0}, /* pixels that no output sees */
    {1, 2, 18, 21, 8, 3, 3, 3, 3, 0, 0, 1, 1, 0, 0},
    {1, 2, 4, 4, 2, 1, 2, 1, 2, 0, 0, 1, 1, 0, 0}, /* the image alone is square */
    {1, 2, 4, 4, 2, 2, 2, 2, 2, 0, 0, 1, 1, 0, 0}, /* all is, of two channels */
};
static const tl_conv2d_geom padded[] = {
    {1, 1, 3, 3, 1, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},
    {1, 3, 5, 7, 4, 3, 2, 1, 1, 1, 2, 1, 1, 0, 0}, /* not the same in height and width */
    {1, 2, 6, 5, 2, 2, 3, 1, 1, 0, 2, 1, 1, 0, 0}, /* in one direction */
    {1, 2, 5, 6, 2, 3, 2, 1, 1, 2, 0, 1, 1, 0, 0}, /* and in the other */
    {1, 1, 4, 3, 2, 2, 2, 1, 1, 4, 5, 1, 1, 0, 0}, /* outputs that see only padding */
    {1, 2, 3, 3, 2, 5, 5, 1, 1, 2, 2, 1, 1, 0, 0}, /* a filter bigger than the image */
    {1, 3, 16, 18, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},
};
static const tl_conv2d_geom spaced[] = {
    {1, 2, 7, 6, 3, 3, 3, 2, 1, 0, 0, 1, 1, 0, 0},  /* stride 2 in one direction */
    {1, 2, 6, 9, 3, 2, 3, 1, 2, 0, 0, 1, 1, 0, 0},  /* and in the other */
    {1, 1, 7, 9, 1, 3, 3, 1, 1, 0, 0, 2, 2, 0, 0},  /* dilation 2 */
    {1, 2, 9, 8, 2, 2, 3, 1, 1, 0, 0, 3, 2, 0, 0},  /* not the same in height and width */
    {1, 2, 5, 8, 2, 2, 3, 1, 1, 0, 0, 1, 2, 0, 0},  /* in one direction */
    {1, 2, 8, 5, 2, 3, 2, 1, 1, 0, 0, 2, 1, 0, 0},  /* and in the other */
    {1, 2, 9, 11, 3, 3, 2, 2, 3, 3, 1, 2, 3, 0, 0}, /* stride, pad and dilation all differ */
    {1, 3, 8, 7, 2, 1, 1, 3, 2, 0, 0, 1, 1, 0, 0},  /* 1x1, strided */
    {1, 3, 17, 19, 4, 3, 3, 2, 2, 1, 1, 2, 2, 0, 0},
};
static const tl_conv2d_geom batched[] = {
    {2, 1, 3, 3, 1, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0},
    {3, 2, 5, 4, 3, 3, 2, 1, 1, 0, 0, 1, 1, 0, 0},
    {3, 2, 4, 4, 3, 2, 2, 1, 1, 0, 0, 1, 1, 0, 0},
    {2, 2, 9, 11, 3, 3, 2, 2, 3, 3, 1, 2, 3, 0, 0}, /* everything at once */
    {7, 1, 3, 4, 1, 3, 1, 1, 1, 1, 0, 1, 1, 0, 0},  /* more images than threads */
    {4, 3, 12, 11, 9, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0},
    {67, 2, 3, 2, 1, 2, 2, 1, 1, 1, 0, 1, 1, 0,
     0}, /* more images than a warp, or two, has threads */
    {2, 1, 1, 1, 1, 1, 2, 1, 1, 0, 5, 1, 10, 0, 0}, /* both taps outside, by more than a row */
    {2, 1, 1, 1, 1, 2, 1, 1, 1, 5, 0, 10, 1, 0, 0}, /* and above and below */
    {2, 2, 3, 2, 2, 2, 2, 1, 1, 1, 9, 2, 18, 0, 0},
    {2, 2, 2, 3, 2, 2, 2, 1, 1, 9, 1, 18, 2, 0, 0},
};
static const tl_conv2d_geom of_images = {1, 3, 8, 9, 5, 3, 2, 1, 1, 1, 0, 1, 1, 0, 0};

const column_set columns_plain = SET(plain), columns_apart = SET(apart),
                 columns_padded = SET(padded), columns_spaced = SET(spaced),
                 columns_batched = SET(batched);

tl_conv2d_geom columns_geometry(claim *c, const tl_conv2d_geom *shape) {
    tl_conv2d_geom g = *shape;
    if (tl_conv2d_check(&g) != TL_OK) claim_fail(c, "a geometry of columns.c: %s", tl_error());
    return g;
}

size_t columns_count(const tl_conv2d_geom *g) {
    return tl_conv2d_col_rows(g) * (size_t)g->n * tl_conv2d_col_cols(g);
}

void columns_case(claim *c, const call_target *t, const char *op, const tl_conv2d_geom *g,
                  int images) {
    char some[40];
    snprintf(some, sizeof some, "%s, images = %d, of", op, images);
    conv2d_case(c, t, images < g->n ? some : op, g);
    claim_trait(c, "fewer_images", images < g->n);
}

tl_conv2d_geom columns_with_images(claim *c, int images) {
    tl_conv2d_geom g = of_images;
    g.n = images;
    return columns_geometry(c, &g);
}
