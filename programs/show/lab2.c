/* lab2.c: a picture through your convolution: blurred, sharpened, and its edges (show.h). */
#include <math.h>
#include <stdio.h>

#include "show.h"
#include "tl/backend.h"
#include "tl/data.h"

enum { SIDE = 32, PIXELS = SIDE * SIDE, TAPS = 5, FILTERS = 5, ACROSS = 3 };

/* Five by five, in the order of w[K,1,5,5]; `middle` is what no edge looks like in the picture. */
static const struct {
    const char *name;
    double scale, middle;
    int w[TAPS * TAPS];
} filter[FILTERS] = {
    {"blurred", 1 / 256., 0, {1,  4, 6, 4,  1,  4,  16, 24, 16, 4, 6, 24, 36,
                              24, 6, 4, 16, 24, 16, 4,  1,  4,  6, 4, 1}},
    {"sharpened", 1 / 4., 0, {0,  0, 0, 0, 0,  0, 0, -1, 0, 0, 0, -1, 8,
                              -1, 0, 0, 0, -1, 0, 0, 0,  0, 0, 0, 0}},
    {"upright edges", 1 / 4., 0.5, {0, 0, 0, 0,  0, 0, -1, 0, 1, 0, 0, -2, 0,
                                    2, 0, 0, -1, 0, 1, 0,  0, 0, 0, 0, 0}},
    {"level edges", 1 / 4., 0.5, {0, 0, 0, 0, 0, 0, -1, -2, -1, 0, 0, 0, 0,
                                  0, 0, 0, 1, 2, 1, 0,  0,  0,  0, 0, 0}},
    {"outlines", 1 / 8., 0, {0,  0,  -1, 0,  0,  0,  -1, -2, -1, 0,  -1, -2, 16,
                             -2, -1, 0,  -1, -2, -1, 0,  0,  0,  -1, 0,  0}},
};

/* A picture of shapes10, grey from 0 to 1. */
static void draw(const show *s, tl_real grey[PIXELS]) {
    uint8_t colour[3 * PIXELS], label;
    tl_shapes10_draw(colour, &label, TL_SHAPES10_SEED, s->seed);
    for (int i = 0; i < PIXELS; i++)
        grey[i] = (tl_real)((colour[i] + colour[PIXELS + i] + colour[2 * PIXELS + i]) / 765.);
}

static tl_status convolve(show *s, tl_real y[FILTERS * PIXELS], const tl_real x[PIXELS]) {
    tl_conv2d_geom g = {.n = 1,
                        .c = 1,
                        .h = SIDE,
                        .w = SIDE,
                        .k = FILTERS,
                        .r = TAPS,
                        .s = TAPS,
                        .stride_h = 1,
                        .stride_w = 1,
                        .pad_h = TAPS / 2,
                        .pad_w = TAPS / 2,
                        .dil_h = 1,
                        .dil_w = 1};
    tl_real w[FILTERS * TAPS * TAPS], b[FILTERS], *at[4];
    void *work;
    for (int k = 0; k < FILTERS; k++) {
        b[k] = (tl_real)filter[k].middle;
        for (int i = 0; i < TAPS * TAPS; i++)
            w[k * TAPS * TAPS + i] = (tl_real)(filter[k].scale * filter[k].w[i]);
    }
    TL_TRY(tl_conv2d_check(&g));
    TL_TRY(show_array(s, &at[0], FILTERS * PIXELS, NULL));
    TL_TRY(show_array(s, &at[1], PIXELS, x));
    TL_TRY(show_array(s, &at[2], FILTERS * TAPS * TAPS, w));
    TL_TRY(show_array(s, &at[3], FILTERS, b));
    TL_TRY(show_bytes(s, &work, tl_conv2d_work_bytes(&g, s->ctx->ops->column_bytes), NULL));
    TL_TRY(s->ctx->ops->conv2d_fwd(s->ctx, at[0], at[1], at[2], at[3], &g, work));
    return show_get(s, y, at[0], FILTERS * PIXELS);
}

tl_status show_lab2(show *s) {
    static tl_real x[PIXELS], y[FILTERS * PIXELS];
    static double value[FILTERS + 1][PIXELS];
    show_picture picture[FILTERS + 1];
    draw(s, x);
    TL_TRY(convolve(s, y, x));
    for (int k = 0; k <= FILTERS; k++) {
        const tl_real *from = k ? y + (k - 1) * PIXELS : x;
        for (int i = 0; i < PIXELS; i++) value[k][i] = (double)from[i];
        picture[k] = (show_picture){k ? filter[k - 1].name : "the picture", SIDE, SIDE, value[k]};
        TL_TRY(show_write_picture(s, &picture[k]));
    }
    printf("\npicture %llu of shapes10 through your convolution on %s: one call, %d filters of "
           "%d x %d\n\n",
           (unsigned long long)s->seed, s->ctx->ops->name, (int)FILTERS, (int)TAPS, (int)TAPS);
    for (int k = 0; k <= FILTERS; k += ACROSS) {
        show_pictures(&picture[k], ACROSS);
        putchar('\n');
    }
    printf("(of edges: middle grey is none, bright rises to the right or downwards, dark falls)\n");
    return TL_OK;
}
