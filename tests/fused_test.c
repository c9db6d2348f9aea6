/* fused_test.c: layers in one kernel give what the plain operations of the cpu give (tl/fused.h).
 *
 * A net of two blocks and a last linear layer, trained one batch: on a target with rungs its
 * gradients and loss come from the fused entries, with weights and images the suite draws. */
#include "autograder/call/train.h"
#include "autograder/call/call_ops.h"
#include "autograder/claim/expect.h"

#include <math.h>
#include <string.h>

#include "tl/nets.h"

enum { CLASSES = 5 };

typedef struct shape {
    int n, c, h, w, k, pad, k2, pad2, features;
    bool pool, pool2;
} shape;

/* Odd sizes, k that no vector divides, sums in one piece and in several, planes of one window. */
static const shape shapes[] = {
    {3, 1, 6, 5, 1, 0, 3, 1, 7, false, true},      {5, 3, 9, 8, 6, 1, 4, 2, 12, true, false},
    {64, 2, 16, 16, 8, 1, 16, 1, 32, true, false}, {7, 4, 12, 20, 5, 2, 2, 0, 9, true, true},
    {130, 3, 8, 8, 8, 1, 12, 1, 64, false, false}, {2, 8, 4, 4, 16, 1, 32, 1, 256, false, false},
    {33, 3, 32, 32, 8, 1, 8, 1, 20, true, true},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static size_t padded(size_t n) { return (n + 63) / 64 * 64; }

/* Sizes of the six parameters, and the shape that reaches the linear layers. */
static void parameter_sizes(const shape *s, size_t size[8]) {
    int h = s->h + 2 * s->pad - 2, w = s->w + 2 * s->pad - 2;
    if (s->pool) h /= 2, w /= 2;
    h += 2 * s->pad2 - 2, w += 2 * s->pad2 - 2;
    if (s->pool2) h /= 2, w /= 2;
    const int in = s->k2 * h * w;
    const int of[8] = {s->k * s->c * 9,  s->k,        s->k2 * s->k * 9,      s->k2,
                       s->features * in, s->features, CLASSES * s->features, CLASSES};
    for (int i = 0; i < 8; i++) size[i] = (size_t)of[i];
}

static size_t add_layer(int64_t *program, size_t used, int kind, int out, int pad) {
    const int64_t row[TRAIN_LAYER] = {kind, out, pad, 0};
    memcpy(program + used, row, sizeof row);
    return used + TRAIN_LAYER;
}

/* Gradients of the first batch, twice over (they start from zero each time), then loss, hits, count
 * of both, then loss and accuracy of an evaluation. */
static size_t write_program(const shape *s, int64_t program[128]) {
    const int64_t header[TRAIN_HEADER] = {
        [TRAIN_C] = s->c,          [TRAIN_H] = s->h,     [TRAIN_W] = s->w,
        [TRAIN_CLASSES] = CLASSES, [TRAIN_COUNT] = s->n, [TRAIN_TEST_COUNT] = 1,
        [TRAIN_BATCH] = s->n,      [TRAIN_SEED] = 3,     [TRAIN_TURN] = 1,
        [TRAIN_TOTAL] = 9};
    memcpy(program, header, sizeof header);
    size_t used = TRAIN_HEADER;
    used = add_layer(program, used, TL_LAYER_CONV, s->k, s->pad);
    used = add_layer(program, used, TL_LAYER_RELU, 0, 0);
    if (s->pool) used = add_layer(program, used, TL_LAYER_POOL, 0, 0);
    used = add_layer(program, used, TL_LAYER_CONV, s->k2, s->pad2);
    used = add_layer(program, used, TL_LAYER_RELU, 0, 0);
    if (s->pool2) used = add_layer(program, used, TL_LAYER_POOL, 0, 0);
    used = add_layer(program, used, TL_LAYER_FLATTEN, 0, 0);
    used = add_layer(program, used, TL_LAYER_LINEAR, s->features, 0);
    used = add_layer(program, used, TL_LAYER_RELU, 0, 0);
    used = add_layer(program, used, TL_LAYER_LINEAR, CLASSES, 0);
    used = add_layer(program, used, TL_LAYER_END, 0, 0);
    const int64_t code[] = {
        TRAIN_LOAD,      TRAIN_GRADIENTS, s->n, TRAIN_GRADIENTS, s->n, TRAIN_READ_GRADS,
        TRAIN_READ_SUMS, TRAIN_EVALUATE,  0};
    memcpy(program + used, code, sizeof code);
    return used + sizeof code / sizeof *code;
}

/* |got - want| over the whole array against its length: a sum of n products, rounded one by one, is
 * off by about sqrt(n) units; six times that over the longest sum of the net. A gradient that TF32
 * inputs made lies far outside. */
static void expect_near(claim *c, const char *name, const tl_real *got, const tl_real *want,
                        size_t size, double terms) {
    double off = 0, length = 0;
    for (size_t i = 0; i < size; i++) {
        off += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
        length += (double)want[i] * (double)want[i];
    }
    double unit = sizeof(tl_real) == sizeof(float) ? ldexp(1, -24) : ldexp(1, -53);
    expect_number(c, name, sqrt(off), 0, 6 * sqrt(terms) * unit * sqrt(length));
}

CLAIM(fused, blocks_agree_with_plain_operations_of_the_cpu) {
    static const char *const name[] = {"dw of conv 1", "db of conv 1", "dw of conv 2",
                                       "db of conv 2", "dw of fc 1",   "db of fc 1",
                                       "dw of fc 2",   "db of fc 2"};
    static const double number[TRAIN_NUMBERS] = {0.1, 1};
    FOR_TARGETS (t)
        for (int i = 0; i < SHAPES; i++) {
            const shape *s = &shapes[i];
            size_t size[8], weights = 0, flat = 0, at = 0;
            parameter_sizes(s, size);
            for (int p = 0; p < 8; p++) weights += size[p], flat += padded(size[p]);
            tl_real *start = draw_reals(c, weights);
            for (int p = 0; p < 8; p++) { /* smaller weights where many are added */
                double scale = p % 2 ? 0.1 : sqrt(3 / ((double)size[p] / (double)size[p + 1]));
                for (size_t e = 0; e < size[p]; e++) start[at++] *= (tl_real)scale;
            }
            tl_device_split both = {.count = (size_t)s->n + 1, .c = s->c, .h = s->h, .w = s->w};
            size_t image = (size_t)s->c * (size_t)s->h * (size_t)s->w;
            both.classes = CLASSES;
            both.images = claim_memory(c, both.count * image, 1);
            both.labels = claim_memory(c, both.count, 1);
            both.lut = draw_reals(c, (size_t)s->c * 256);
            for (size_t e = 0; e < both.count * image; e++) both.images[e] = (uint8_t)draw_bits(c);
            for (size_t e = 0; e < both.count; e++)
                both.labels[e] = (uint8_t)draw_int(c, 0, CLASSES - 1);
            int64_t program[128];
            size_t length = write_program(s, program), results = flat + 6;
            const call_target plain = {.device = "cpu", .rungs = "none", .threads = 1};
            tl_real *got = reals(c, results), *want = reals(c, results);
            call_report r;
            claim_case(c, t, "shape %d: %d images of %dx%dx%d, %d and %d filters", i, s->n, s->c,
                       s->h, s->w, s->k, s->k2);
            call_train(&plain, &r, want, results, start, weights, &both, number, program, length);
            expect_ok(c, &r);
            call_train(t, &r, got, results, start, weights, &both, number, program, length);
            expect_ok(c, &r);
            double terms = (double)s->n * s->h * s->w;
            at = 0;
            for (int p = 0; p < 8; p++) {
                expect_near(c, name[p], got + at, want + at, size[p], terms);
                at += padded(size[p]);
            }
            expect_near(c, "sum of losses", got + flat, want + flat, 1, terms);
            expect_near(c, "images counted", got + flat + 2, want + flat + 2, 1, 1);
            expect_near(c, "loss of the evaluation", got + flat + 3, want + flat + 3, 1, terms);
        }
}
