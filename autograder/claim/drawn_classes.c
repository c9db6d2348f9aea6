/* drawn_classes.c: see drawn_classes.h. */
#include "drawn_classes.h"

#include <math.h>

#include "autograder/oracle/oracle.h"
#include "tl/nets.h"

enum { SQUARES = 4, SQUARE = CLASSES_SIDE / SQUARES, NOISE = 60, APART = 5 };

/* Patterns differ in at least APART squares, so that no two can be confused. */
drawn_classes classes_draw(claim *c) {
    drawn_classes d;
    for (int k = 0; k < CLASSES; k++) {
        bool far = false;
        while (!far) {
            d.pattern[k] = (uint16_t)draw_bits(c);
            far = true;
            for (int i = 0; i < k; i++)
                far = far && __builtin_popcount(d.pattern[k] ^ d.pattern[i]) >= APART;
        }
        d.label[k] = (uint8_t)k;
    }
    for (int k = CLASSES - 1; k > 0; k--) { /* Fisher-Yates */
        int j = draw_int(c, 0, k);
        uint8_t swap = d.label[k];
        d.label[k] = d.label[j];
        d.label[j] = swap;
    }
    for (int i = 0; i < 256; i++) d.lut[i] = (tl_real)((i / 255.0 - 0.5) / 0.4);
    return d;
}

static void draw_picture(claim *c, const drawn_classes *d, int class, uint8_t *picture) {
    int dx = draw_int(c, -1, 1), dy = draw_int(c, -1, 1);
    for (int row = 0; row < CLASSES_SIDE; row++)
        for (int col = 0; col < CLASSES_SIDE; col++) {
            int i = row + dy, j = col + dx;
            bool inside = i >= 0 && i < CLASSES_SIDE && j >= 0 && j < CLASSES_SIDE;
            int square = i / SQUARE * SQUARES + j / SQUARE;
            int level = inside && (d->pattern[class] >> square & 1) ? 190 : 65;
            *picture++ = (uint8_t)(level + draw_int(c, -NOISE, NOISE));
        }
}

tl_device_split classes_pictures(claim *c, const drawn_classes *d, size_t count) {
    tl_device_split s = {
        .count = count, .c = 1, .h = CLASSES_SIDE, .w = CLASSES_SIDE, .classes = CLASSES};
    s.images = claim_memory(c, count, CLASSES_PIXELS);
    s.labels = claim_memory(c, count, 1);
    s.lut = copy_reals(c, d->lut, 256);
    for (size_t i = 0; i < count; i++) {
        int class = draw_int(c, 0, CLASSES - 1);
        draw_picture(c, d, class, s.images + i * CLASSES_PIXELS);
        s.labels[i] = d->label[class];
    }
    return s;
}

/* ---- the net ---- */

static size_t features(const classes_net *n) {
    return n->channels ? (size_t)n->channels * CLASSES_PIXELS / 4 : CLASSES_PIXELS;
}

/* Where each parameter begins in the flat array: at multiples of 64 (tl/params.h). */
typedef struct places {
    size_t conv_w, conv_b, w, b, size;
} places;

static size_t room(size_t n) { return (n + 63) / 64 * 64; }

static places places_of(const classes_net *n) {
    places p = {.conv_w = 0};
    p.conv_b = room((size_t)n->channels * 9);
    p.w = p.conv_b + room((size_t)n->channels);
    p.b = p.w + room(features(n) * CLASSES);
    p.size = p.b + room(CLASSES);
    return p;
}

size_t classes_net_size(const classes_net *n) { return places_of(n).size; }

size_t classes_net_layers(const classes_net *n, int64_t *program, size_t length) {
    const int64_t layers[][TRAIN_LAYER] = {
        {TL_LAYER_CONV, n->channels, 1, 0}, {TL_LAYER_RELU, 0, 0, 0},
        {TL_LAYER_POOL, 0, 0, 0},           {TL_LAYER_FLATTEN, 0, 0, 0},
        {TL_LAYER_LINEAR, CLASSES, 0, 0},   {TL_LAYER_END, 0, 0, 0}};
    for (int i = n->channels ? 0 : 3; i < 6; i++)
        for (int k = 0; k < TRAIN_LAYER; k++) program[length++] = layers[i][k];
    return length;
}

/* What the linear layer sees of one picture. */
static void see(claim *c, const classes_net *n, const double *weights, const double *picture,
                double *seen) {
    const places at = places_of(n);
    tl_conv2d_geom conv = {1, 1, CLASSES_SIDE, CLASSES_SIDE, n->channels, 3, 3, 1, 1, 1, 1, 1, 1,
                           0, 0};
    tl_pool2d_geom pool = {1, n->channels, CLASSES_SIDE, CLASSES_SIDE, 2, 2, 2, 2, 0, 0, 0, 0};
    double y[16 * CLASSES_PIXELS];
    int32_t argmax[16 * CLASSES_PIXELS / 4];
    if (!n->channels) {
        for (int i = 0; i < CLASSES_PIXELS; i++) seen[i] = picture[i];
        return;
    }
    if (tl_conv2d_check(&conv) != TL_OK || tl_pool2d_check(&pool) != TL_OK || n->channels > 16)
        claim_fail(c, "the net of drawn_classes.c: %s", tl_error());
    oracle_conv2d_fwd(y, NULL, picture, weights + at.conv_w, weights + at.conv_b, &conv);
    for (size_t i = 0; i < tl_conv2d_y_size(&conv); i++) y[i] = y[i] > 0 ? y[i] : 0;
    oracle_maxpool2d_fwd(seen, argmax, y, &pool);
}

double classes_accuracy(claim *c, const drawn_classes *d, const classes_net *n,
                        const tl_real *weights, size_t count) {
    const places at = places_of(n);
    double *w = widen(c, weights, at.size), *seen = doubles(c, features(n)), hits = 0;
    const tl_linear_geom last = {1, (int)features(n), CLASSES};
    tl_device_split s = classes_pictures(c, d, count);
    for (size_t i = 0; i < at.size; i++)
        if (!isfinite(w[i])) return NAN;
    for (size_t i = 0; i < count; i++) {
        double picture[CLASSES_PIXELS], score[CLASSES];
        for (int k = 0; k < CLASSES_PIXELS; k++)
            picture[k] = d->lut[s.images[i * CLASSES_PIXELS + (size_t)k]];
        see(c, n, w, picture, seen);
        oracle_linear_fwd(score, NULL, seen, w + at.w, w + at.b, &last);
        hits += oracle_argmax(score, CLASSES) == s.labels[i];
    }
    return hits / (double)count;
}
