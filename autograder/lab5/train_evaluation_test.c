/* train_evaluation_test.c: evaluation sees plain images, drops nothing and changes nothing. */
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/train_replay.h"
#include "autograder/claim/verdict.h"

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
