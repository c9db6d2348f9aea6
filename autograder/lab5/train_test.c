/* train_test.c: training moves weights and position as a replay of its calls does. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/train_replay.h"
#include "autograder/claim/training.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

#include <stdio.h>
#include <string.h>

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
        const tl_step step = {.seed = k.seed, .lr = train_number[0]};
        const tl_sgd_options o = {.momentum = train_number[2], .weight_decay = train_number[3]};
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
    replay_epochs(c, t, &k, 2, RIGHT);
    const bool wrong = memcmp(out, k.flat, FLAT * sizeof *out) != 0;
    for (int i = OF_STEP_0; wrong && i <= AS_FLOAT; i++)
        replay_epochs(c, t, &mistaken[i], 2, (rate_told)i);
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
        replay_epochs(c, t, &k, 1, RIGHT);
        expect_same_bits(c, "weights", out, k.flat, SHAPE(FLAT));
        expect_sums(c, out + FLAT, &k);
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
        replay_epochs(c, t, &k, 1, RIGHT);
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
