/* train_test.c: the training loop, replayed call by call.
 *
 * The net is one linear layer on flattened images. What the loop does is then a chain of calls that
 * other claims judge: batch_load, a small graph program, sgd_step. The loop must give their bits.
 */
#include "autograder/call/train.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/graph_build.h"
#include "autograder/claim/training.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

#include <stdio.h>
#include <string.h>

#include "tl/nets.h"

enum { C = 2, H = 3, W = 4, PIXELS = C * H * W, KINDS = 5, WEIGHTS = KINDS * PIXELS };
enum { COUNT = 11, TESTS = 7, BATCH = 4, STEPS = 3 }; /* steps an epoch, the last of 3 images */
/* the flat array: each parameter starts at a multiple of 64 (tl/params.h) */
enum { BIAS = (WEIGHTS + 63) / 64 * 64, FLAT = BIAS + 64 };

/* (no float is the first rate) */
static const double number[TRAIN_NUMBERS] = {0.3, 0.5, 0.75, 0.01};

typedef struct course {
    tl_device_split both, train, test; /* host arrays; both: the test images behind the others */
    int batch;
    tl_real *start; /* weights, then biases, without a gap */
    uint64_t seed;
    bool dropout; /* half of the pixels are dropped in training */
    bool plain;   /* nothing is augmented, whatever pad is */
    /* what the replay keeps */
    tl_real *flat, *velocity, *grad;
    double loss; /* added image by image, like the sums on the device */
    uint64_t count;
} course;

static course draw_course_of(claim *c, int count, int batch) {
    course k = {.batch = batch, .seed = draw_bits(c) >> 1};
    const int both = count + TESTS;
    k.both = (tl_device_split){.count = (size_t)both, .c = C, .h = H, .w = W, .classes = KINDS};
    k.both.images = claim_memory(c, k.both.count * PIXELS, 1);
    k.both.labels = claim_memory(c, k.both.count, 1);
    k.both.lut = draw_reals(c, C * 256);
    for (int i = 0; i < both * PIXELS; i++) k.both.images[i] = (uint8_t)draw_bits(c);
    for (int i = 0; i < both; i++) k.both.labels[i] = (uint8_t)draw_int(c, 0, KINDS - 1);
    k.train = k.test = k.both;
    k.train.count = (size_t)count;
    k.test.count = TESTS;
    k.test.images += count * PIXELS;
    k.test.labels += count;
    k.start = draw_reals(c, WEIGHTS + KINDS);
    k.flat = reals(c, FLAT);
    k.velocity = reals(c, FLAT);
    k.grad = reals(c, FLAT);
    memcpy(k.flat, k.start, WEIGHTS * sizeof *k.flat);
    memcpy(k.flat + BIAS, k.start + WEIGHTS, KINDS * sizeof *k.flat);
    return k;
}

static course draw_course(claim *c) { return draw_course_of(c, COUNT, BATCH); }

/* Runs the program after the header that all claims share; results must be `results` numbers. */
static tl_real *run_program(claim *c, const call_target *t, const course *k, const char *what,
                            size_t results, const int64_t code[], size_t length) {
    int64_t program[64] = {[TRAIN_C] = C,
                           [TRAIN_H] = H,
                           [TRAIN_W] = W,
                           [TRAIN_CLASSES] = KINDS,
                           [TRAIN_COUNT] = (int64_t)k->train.count,
                           [TRAIN_TEST_COUNT] = TESTS,
                           [TRAIN_BATCH] = k->batch,
                           [TRAIN_AUGMENT] = !k->plain,
                           [TRAIN_PAD] = 1,
                           [TRAIN_SEED] = (int64_t)k->seed,
                           [TRAIN_SCHEDULE] = TL_SCHEDULE_STEP,
                           [TRAIN_TURN] = 2,
                           [TRAIN_TOTAL] = 6};
    const int64_t layers[] = {TL_LAYER_FLATTEN, 0,     0, 0, TL_LAYER_DROPOUT, 0, 0, 500,
                              TL_LAYER_LINEAR,  KINDS, 0, 0, TL_LAYER_END,     0, 0, 0,
                              TRAIN_LOAD};
    size_t used = TRAIN_HEADER;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (k->dropout || i / TRAIN_LAYER != 1) program[used++] = layers[i];
    memcpy(program + used, code, length * sizeof *code);
    call_report r;
    tl_real *out = reals(c, results);
    claim_case(c, t, "training a linear layer: %s", what);
    call_train(t, &r, out, results, k->start, WEIGHTS + KINDS, &k->both, number, program,
               used + length);
    expect_ok(c, &r);
    return out;
}
#define RUN(c, t, k, what, results, ...)                                                           \
    run_program((c), (t), (k), (what), (results), (const int64_t[]){__VA_ARGS__},                  \
                sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Loss and gradients of one batch of n images, by calls. What is compared with them is the call
 * before, and a message names that. */
static void replay_batch(claim *c, const call_target *t, course *k, const tl_device_split *split,
                         const tl_step *step, const tl_batch_geom *b) {
    call_report r;
    tl_real *x = reals(c, (size_t)b->n * PIXELS);
    int32_t *label = ints(c, (size_t)b->n);
    char judged[sizeof c->call];
    memcpy(judged, c->call, sizeof judged);
    claim_case(c, t, "the replay of a batch");
    call_batch_load(t, &r, x, label, split, step, b);
    expect_ok(c, &r);
    graph g = graph_new(c, 20, (size_t)b->n * PIXELS + WEIGHTS + KINDS);
    memcpy(g.label, label, (size_t)b->n * sizeof *label);
    g.labels = (size_t)b->n;
    int in = graph_input_of(&g, SHAPE(b->n, C, H, W), x, false);
    int w = graph_parameter_of(&g, SHAPE(KINDS, PIXELS), k->flat);
    int bias = graph_parameter_of(&g, SHAPE(KINDS), k->flat + BIAS);
    int flat = GRAPH(&g, SHAPE(b->n, PIXELS), GRAPH_RESHAPE, in, 2, b->n, PIXELS, 1, 1);
    int logits = GRAPH(&g, SHAPE(b->n, KINDS), GRAPH_LINEAR, flat, w, bias);
    DO(&g, GRAPH_BACKWARD, GRAPH(&g, SHAPE(1), GRAPH_SOFTMAX, logits));
    graph_read(&g, GRAPH_READ_VALUE, logits);
    graph_read(&g, GRAPH_READ_GRAD, w);
    graph_read(&g, GRAPH_READ_GRAD, bias);
    graph_run(&g, t, &r, "the replay of a batch");
    expect_ok(c, &r);
    memcpy(k->grad, graph_result(&g, w), WEIGHTS * sizeof *k->grad);
    memcpy(k->grad + BIAS, graph_result(&g, bias), KINDS * sizeof *k->grad);
    tl_real loss, *row_loss = reals(c, (size_t)b->n), *prob = reals(c, (size_t)b->n * KINDS);
    call_softmax_xent_fwd(t, &r, &loss, row_loss, prob, graph_result(&g, logits), label, b->n,
                          KINDS);
    expect_ok(c, &r);
    for (int i = 0; i < b->n; i++) k->loss += row_loss[i];
    k->count += (uint64_t)b->n;
    memcpy(c->call, judged, sizeof judged);
}

/* Epochs step by step; the rate of each is that of its number, or what a mistake makes of it. */
typedef enum rate_told { RIGHT, OF_STEP_0, AS_FLOAT } rate_told;
static void replay(claim *c, const call_target *t, course *k, int epochs, rate_told rate) {
    const int count = (int)k->train.count;
    uint64_t index = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        k->loss = 0;
        k->count = 0;
        for (int first = 0; first < count; first += k->batch, index++) {
            call_report r;
            double lr;
            const tl_schedule schedule = {TL_SCHEDULE_STEP, number[0], number[1], 2, 6};
            const tl_sgd_options o = {.momentum = number[2], .weight_decay = number[3]};
            call_schedule_lr(t, &r, &lr, 1, rate == OF_STEP_0 ? 0 : index, &schedule);
            expect_ok(c, &r);
            if (rate == AS_FLOAT) lr = (float)lr;
            const tl_step step = {k->seed, index, (uint32_t)epoch, (uint32_t)first, lr};
            int n = count - first < k->batch ? count - first : k->batch;
            replay_batch(c, t, k, &k->train, &step, &(tl_batch_geom){n, 1, 1, 1});
            call_sgd_step(t, &r, k->flat, k->velocity, k->grad, FLAT, &step, &o);
            expect_ok(c, &r);
        }
    }
}

static void replay_steps(claim *c, const call_target *t, course *k, int epochs) {
    replay(c, t, k, epochs, RIGHT);
}

/* Sums come back rounded once to tl_real. */
static void expect_sums(claim *c, const tl_real *sums, const course *k) {
    const double want[] = {(tl_real)k->loss, (double)k->count};
    expect_equal(c, "sum of losses", sums, want, SHAPE(1));
    expect_equal(c, "images counted", sums + 2, want + 1, SHAPE(1));
}

/* tr->augment says whether training images are augmented at all; pad alone does not. */
static void expect_plain_gradients(claim *c, const call_target *t) {
    course k = draw_course(c);
    k.plain = true;
    const tl_step step = {.seed = k.seed};
    tl_real *out = RUN(c, t, &k, "gradients where nothing is to be augmented", FLAT,
                       TRAIN_GRADIENTS, BATCH, TRAIN_READ_GRADS);
    replay_batch(c, t, &k, &k.train, &step, &(tl_batch_geom){BATCH, 1, 0, 0});
    expect_same_bits(c, "gradients", out, k.grad, SHAPE(FLAT));
    if (c->case_failed) finding_pattern_of_case(c, "unaugmented");
}

/* Twice, because gradients are zeroed first while sums go on. */
CLAIM(lab5_train, gradients_are_those_of_the_next_batch) {
    FOR_TARGETS (t) {
        course k = draw_course(c);
        const tl_step step = {.seed = k.seed};
        tl_real *out =
            RUN(c, t, &k, "gradients twice", FLAT + 6, TRAIN_GRADIENTS, BATCH, TRAIN_GRADIENTS,
                BATCH, TRAIN_READ_GRADS, TRAIN_READ_SUMS, TRAIN_READ_POSITION);
        for (int i = 0; i < 2; i++)
            replay_batch(c, t, &k, &k.train, &step, &(tl_batch_geom){BATCH, 1, 1, 1});
        expect_same_bits(c, "gradients", out, k.grad, SHAPE(FLAT));
        expect_sums(c, out + FLAT, &k);
        const double start[] = {0, 0, 0};
        expect_equal(c, "epoch, image, step", out + FLAT + 3, start, SHAPE(3));
        expect_plain_gradients(c, t);
    }
}

CLAIM(lab5_train, a_step_moves_weights_and_position) {
    FOR_TARGETS (t) {
        course k = draw_course(c);
        call_report r;
        const tl_step step = {.seed = k.seed, .lr = number[0]};
        const tl_sgd_options o = {.momentum = number[2], .weight_decay = number[3]};
        call_target failing = steps_failing(t);
        tl_real *out = RUN(c, &failing, &k, "one step of 3 images", FLAT + 3, TRAIN_STEP, 3,
                           TRAIN_READ_WEIGHTS, TRAIN_READ_POSITION);
        const bool unmoved = memcmp(out, k.flat, FLAT * sizeof *out) == 0;
        replay_batch(c, t, &k, &k.train, &step, &(tl_batch_geom){3, 1, 1, 1});
        call_sgd_step(t, &r, k.flat, k.velocity, k.grad, FLAT, &step, &o);
        expect_ok(c, &r);
        expect_same_bits(c, "weights", out, k.flat, SHAPE(FLAT));
        if (unmoved) finding_pattern_of_case(c, "weights_unmoved");
        const double position[] = {0, 3, 1};
        expect_equal(c, "epoch, image, step", out + FLAT, position, SHAPE(3));
    }
}

/* Order, crops, learning rates, momentum and the partial last batch of two epochs, bit for bit. */
void expect_two_epochs(claim *c, const call_target *t, int count, int batch) {
    course k = draw_course_of(c, count, batch);
    char what[80];
    snprintf(what, sizeof what, "two epochs of %d images in batches of %d", count, batch);
    call_target failing = steps_failing(t);
    tl_real *out = RUN(c, &failing, &k, what, FLAT + 6, TRAIN_EPOCH, TRAIN_EPOCH,
                       TRAIN_READ_WEIGHTS, TRAIN_READ_SUMS, TRAIN_READ_POSITION);
    course mistaken[] = {[OF_STEP_0] = k, [AS_FLOAT] = k};
    for (int i = OF_STEP_0; i <= AS_FLOAT; i++) {
        mistaken[i].flat = copy_reals(c, k.flat, FLAT);
        mistaken[i].velocity = copy_reals(c, k.velocity, FLAT);
    }
    replay_steps(c, t, &k, 2);
    const bool wrong = memcmp(out, k.flat, FLAT * sizeof *out) != 0;
    for (int i = OF_STEP_0; wrong && i <= AS_FLOAT; i++)
        replay(c, t, &mistaken[i], 2, (rate_told)i);
    const double images = (double)k.count; /* first, for it says most */
    const double position[] = {2, 0, 2 * ((count - 1) / batch + 1)};
    expect_equal(c, "images counted", out + FLAT + 2, &images, SHAPE(1));
    expect_equal(c, "epoch, image, step", out + FLAT + 3, position, SHAPE(3));
    expect_same_bits(c, "weights", out, k.flat, SHAPE(FLAT));
    for (int i = OF_STEP_0; wrong && i <= AS_FLOAT; i++)
        if (memcmp(out, mistaken[i].flat, FLAT * sizeof *out) == 0)
            finding_pattern_of_case(c, i == OF_STEP_0 ? "rate_of_step_0" : "rate_as_float");
    expect_sums(c, out + FLAT, &k);
}

CLAIM(lab5_train, two_epochs_are_their_steps) {
    FOR_TARGETS (t) {
        expect_two_epochs(c, t, COUNT, BATCH);
        expect_two_epochs(c, t, 2 * BATCH, BATCH); /* the last batch is a whole one */
        expect_two_epochs(c, t, BATCH - 1, BATCH); /* and here the only one is not */
    }
}

/* An epoch broken off after one step goes on where it stood. */
CLAIM(lab5_train, an_epoch_goes_on_where_it_was_left) {
    FOR_TARGETS (t) {
        course k = draw_course(c);
        tl_real *out = RUN(c, t, &k, "one step, then the rest of the epoch", FLAT + 3, TRAIN_STEP,
                           BATCH, TRAIN_EPOCH, TRAIN_READ_WEIGHTS, TRAIN_READ_SUMS);
        replay_steps(c, t, &k, 1);
        expect_same_bits(c, "weights", out, k.flat, SHAPE(FLAT));
        expect_sums(c, out + FLAT, &k);
    }
}

/* A forward pass that fails ends the evaluation, and leaves the tape as it was. */
static void expect_recording_restored(claim *c, const call_target *t, int which) {
    course k = draw_course(c);
    const double on = 1;
    tl_real *out =
        RUN(c, t, &k, "an evaluation whose forward fails", 1, TRAIN_FAIL_EVALUATE, which);
    expect_equal(c, "recording after a failure", out, &on, SHAPE(1));
}

/* An evaluation in the middle of an epoch, after which this goes on. */
static void expect_position_kept(claim *c, const call_target *t, int which) {
    course k = draw_course(c);
    tl_real *out = RUN(c, t, &k, "an evaluation in the middle of the second epoch", 6, TRAIN_EPOCH,
                       TRAIN_STEP, BATCH, TRAIN_EVALUATE, which, TRAIN_READ_POSITION);
    const double where[] = {1, BATCH, STEPS + 1};
    expect_equal(c, "epoch, image, step", out + 3, where, SHAPE(3));
    if (c->case_failed) finding_pattern_of_case(c, "by_an_evaluation");
}

/* The mean loss of an evaluation that shows the first images of its split in every batch, or
 * flips, to tell one from the other. */
static tl_real loss_of(claim *c, const call_target *t, const course *start,
                       const tl_device_split *split, bool stays, int augment) {
    course k = *start;
    k.loss = 0;
    k.count = 0;
    for (int first = 0; first < (int)split->count; first += BATCH) {
        const tl_step step = {.seed = k.seed, .first = stays ? 0 : (uint32_t)first};
        int left = (int)split->count - first;
        replay_batch(c, t, &k, split, &step,
                     &(tl_batch_geom){left < BATCH ? left : BATCH, 0, augment, 0});
    }
    return (tl_real)(k.loss / (double)k.count);
}

/* In order, uncropped, every image once; neither weights nor position move, and no node is left for
 * a backward pass that never comes. Twice: the second time the sums of the first are there. */
CLAIM(lab5_train, evaluation_sees_plain_images_and_changes_nothing) {
    FOR_TARGETS (t)
        for (int which = 0; which < 2; which++) {
            course k = draw_course(c);
            const tl_device_split *split = which ? &k.test : &k.train;
            call_target failing = steps_failing(t);
            tl_real *out =
                RUN(c, &failing, &k, which ? "two evaluations of the test set" : "two evaluations",
                    FLAT + 11, TRAIN_EVALUATE, which, TRAIN_READ_WEIGHTS, TRAIN_READ_POSITION,
                    TRAIN_EVALUATE, which, TRAIN_READ_RECORDED, TRAIN_READ_COPIES);
            for (int first = 0; first < (int)split->count; first += BATCH) {
                const tl_step step = {.seed = k.seed, .first = (uint32_t)first};
                int left = (int)split->count - first;
                replay_batch(c, t, &k, split, &step,
                             &(tl_batch_geom){left < BATCH ? left : BATCH, 0, 0, 0});
            }
            const double want[] = {(tl_real)(k.loss / (double)k.count), (double)k.count};
            tl_real stays = 0, mirrored = 0;
            if (out[0] != want[0]) {
                stays = loss_of(c, t, &k, split, true, 0);
                mirrored = loss_of(c, t, &k, split, false, 1);
            }
            expect_equal(c, "images", out + 2, want + 1, SHAPE(1)); /* first, for it says most */
            expect_equal(c, "mean loss", out, want, SHAPE(1));
            if (c->case_failed && out[0] == stays) finding_pattern_of_case(c, "same_batch_again");
            if (c->case_failed && out[0] == mirrored) finding_pattern_of_case(c, "mirrored_too");
            expect_same_bits(c, "weights", out + 3, k.flat, SHAPE(FLAT));
            const double start[] = {0, 0, 0};
            expect_equal(c, "epoch, image, step", out + 3 + FLAT, start, SHAPE(3));
            const bool right = !c->case_failed;
            expect_same_bits(c, "the second evaluation", out + 6 + FLAT, out, SHAPE(3));
            if (right) finding_pattern_of_case(c, "second_call");
            expect_equal(c, "batches that were recorded", out + 9 + FLAT, &start[0], SHAPE(1));
            const bool good = !c->case_failed;
            expect_true(c, out[10 + FLAT] <= 2, "%.0f copies to the host, and 2 are needed",
                        (double)out[10 + FLAT]);
            if (good) finding_pattern_of_case(c, "read_in_every_batch");
            expect_recording_restored(c, t, which);
            expect_position_kept(c, t, which);
        }
}

/* Warm-up, capture and replays of a full and a partial batch, of training and evaluation, with
 * steps run as they are before them. */
CLAIM(lab5_train, captured_steps_give_the_bits_of_plain_ones) {
    FOR_TARGETS (t) {
        course k = draw_course(c);
        k.dropout = true;
        enum { RESULTS = FLAT + 9 };
        tl_real *plain = RUN(c, t, &k, "four epochs", RESULTS, TRAIN_EPOCH, TRAIN_EPOCH,
                             TRAIN_EPOCH, TRAIN_EVALUATE, 1, TRAIN_EPOCH, TRAIN_EVALUATE, 1,
                             TRAIN_READ_WEIGHTS, TRAIN_READ_POSITION);
        call_target elsewhere = claim_elsewhere(t);
        tl_real *captured =
            RUN(c, &elsewhere, &k, "the same captured", RESULTS, TRAIN_EPOCH, TRAIN_GRAPH,
                TRAIN_EPOCH, TRAIN_EPOCH, TRAIN_EVALUATE, 1, TRAIN_EPOCH, TRAIN_EVALUATE, 1,
                TRAIN_READ_WEIGHTS, TRAIN_READ_POSITION);
        expect_same_bits(c, "metrics, weights, position", captured, plain, SHAPE(RESULTS));
    }
}

/* A net with dropout evaluates like the same net without, and trains unlike it. */
CLAIM(lab5_train, evaluation_drops_nothing) {
    FOR_TARGETS (t) {
        course k = draw_course(c);
        tl_real *plain = RUN(c, t, &k, "evaluation, gradients", FLAT + 3, TRAIN_EVALUATE, 1,
                             TRAIN_GRADIENTS, BATCH, TRAIN_READ_GRADS);
        k.dropout = true;
        call_target elsewhere = claim_elsewhere(t);
        tl_real *drop = RUN(c, &elsewhere, &k, "evaluation, gradients with dropout", FLAT + 3,
                            TRAIN_EVALUATE, 1, TRAIN_GRADIENTS, BATCH, TRAIN_READ_GRADS);
        expect_same_bits(c, "loss, accuracy, count", drop, plain, SHAPE(3));
        int differ = 0;
        for (int i = 3; i < 3 + FLAT; i++) differ += drop[i] != plain[i];
        expect_true(c, differ > WEIGHTS / 2, "only %d gradients notice the dropout", differ);
    }
}

/* A program's progress, logs and checkpoints hang on on_step: called after every step with the
 * number of its images, and its failure ends the epoch there. */
CLAIM(lab5_train, on_step_is_called_after_each_step_and_may_end_the_epoch) {
    FOR_TARGETS (t) {
        course k = draw_course(c);
        tl_real *out = RUN(c, t, &k, "an epoch that on_step ends after 2 steps, and its rest",
                           FLAT + 10, TRAIN_INTERRUPT, 2, TRAIN_READ_POSITION, TRAIN_READ_CALLS,
                           TRAIN_EPOCH, TRAIN_READ_CALLS, TRAIN_READ_WEIGHTS, TRAIN_READ_SUMS);
        const double broken_off[] = {0, 2 * BATCH, 2}, calls[] = {2, 2 * BATCH};
        const double rest[] = {STEPS, COUNT};
        expect_equal(c, "epoch, image, step where it ended", out, broken_off, SHAPE(3));
        expect_equal(c, "calls and images until then", out + 3, calls, SHAPE(2));
        expect_equal(c, "calls and images of the whole epoch", out + 5, rest, SHAPE(2));
        replay_steps(c, t, &k, 1);
        expect_same_bits(c, "weights", out + 7, k.flat, SHAPE(FLAT));
        expect_sums(c, out + 7 + FLAT, &k);
        const double end[] = {0, COUNT, STEPS};
        out = RUN(c, t, &k, "an epoch that on_step ends after its last step", 3, TRAIN_INTERRUPT,
                  STEPS, TRAIN_READ_POSITION);
        expect_equal(c, "epoch, image, step", out, end, SHAPE(3));
        if (c->case_failed) finding_pattern_of_case(c, "at_the_last_step");
        const double none[] = {0, 0}, position[] = {1, 0, STEPS};
        course quiet = draw_course(c);
        out = RUN(c, t, &quiet, "an epoch without on_step", 5, TRAIN_NO_ON_STEP, TRAIN_EPOCH,
                  TRAIN_READ_CALLS, TRAIN_READ_POSITION);
        expect_equal(c, "calls and images", out, none, SHAPE(2));
        expect_equal(c, "epoch, image, step", out + 2, position, SHAPE(3));
    }
}

/* What a batch of an evaluation takes is free again when the next one begins: so eleven batches
 * take as much as four at any time, whoever holds on to one or two of them. */
static void expect_evaluation_lets_go(claim *c, const call_target *t) {
    course k = draw_course_of(c, 21, 2);
    tl_real *out = RUN(c, t, &k, "memory after 4 batches of evaluation and after 11", 10,
                       TRAIN_EVALUATE, 1, TRAIN_READ_MEMORY, TRAIN_READ_PEAK, TRAIN_EVALUATE, 0,
                       TRAIN_READ_MEMORY, TRAIN_READ_PEAK);
    expect_true(c, out[8] == out[3], "%.0f bytes are out after 4 batches, %.0f after 11",
                (double)out[3], (double)out[8]);
    expect_true(c, out[9] == out[4], "at most %.0f bytes were out in 4 batches, %.0f in 11",
                (double)out[4], (double)out[9]);
    finding_pattern_of_case(c, "evaluation_piles_up");
}

/* What a step takes is free again when the next one begins: the tape is reset. */
CLAIM(lab5_train, later_steps_take_no_more_memory) {
    FOR_TARGETS (t) {
        course k = draw_course(c);
        tl_real *out = RUN(c, t, &k, "memory after two and after five epochs", 2 + FLAT,
                           TRAIN_EPOCH, TRAIN_EPOCH, TRAIN_READ_MEMORY, TRAIN_EPOCH, TRAIN_EPOCH,
                           TRAIN_EPOCH, TRAIN_READ_MEMORY, TRAIN_READ_WEIGHTS);
        expect_true(c, out[1] == out[0], "%.0f bytes are out after two epochs, %.0f after five",
                    (double)out[0], (double)out[1]);
        expect_evaluation_lets_go(c, t);
    }
}

/* A loop that learns: a convolution net with SGD, and with Adam. */
CLAIM(lab5_train, returned_weights_know_images_never_sent) {
    static const training_plan plans[] = {
        {"SGD with momentum", {8}, 600, 4, 20, 0, false, TL_SCHEDULE_COSINE, 0.05, 0.9, 0.75},
        {"Adam with crops", {8}, 600, 4, 20, 1, true, TL_SCHEDULE_TRIANGULAR, 0.01, 0, 0.75},
    };
    FOR_TARGETS (t)
        for (int i = 0; i < 2; i++) expect_training(c, t, &plans[i]);
}
