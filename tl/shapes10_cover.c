/* shapes10_cover.c: which share of each pixel a polygon covers, by scan lines in whole numbers. */
#include "shapes10_internal.h"

#include <string.h>

enum { SUBLINES = 4, UNIT = 256, WIDTH = TL_SHAPES10_SIDE * UNIT };

/* Where the horizontal line y meets the polygon, in rising order; returns how often. An edge counts
 * from its upper end up to, but without, its lower end: a corner between two edges then counts
 * once, horizontal edges never, and the number of crossings is always even. */
static int crossings(int x[TL_SHAPES10_MAX_POINTS], int y, const int point[][2], int points) {
    int count = 0;
    for (int i = 0; i < points; i++) {
        const int *a = point[i], *b = point[(i + 1) % points];
        if ((a[1] <= y) == (b[1] <= y)) continue;
        int at = a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1]);
        int place = count++;
        for (; place > 0 && x[place - 1] > at; place--) x[place] = x[place - 1];
        x[place] = at;
    }
    return count;
}

/* Adds the stretch [from, to) of one line, in 1/256 pixel, to the pixels of its row. */
static void add_stretch(int row[TL_SHAPES10_SIDE], int from, int to) {
    if (from < 0) from = 0;
    if (to > WIDTH) to = WIDTH;
    while (from < to) {
        int pixel = from / UNIT, end = (pixel + 1) * UNIT;
        if (end > to) end = to;
        row[pixel] += end - from;
        from = end;
    }
}

void tl_shapes10_cover(int cover[TL_SHAPES10_PIXELS], const int point[][2], int points) {
    memset(cover, 0, TL_SHAPES10_PIXELS * sizeof *cover);
    for (int line = 0; line < TL_SHAPES10_SIDE * SUBLINES; line++) {
        /* The middle of the line's strip: exact across, four samples down. */
        int y = line * (UNIT / SUBLINES) + UNIT / SUBLINES / 2;
        int x[TL_SHAPES10_MAX_POINTS];
        int count = crossings(x, y, point, points);
        for (int i = 0; i + 1 < count; i += 2)
            add_stretch(cover + line / SUBLINES * TL_SHAPES10_SIDE, x[i], x[i + 1]);
    }
    for (int i = 0; i < TL_SHAPES10_PIXELS; i++) cover[i] /= SUBLINES;
}
