/* drawn_classes.h: pictures of ten drawn patterns, to train on and to judge by.
 *
 * A class is a pattern of 16 squares, black or white; a picture shows it shifted by up to a pixel
 * with noise on top. Labels are a drawn permutation of the classes, so nothing about them can be
 * known before. Pictures to judge by are drawn after training, and never leave the grader. */
#ifndef TESTS_DRAWN_CLASSES_H
#define TESTS_DRAWN_CLASSES_H

#include "autograder/call/train.h"
#include "autograder/call/call_ops.h"
#include "claim.h"

enum { CLASSES_SIDE = 12, CLASSES_PIXELS = CLASSES_SIDE * CLASSES_SIDE, CLASSES = 10 };

typedef struct drawn_classes {
    uint16_t pattern[CLASSES];
    uint8_t label[CLASSES];
    tl_real lut[256]; /* standardised, as data sets are */
} drawn_classes;

drawn_classes classes_draw(claim *c);
/* count pictures with their labels, as a data set on the host. */
tl_device_split classes_pictures(claim *c, const drawn_classes *d, size_t count);

/* A net to train on them; convolution, ReLU and pooling are left out where channels is 0:
 * [conv 3x3 to `channels` -> ReLU -> pool 2x2 ->] flatten -> linear to the classes. */
typedef struct classes_net {
    int channels;
} classes_net;
/* Length of the flat array of its parameters, gaps included. */
size_t classes_net_size(const classes_net *n);
/* Appends its layers to a training program; returns the new length. */
size_t classes_net_layers(const classes_net *n, int64_t *program, size_t length);
/* Share of `count` newly drawn pictures that the net with these weights gets right, by definition
 * (the oracle); NaN where a weight is no number. */
double classes_accuracy(claim *c, const drawn_classes *d, const classes_net *n,
                        const tl_real *weights, size_t count);

#endif
