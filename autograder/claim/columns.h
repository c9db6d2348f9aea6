/* columns.h: what the claims about im2col and col2im share: geometries by what is hard in them. */
#ifndef TESTS_COLUMNS_H
#define TESTS_COLUMNS_H

#include "claim.h"
#include "conv2d_shapes.h"
#include "expect.h"

/* A list of geometries; each claim names the one that its mistake shows in, so that one mistake
 * costs one claim. */
typedef struct column_set {
    const tl_conv2d_geom *shape;
    int shapes;
} column_set;

extern const column_set columns_plain;   /* one image, stride 1, no padding, no dilation */
extern const column_set columns_apart;   /* the same, and no pixel in two columns */
extern const column_set columns_padded;  /* one image, stride 1; some outputs see only padding */
extern const column_set columns_spaced;  /* one image, stride and dilation, little padding */
extern const column_set columns_batched; /* several images, all the rest; taps that see no pixel */

#define FOR_COLUMNS(g, set)                                                                        \
    for (int s_ = 0; s_ < (set).shapes; s_++)                                                      \
        for (tl_conv2d_geom g = columns_geometry(c, &(set).shape[s_]); g.n; g.n = 0)

/* The geometry, checked. */
tl_conv2d_geom columns_geometry(claim *c, const tl_conv2d_geom *shape);
/* Elements of the columns of all its images. */
size_t columns_count(const tl_conv2d_geom *g);

/* A case of im2col or col2im for so many of its images. */
void columns_case(claim *c, const call_target *t, const char *op, const tl_conv2d_geom *g,
                  int images);

/* One geometry with any number of images, to compare what 2 and 9 of them cost. */
tl_conv2d_geom columns_with_images(claim *c, int images);

#endif
