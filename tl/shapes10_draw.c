/* shapes10_draw.c: draws one image of shapes10: background, fragments, the shape, noise.
 *
 * Every choice is a counter-based draw from (seed, index), so images can be drawn in any order and
 * on any number of threads. Colours, textures, place, size and clutter are drawn without looking at
 * the label: only the outline tells the classes apart. */
#include "shapes10_internal.h"
#include "tl/data.h"
#include "tl/rng.h"

#include <string.h>

enum { SIDE = TL_SHAPES10_SIDE, PIXELS = TL_SHAPES10_PIXELS, UNIT = 256, SINE_ONE = 16384 };

/* How hard the set is. Lengths in 1/256 pixel, angles in 1/256 turn, colours in steps of 0..255. */
enum {
    RADIUS_MIN = 1900, /* 7.4 pixels */
    RADIUS_MAX = 3000, /* 11.7 pixels */
    SHIFT = 1024,      /* the centre lies up to 4 pixels from the image's */
    TURN = 20,         /* the shape leans up to 28 degrees either way */
    STRETCH = 12,      /* per cent wider or narrower than high */
    MIDDLE_MIN = 95,   /* brightness half way between shape and background */
    MIDDLE_MAX = 160,
    CONTRAST_MIN = 38, /* between the mean brightness of shape and background */
    CONTRAST_MAX = 115,
    DARK_PER_CENT = 12, /* shapes darker than their background */
    TINT = 45,
    NOISE_MIN = 12,
    NOISE_MAX = 42,
    FRAGMENTS_MIN = 2,
    FRAGMENTS_MAX = 5,
    REACH_MIN = 768, /* of a fragment, from its middle */
    REACH_MAX = 1700,
    IN_FRONT_PER_CENT = 30 /* images whose last fragment hides a bit of the shape */
};

/* The draws of one image in sequence: word `used` of the counters (index, 0), (index, 1), … */
typedef struct draws {
    uint64_t seed, index;
    uint32_t used;
    tl_philox words;
} draws;

static uint32_t next_word(draws *d) {
    if (d->used % 4 == 0) d->words = tl_philox_draw(d->seed, d->index, d->used / 4, TL_DRAW_DATA);
    return d->words.v[d->used++ % 4];
}

/* A whole number in low..high, both included. Never two calls in one expression: C leaves open
 * which of them comes first, and compilers do differ. */
static int between(draws *d, int low, int high) {
    uint64_t range = (uint64_t)(high - low + 1);
    return low + (int)((next_word(d) * range) >> 32);
}

static int happens(draws *d, int per_cent) { return between(d, 0, 99) < per_cent; }

/* A colour with a pattern over it. */
typedef enum pattern { PLAIN, WAVES, CHECKS, BLOTCHES, PATTERNS } pattern;
enum { GRID = SIDE / 8 + 1 }; /* corners of the 8x8 cells of BLOTCHES */
typedef struct paint {
    int colour[3];
    pattern kind;
    int strength;          /* the pattern adds -strength..strength to all three colours */
    int along, down;       /* WAVES, CHECKS: 1/256 of an angle that the wave rises per pixel */
    int phase;             /* and its angle in the corner */
    int grid[GRID * GRID]; /* BLOTCHES: values at the corners, interpolated between */
} paint;

static void choose_paint(draws *d, paint *p, int brightness) {
    for (int channel = 0; channel < 3; channel++)
        p->colour[channel] = brightness + between(d, -TINT, TINT);
    p->kind = (pattern)between(d, 0, PATTERNS - 1);
    p->strength = between(d, 8, 28);
    int direction = between(d, 0, 255);
    int frequency = between(d, 16, 64); /* a wave is 16 to 4 pixels long */
    p->along = frequency * tl_shapes10_sin(direction + 64) / 64;
    p->down = frequency * tl_shapes10_sin(direction) / 64;
    p->phase = between(d, 0, 255);
    for (int i = 0; i < GRID * GRID; i++) p->grid[i] = between(d, -SINE_ONE, SINE_ONE);
}

/* Sine of the wave that rises by (across, down) / 256 per pixel. Unsigned, because shifting a
 * negative number right is the compiler's choice. */
static int wave(int across, int down, int phase, int x, int y) {
    uint32_t angle = (uint32_t)(across * x + down * y);
    return tl_shapes10_sin((int)((angle >> 8) & 255) + phase);
}

static int blotch(const int grid[GRID * GRID], int x, int y) {
    const int *corner = grid + y / 8 * GRID + x / 8;
    int right = x % 8, under = y % 8;
    int top = corner[0] * (8 - right) + corner[1] * right;
    int bottom = corner[GRID] * (8 - right) + corner[GRID + 1] * right;
    return (top * (8 - under) + bottom * under) / 64;
}

/* What the pattern adds to the colour of pixel (x, y). */
static int pattern_at(const paint *p, int x, int y) {
    int value = 0; /* -SINE_ONE .. SINE_ONE */
    switch (p->kind) {
    case PLAIN:
        return 0;
    case WAVES:
        value = wave(p->along, p->down, p->phase, x, y);
        break;
    case CHECKS:
        value = wave(p->along, p->down, p->phase, x, y) *
                (wave(-p->down, p->along, p->phase, x, y) / 128) / (SINE_ONE / 128);
        break;
    default:
        value = blotch(p->grid, x, y);
        break;
    }
    return value * p->strength / SINE_ONE;
}

/* Lays the paint over the canvas [3][SIDE*SIDE], in the measure of cover, 0..256. */
static void lay(int canvas[3 * PIXELS], const paint *p, const int cover[PIXELS]) {
    for (int i = 0; i < PIXELS; i++) {
        if (cover[i] == 0) continue;
        int texture = pattern_at(p, i % SIDE, i / SIDE);
        for (int channel = 0; channel < 3; channel++) {
            int *at = canvas + channel * PIXELS + i;
            *at = (*at * (256 - cover[i]) + (p->colour[channel] + texture) * cover[i]) / 256;
        }
    }
}

/* The outline, stretched, turned, scaled and moved to its place. */
static void lay_shape(draws *d, int canvas[3 * PIXELS], const paint *p, int label) {
    int centre_x = SIDE * UNIT / 2 + between(d, -SHIFT, SHIFT);
    int centre_y = SIDE * UNIT / 2 + between(d, -SHIFT, SHIFT);
    int radius = between(d, RADIUS_MIN, RADIUS_MAX);
    int wide = radius * (100 + between(d, -STRETCH, STRETCH)) / 100;
    int angle = between(d, -TURN, TURN);
    int64_t sine = tl_shapes10_sin(angle), cosine = tl_shapes10_sin(angle + 64);

    tl_outline outline = tl_shapes10_outline(label);
    int point[TL_SHAPES10_MAX_POINTS][2], cover[PIXELS];
    for (int i = 0; i < outline.points; i++) {
        int64_t x = outline.point[i][0] * wide, y = outline.point[i][1] * radius;
        point[i][0] = centre_x + (int)((x * cosine - y * sine) / (1000 * (int64_t)SINE_ONE));
        point[i][1] = centre_y + (int)((x * sine + y * cosine) / (1000 * (int64_t)SINE_ONE));
    }
    tl_shapes10_cover(cover, (const int(*)[2])point, outline.points);
    lay(canvas, p, cover);
}

/* A splinter of three or four random corners, somewhere. */
static void lay_fragment(draws *d, int canvas[3 * PIXELS], int middle) {
    paint p;
    choose_paint(d, &p, middle + between(d, -CONTRAST_MAX / 2, CONTRAST_MAX / 2));
    int x = between(d, 0, SIDE * UNIT), y = between(d, 0, SIDE * UNIT);
    int reach = between(d, REACH_MIN, REACH_MAX), corners = between(d, 3, 4);
    int point[4][2], cover[PIXELS];
    for (int i = 0; i < corners; i++) {
        point[i][0] = x + between(d, -reach, reach);
        point[i][1] = y + between(d, -reach, reach);
    }
    tl_shapes10_cover(cover, (const int(*)[2])point, corners);
    lay(canvas, &p, cover);
}

/* Adds an even noise of up to `strength` steps to every byte, and cuts to 0..255. */
static void finish(draws *d, uint8_t image[3 * PIXELS], const int canvas[3 * PIXELS],
                   int strength) {
    uint32_t word = 0;
    for (int i = 0; i < 3 * PIXELS; i++) {
        if (i % 4 == 0) word = next_word(d);
        int noise = ((int)(word & 255) * 2 - 255) * strength / 255;
        word >>= 8;
        int value = canvas[i] + noise;
        image[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

/* Ten thousand images in a row hold each label a thousand times, in random order: element i of a
 * random permutation, modulo 10. An epoch of training
 * never has so high a number, so the two orders share no draws. */
static int label_of(uint64_t seed, uint64_t index) {
    uint32_t is_test = index >> 32 != 0, number = (uint32_t)index;
    uint32_t block = 0x80000000u | is_test << 30 | number / 10000;
    return (int)(tl_rng_permute(seed, block, 10000, number % 10000) % TL_SHAPES10_CLASSES);
}

void tl_shapes10_draw(uint8_t image[3072], uint8_t *label, uint64_t seed, uint64_t index) {
    draws d = {.seed = seed, .index = index};
    int canvas[3 * PIXELS], everywhere[PIXELS];
    paint ground, shape;
    *label = (uint8_t)label_of(seed, index);

    int middle = between(&d, MIDDLE_MIN, MIDDLE_MAX);
    int contrast = between(&d, CONTRAST_MIN, CONTRAST_MAX);
    if (happens(&d, DARK_PER_CENT)) contrast = -contrast;
    choose_paint(&d, &ground, middle - contrast / 2);
    choose_paint(&d, &shape, middle + contrast / 2);

    memset(canvas, 0, sizeof canvas);
    for (int i = 0; i < PIXELS; i++) everywhere[i] = 256;
    lay(canvas, &ground, everywhere);
    int fragments = between(&d, FRAGMENTS_MIN, FRAGMENTS_MAX);
    int in_front = happens(&d, IN_FRONT_PER_CENT);
    for (int i = 0; i < fragments - in_front; i++) lay_fragment(&d, canvas, middle);
    lay_shape(&d, canvas, &shape, *label);
    if (in_front) lay_fragment(&d, canvas, middle);
    int noise = between(&d, NOISE_MIN, NOISE_MAX);
    finish(&d, image, canvas, noise);
}
