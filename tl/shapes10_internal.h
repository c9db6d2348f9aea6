/* shapes10_internal.h: what the files of the shapes10 generator share. All arithmetic is on
 * integers, so that every compiler, flag and processor draws the same bytes. */
#ifndef TL_SHAPES10_INTERNAL_H
#define TL_SHAPES10_INTERNAL_H

#include <stdint.h>

/* Goes up with every change that alters a single byte; the folder's file VERSION holds it, and the
 * loader refuses a set of another version: two versions are two data sets. */
enum { TL_SHAPES10_VERSION = 1 };

enum {
    TL_SHAPES10_SIDE = 32,
    TL_SHAPES10_PIXELS = TL_SHAPES10_SIDE * TL_SHAPES10_SIDE,
    TL_SHAPES10_CLASSES = 10,
    TL_SHAPES10_MAX_POINTS = 64
};

/* A closed polygon; the last point is joined to the first. In an outline the centre is 0, y points
 * down, and 1000 is about the shape's radius. */
typedef struct tl_outline {
    const char *name; /* of the class */
    const int16_t (*point)[2];
    int points;
} tl_outline;

tl_outline tl_shapes10_outline(int label);

/* round(16384 sin(2 pi angle / 256)) from a table; any angle. The cosine is that of angle + 64. */
int tl_shapes10_sin(int angle);

/* How much of each pixel lies inside the polygon, 0..256. Points are (x, y) in 1/256 pixel, may lie
 * outside the image (|x|, |y| < 2^15), and the polygon may cross itself: inside is where a ray
 * crosses an odd number of edges, and so a ring is one polygon that runs round twice. */
void tl_shapes10_cover(int cover[TL_SHAPES10_PIXELS], const int point[][2], int points);

#endif
