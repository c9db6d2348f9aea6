/* training.c: see training.h. */
#include "training.h"

#include <math.h>

#include "tl/optim.h"

enum { JUDGED = 500 };

/* The program: header, layers, so many epochs, and the weights. */
static size_t write_program(const training_plan *p, int64_t *program, uint64_t seed) {
    int steps = (p->images + p->batch - 1) / p->batch * p->epochs;
    const int64_t header[TRAIN_HEADER] = {[TRAIN_C] = 1,
                                          [TRAIN_H] = CLASSES_SIDE,
                                          [TRAIN_W] = CLASSES_SIDE,
                                          [TRAIN_CLASSES] = CLASSES,
                                          [TRAIN_COUNT] = p->images,
                                          [TRAIN_TEST_COUNT] = 1, /* the buffer has one too many */
                                          [TRAIN_BATCH] = p->batch,
                                          [TRAIN_AUGMENT] = p->pad > 0,
                                          [TRAIN_PAD] = p->pad,
                                          [TRAIN_SEED] = (int64_t)(seed >> 1),
                                          [TRAIN_ADAM] = p->adam,
                                          [TRAIN_SCHEDULE] = p->schedule,
                                          [TRAIN_TURN] = (steps + 1) / 2,
                                          [TRAIN_TOTAL] = steps};
    for (int i = 0; i < TRAIN_HEADER; i++) program[i] = header[i];
    size_t length = classes_net_layers(&p->net, program, TRAIN_HEADER);
    for (int i = 0; i < p->epochs; i++) program[length++] = TRAIN_EPOCH;
    program[length++] = TRAIN_READ_WEIGHTS;
    return length;
}

void expect_training(claim *c, const call_target *t, const training_plan *p) {
    int64_t program[128];
    const double number[TRAIN_NUMBERS] = {p->lr, 0.5, p->momentum, 0, 0.9, 0.999, 1e-8};
    drawn_classes d = classes_draw(c);
    tl_device_split s = classes_pictures(c, &d, (size_t)p->images + 1);
    size_t size = classes_net_size(&p->net), length = write_program(p, program, draw_bits(c));
    tl_real *weights = reals(c, size);
    call_report r;
    claim_case(c, t, "training on %d pictures of ten classes, %d epochs in batches of %d, %s",
               p->images, p->epochs, p->batch, p->name);
    call_train(t, &r, weights, size, NULL, 0, &s, number, program, length);
    expect_ok(c, &r);
    if (c->case_failed) return;
    double accuracy = classes_accuracy(c, &d, &p->net, weights, JUDGED);
    expect_true(
        c, accuracy >= p->accuracy,
        "the returned weights get %.1f %% of %d new pictures right, and %.0f %% are asked for",
        100 * accuracy, (int)JUDGED, 100 * p->accuracy);
}
