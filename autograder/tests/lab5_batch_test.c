/* lab5_batch_test.c: loading, shuffling and augmenting batches; sums of losses and hits. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "expect.h"

#include <string.h>

/* A small split whose table maps every byte, 0 included, to a number of its own. */
static tl_device_split draw_split(claim *c, int count, int ch, int h, int w) {
    tl_device_split s = {.count = (size_t)count, .c = ch, .h = h, .w = w, .classes = 10};
    size_t bytes = s.count * (size_t)ch * (size_t)h * (size_t)w;
    s.images = claim_memory(c, bytes, 1);
    s.labels = claim_memory(c, s.count, 1);
    s.lut = draw_reals(c, (size_t)ch * 256);
    for (size_t i = 0; i < bytes; i++) s.images[i] = (uint8_t)draw_bits(c);
    for (size_t i = 0; i < s.count; i++) s.labels[i] = (uint8_t)draw_int(c, 0, 9);
    return s;
}

static void expect_batch(claim *c, const call_target *t, const tl_device_split *s,
                         const tl_step *step, const tl_batch_geom *g) {
    const oracle_batch b = {g->n, g->shuffle, g->augment, g->pad,      (int)s->count, s->c,
                            s->h, s->w,       step->seed, step->epoch, step->first};
    size_t n = (size_t)g->n * (size_t)s->c * (size_t)s->h * (size_t)s->w, at = 0;
    tl_real *x = reals(c, n);
    double *want = doubles(c, n);
    int32_t *label = ints(c, (size_t)g->n), *want_label = ints(c, (size_t)g->n);
    for (int i = 0; i < g->n; i++) {
        want_label[i] = s->labels[oracle_batch_image(&b, i)];
        for (int ch = 0; ch < s->c; ch++)
            for (int row = 0; row < s->h; row++)
                for (int col = 0; col < s->w; col++)
                    want[at++] =
                        s->lut[ch * 256 + oracle_batch_byte(&b, s->images, i, ch, row, col)];
    }
    call_report r;
    claim_case(c, t, "batch_load %d of %zu images [%d,%d,%d] from %u, shuffle %d augment %d pad %d",
               g->n, s->count, s->c, s->h, s->w, step->first, g->shuffle, g->augment, g->pad);
    call_batch_load(t, &r, x, label, s, step, g);
    expect_ok(c, &r);
    expect_ints(c, "label", label, want_label, SHAPE(g->n));
    expect_equal(c, "x", x, want, SHAPE(g->n, s->c, s->h, s->w));
}

static const int sizes[][4] = {
    {37, 3, 8, 6}, {64, 1, 5, 7}, {5, 2, 1, 1}, {1, 3, 4, 4}, {9, 3, 32, 32}};
enum { SIZES = 5 }; /* the last has work for several threads */

static void expect_batches(claim *c, int shuffle, int augment, int pad) {
    FOR_TARGETS (t)
        for (int k = 0; k < SIZES; k++) {
            tl_device_split s = draw_split(c, sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3]);
            int count = sizes[k][0], batch = count < 8 ? count : 8;
            tl_step step = {.seed = draw_bits(c), .index = 3, .epoch = (uint32_t)draw_int(c, 0, 9)};
            /* the first batch, one in the middle, and a short last one */
            expect_batch(c, t, &s, &step, &(tl_batch_geom){batch, shuffle, augment, pad});
            step.first = (uint32_t)(count / 2);
            expect_batch(c, t, &s, &step,
                         &(tl_batch_geom){count - count / 2 < 3 ? 1 : 3, shuffle, augment, pad});
            step.first = (uint32_t)count - 1;
            expect_batch(c, t, &s, &step, &(tl_batch_geom){1, shuffle, augment, pad});
        }
}

CLAIM(lab5_batch, images_come_in_order) { expect_batches(c, 0, 0, 0); }
CLAIM(lab5_batch, shuffled_images_follow_the_permutation) { expect_batches(c, 1, 0, 0); }
CLAIM(lab5_batch, crops_and_flips_follow_the_draws) {
    expect_batches(c, 0, 1, 0); /* flips alone */
    expect_batches(c, 0, 1, 1);
    expect_batches(c, 1, 1, 4);
    expect_batches(c, 1, 1, 9); /* crops that may miss the image altogether */
}

/* Augmentation is for training batches: padding alone must not shift anything. */
CLAIM(lab5_batch, padding_without_augmentation_changes_nothing) { expect_batches(c, 1, 0, 4); }

/* Over one epoch every image appears once, whatever the batch size. */
CLAIM(lab5_batch, an_epoch_shows_every_image_once) {
    FOR_TARGETS (t) {
        enum { COUNT = 101, BATCH = 16 };
        tl_device_split s = draw_split(c, COUNT, 1, 1, 1);
        int seen[COUNT] = {0};
        for (int i = 0; i < COUNT; i++) s.images[i] = (uint8_t)i;
        for (int i = 0; i < 256; i++) s.lut[i] = (tl_real)i;
        for (int first = 0; first < COUNT; first += BATCH) {
            call_report r;
            const tl_step step = {.seed = c->seed, .epoch = 2, .first = (uint32_t)first};
            const tl_batch_geom g = {COUNT - first < BATCH ? COUNT - first : BATCH, 1, 0, 0};
            tl_real x[BATCH];
            int32_t label[BATCH];
            claim_case(c, t, "batch_load %d of %d from %d, shuffled", g.n, COUNT, first);
            call_batch_load(t, &r, x, label, &s, &step, &g);
            expect_ok(c, &r);
            for (int i = 0; i < g.n; i++) seen[(int)x[i]]++;
        }
        for (int i = 0; i < COUNT; i++)
            expect_true(c, seen[i] == 1, "image %d appeared %d times", i, seen[i]);
    }
}

/* Losses are added in double in image order, on top of what was there: one right answer. Of equal
 * scores the smallest class counts. */
CLAIM(lab5_metrics, losses_and_hits_add_up) {
    static const int shapes[][2] = {{1, 1}, {7, 3}, {64, 10}, {100, 2}, {301, 10}};
    FOR_TARGETS (t)
        for (int s = 0; s < 5; s++) {
            int rows = shapes[s][0], classes = shapes[s][1];
            size_t n = (size_t)rows * (size_t)classes;
            tl_metric_sums sums = {.loss = 12.5, .hits = 3, .count = 5}, want = sums;
            tl_real *row_loss = draw_between(c, (size_t)rows, 0, 5), *score = reals(c, n);
            int32_t *label = draw_labels(c, (size_t)rows, classes);
            for (size_t i = 0; i < n; i++) score[i] = (tl_real)draw_int(c, -2, 2); /* many ties */
            double *score_d = widen(c, score, n);
            for (int i = 0; i < rows; i++) {
                want.loss += row_loss[i];
                want.hits += oracle_argmax(score_d + i * classes, classes) == label[i];
                want.count++;
            }
            call_report r;
            claim_case(c, t, "metrics_add of score[%d,%d]", rows, classes);
            call_metrics_add(t, &r, &sums, row_loss, score, label, rows, classes);
            expect_ok(c, &r);
            expect_number(c, "loss", sums.loss, want.loss, 0);
            expect_true(c, sums.hits == want.hits, "hits %llu, expected %llu",
                        (unsigned long long)sums.hits, (unsigned long long)want.hits);
            expect_true(c, sums.count == want.count, "count %llu, expected %llu",
                        (unsigned long long)sums.count, (unsigned long long)want.count);
        }
}
