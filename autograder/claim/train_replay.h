/* train_replay.h: the training loop, replayed call by call.
 *
 * The net is one linear layer on flattened images. What the loop does is then a chain of calls that
 * other claims judge: batch_load, a small graph program, sgd_step. The loop must give their bits.
 */
#ifndef CLAIM_TRAIN_REPLAY_H
#define CLAIM_TRAIN_REPLAY_H

#include "autograder/call/train.h"
#include "autograder/claim/claim.h"
#include "tl/data.h"

enum { C = 2, H = 3, W = 4, PIXELS = C * H * W, KINDS = 5, WEIGHTS = KINDS * PIXELS };
enum { COUNT = 11, TESTS = 7, BATCH = 4, STEPS = 3 }; /* steps an epoch, the last of 3 images */
/* the flat array: each parameter starts at a multiple of 64 (tl/params.h) */
enum { BIAS = (WEIGHTS + 63) / 64 * 64, FLAT = BIAS + 64 };

/* The first rate, its factor every 2 steps, momentum, weight decay. */
extern const double train_number[TRAIN_NUMBERS];

/* One training: what is drawn, and how far a replay of it has come. All arrays are the claim's
 * memory: freed with it, and shared by copies of the struct. */
typedef struct course {
    tl_device_split both, train, test; /* host arrays; both: the test images behind the others */
    int batch;
    tl_real *start; /* weights, then biases, without a gap */
    uint64_t seed;
    bool dropout; /* half of the pixels are dropped in training */
    bool plain;   /* nothing is augmented, whatever pad is */
    /* what the replay keeps, FLAT numbers each */
    tl_real *flat, *velocity, *grad;
    double loss;    /* added image by image, like the sums on the device */
    uint64_t count; /* images */
} course;

course draw_course_of(claim *c, int count, int batch);
course draw_course(claim *c); /* COUNT images in batches of BATCH */

/* Trains by `code` (call_train_code), after the header that all claims share, and returns what it
 * reads, which must be `results` numbers; an error is a failure of the claim. */
tl_real *run_training(claim *c, const call_target *t, const course *k, const char *what,
                      size_t results, const int64_t code[], size_t length);
#define RUN(c, t, k, what, results, ...)                                                           \
    run_training((c), (t), (k), (what), (results), (const int64_t[]){__VA_ARGS__},                 \
                 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Loss and gradients of one batch of b->n images of the split, by calls: k->grad, and added to
 * k->loss and k->count. What is compared with them is the call before, and a message names that. */
void replay_batch(claim *c, const call_target *t, course *k, const tl_device_split *split,
                  const tl_step *step, const tl_batch_geom *b);

/* Epochs step by step; the rate of each is that of its number, or what a mistake makes of it. */
typedef enum rate_told { RIGHT, OF_STEP_0, AS_FLOAT } rate_told;
void replay_epochs(claim *c, const call_target *t, course *k, int epochs, rate_told rate);

/* sums[0], the sum of losses, and sums[2], of images counted, as TRAIN_READ_SUMS reads them. */
void expect_sums(claim *c, const tl_real *sums, const course *k);

#endif
