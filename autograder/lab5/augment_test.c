/* augment_test.c: loading, shuffling and augmenting batches. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/crop_told.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "tl/rng.h"

tl_device_split draw_split(claim *c, int count, int ch, int h, int w) {
    tl_device_split s = {.count = (size_t)count, .c = ch, .h = h, .w = w, .classes = 256};
    size_t bytes = s.count * (size_t)ch * (size_t)h * (size_t)w;
    s.images = claim_memory(c, bytes, 1);
    s.labels = claim_memory(c, s.count, 1);
    s.lut = draw_reals(c, (size_t)ch * 256);
    for (size_t i = 0; i < bytes; i++) s.images[i] = (uint8_t)draw_bits(c);
    for (size_t i = 0; i < s.count; i++) s.labels[i] = (uint8_t)draw_int(c, 0, s.classes - 1);
    return s;
}

/* Whether an image of `rows` rows is shown, but not mirrored. */
static bool is_turned(const tl_real *x, const double *want, int rows, int w) {
    for (int k = 0; k < rows * w; k++)
        if (x[k] != want[k - k % w + w - 1 - k % w]) return false;
    return true;
}

/* What is mirrored wrongly is an array of its own in messages, where all other images are right;
 * not so where it is not mirrored at all. */
static const char *name_of(const tl_real *x, const double *want, const tl_device_split *s,
                           const tl_step *step, const tl_batch_geom *g) {
    const int rows = s->c * s->h;
    const size_t image = (size_t)rows * (size_t)s->w;
    for (int i = 0; i < g->n; i++, x += image, want += image) {
        bool right = true;
        for (size_t k = 0; k < image; k++) right &= x[k] == want[k];
        tl_crop crop = tl_rng_crop(step->seed, step->epoch, step->first + (uint32_t)i, g->pad);
        bool mirrored = g->augment && crop.flip;
        if (!right && (!mirrored || is_turned(x, want, rows, s->w))) return "x";
    }
    return "x, mirrored images";
}

/* Are all pixels wrong whose byte is 128 or more, and no others? */
static void tell_bytes(claim *c, const tl_real *x, const double *want, const uint8_t *byte,
                       size_t n) {
    bool high = true;
    for (size_t k = 0; k < n; k++) high = high && (x[k] != want[k]) == (byte[k] >= 128);
    if (high) finding_pattern_of_case(c, "bytes_from_128");
}

/* Is each wrong label the right one, but for a byte that was taken for a signed one? */
static void tell_labels(claim *c, const int32_t *label, const int32_t *want, int n) {
    bool high = true;
    for (int i = 0; i < n; i++) high = high && label[i] == want[i] - (want[i] >= 128 ? 256 : 0);
    if (high) finding_pattern_of_case(c, "labels_from_128");
}

void expect_batch(claim *c, const call_target *t, const tl_device_split *s, const tl_step *step,
                  const tl_batch_geom *g) {
    const oracle_batch b = {g->n, g->shuffle, g->augment, g->pad,      (int)s->count, s->c,
                            s->h, s->w,       step->seed, step->epoch, step->first};
    size_t n = (size_t)g->n * (size_t)s->c * (size_t)s->h * (size_t)s->w, at = 0;
    tl_real *x = reals(c, n);
    double *want = doubles(c, n);
    uint8_t *byte = claim_memory(c, n, 1);
    int32_t *label = ints(c, (size_t)g->n), *want_label = ints(c, (size_t)g->n);
    for (int i = 0; i < g->n; i++) {
        want_label[i] = s->labels[oracle_batch_image(&b, i)];
        for (int ch = 0; ch < s->c; ch++)
            for (int row = 0; row < s->h; row++)
                for (int col = 0; col < s->w; col++, at++) {
                    byte[at] = (uint8_t)oracle_batch_byte(&b, s->images, i, ch, row, col);
                    want[at] = s->lut[ch * 256 + byte[at]];
                }
    }
    call_report r;
    claim_case(c, t, "batch_load %d of %zu images [%d,%d,%d] from %u, shuffle %d augment %d pad %d",
               g->n, s->count, s->c, s->h, s->w, step->first, g->shuffle, g->augment, g->pad);
    claim_trait(c, "batch", g->n > 1);
    claim_trait(c, "padding", g->pad > 0);
    claim_trait(c, "shuffled", g->shuffle);
    claim_trait(c, "nonsquare", s->h != s->w);
    claim_trait(c, "channels", s->c > 1);
    claim_trait(c, "later_batches", step->first > 0);
    call_batch_load(t, &r, x, label, s, step, g);
    expect_ok(c, &r);
    const char *name = name_of(x, want, s, step, g);
    expect_equal(c, name, x, want, AXES("nchw", g->n, s->c, s->h, s->w));
    if (c->case_failed) {
        crop_tell(c, x, &b, s);
        tell_bytes(c, x, want, byte, n);
    }
    const bool pictures = !c->case_failed;
    expect_ints(c, "label", label, want_label, AXES("n", g->n));
    if (pictures && c->case_failed) tell_labels(c, label, want_label, g->n);
}

static const int sizes[][4] = {{37, 3, 8, 6}, {71, 1, 5, 7}, {5, 2, 1, 1},
                               {1, 3, 4, 4},  {4, 5, 3, 2},  {9, 3, 32, 32}};
enum { SIZES = 6 }; /* the last has work for several threads */

static void expect_batches(claim *c, int shuffle, int augment, int pad) {
    FOR_TARGETS (t)
        for (int k = 0; k < SIZES; k++) {
            tl_device_split s = draw_split(c, sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3]);
            int count = sizes[k][0], batch = count < 67 ? count : 67;
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

CLAIM(lab5_augment, images_come_in_order) { expect_batches(c, 0, 0, 0); }
CLAIM(lab5_augment, shuffled_images_follow_the_permutation) { expect_batches(c, 1, 0, 0); }
CLAIM(lab5_augment, crops_and_flips_follow_the_draws) {
    expect_batches(c, 0, 1, 0); /* flips alone */
    expect_batches(c, 0, 1, 1);
    expect_batches(c, 1, 1, 4);
    expect_batches(c, 0, 1, 9); /* crops that may miss the image altogether */
}

static void refuse_arguments(claim *c, const call_target *t) {
    enum { COUNT = 2, PIXELS = 2 * 3 * 4 };
    const tl_step step = {.seed = 1};
    tl_batch_geom g = {COUNT, 0, 0, 0};
    tl_real *x = reals(c, COUNT * PIXELS);
    int32_t label[COUNT];
    call_report r;
    for (int k = 0; k < 6; k++) {
        static const char *const name[] = {"x", "label", "step", "images", "labels", "lut"};
        tl_device_split s = draw_split(c, COUNT, 2, 3, 4);
        if (k == 3) s.images = NULL;
        if (k == 4) s.labels = NULL;
        if (k == 5) s.lut = NULL;
        claim_case(c, t, "batch_load, where %s is NULL", name[k]);
        call_batch_load(t, &r, k == 0 ? NULL : x, k == 1 ? NULL : label, &s, k == 2 ? NULL : &step,
                        &g);
        expect_refusal(c, &r);
    }
    tl_device_split s = draw_split(c, COUNT, 2, 3, 4);
    g.pad = -1;
    claim_case(c, t, "batch_load, where pad is -1");
    call_batch_load(t, &r, x, label, &s, &step, &g);
    expect_refusal(c, &r);
}

/* Augmentation is for training batches: padding alone must not shift anything. */
CLAIM(lab5_augment, padding_without_augmentation_changes_nothing) {
    expect_batches(c, 1, 0, 4);
    FOR_TARGETS (t) refuse_arguments(c, t);
}

/* Over one epoch every image appears once, whatever the batch size. */
CLAIM(lab5_augment, an_epoch_shows_every_image_once) {
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
            for (int i = 0; i < g.n; i++) {
                const bool known = x[i] >= 0 && x[i] < COUNT; /* any number at all may be there */
                expect_true(c, known, "picture %d is %g, which no image shows", i, (double)x[i]);
                if (known) seen[(int)x[i]]++;
            }
        }
        for (int i = 0; i < COUNT; i++)
            expect_true(c, seen[i] == 1, "image %d appeared %d times", i, seen[i]);
    }
}

/* ---- statistics, without a look at the draws ---- */

enum { SIDE = 9, PAD = 3, SHOWN = 2000 };

/* Where a batch's picture came from, told from its pixels: each of the 81 has a value of its own,
 * 1 to 81, and the border is 0. The middle is always inside, for PAD < SIDE / 2. */
static tl_crop read_crop(claim *c, const tl_real *x) {
    const tl_real *at = x + (SIDE / 2) * SIDE + SIDE / 2;
    const bool known = at[0] >= 1 && at[0] <= SIDE * SIDE && fabs((double)at[1] - at[0]) == 1;
    expect_true(c, known, "the picture is no crop of the image");
    if (!known) return (tl_crop){0};
    int middle = (int)at[0] - 1;
    tl_crop crop = {.flip = at[1] < at[0]};
    int row = middle / SIDE, col = middle % SIDE;
    crop.dy = row - SIDE / 2 + PAD;
    crop.dx = col - SIDE / 2 + PAD; /* mirrored or not, the middle column is the same */
    expect_true(c, crop.dy >= 0 && crop.dy <= 2 * PAD && crop.dx >= 0 && crop.dx <= 2 * PAD,
                "the crop begins at (%d,%d), and the last place is (%d,%d)", crop.dy, crop.dx,
                2 * PAD, 2 * PAD);
    return crop;
}

/* How often each of `cells` outcomes came up, against all being equally likely: chi-square lies
 * within six of its standard deviations, sqrt(2 k) for k + 1 cells. */
static void expect_even(claim *c, const char *name, const int *seen, int cells) {
    double chi = 0, mean = (double)SHOWN / cells, free_cells = cells - 1;
    for (int i = 0; i < cells; i++) chi += (seen[i] - mean) * (seen[i] - mean) / mean;
    expect_true(c, chi < free_cells + 6 * sqrt(2 * free_cells) + 12,
                "%s are not equally frequent: chi-square %.1f of %d", name, chi, cells);
}

CLAIM(lab5_augment, crops_and_flips_are_equally_frequent) {
    FOR_TARGETS (t) {
        enum { PIXELS = SIDE * SIDE, PLACES = 2 * PAD + 1, BATCH = 500 };
        int rows[PLACES] = {0}, columns[PLACES] = {0}, flips[2] = {0};
        tl_device_split s = draw_split(c, SHOWN, 1, SIDE, SIDE);
        for (int i = 0; i < SHOWN * PIXELS; i++) s.images[i] = (uint8_t)(i % PIXELS + 1);
        for (int i = 0; i < 256; i++) s.lut[i] = (tl_real)i;
        tl_real *x = reals(c, BATCH * PIXELS);
        for (int first = 0; first < SHOWN; first += BATCH) {
            call_report r;
            int32_t label[BATCH];
            const tl_step step = {.seed = c->seed, .epoch = 1, .first = (uint32_t)first};
            const tl_batch_geom g = {BATCH, 1, 1, PAD};
            claim_case(c, t, "batch_load %d of %d from %d, augmented, pad %d", (int)BATCH,
                       (int)SHOWN, first, (int)PAD);
            call_batch_load(t, &r, x, label, &s, &step, &g);
            expect_ok(c, &r);
            for (int i = 0; i < BATCH && !c->case_failed; i++) {
                tl_crop crop = read_crop(c, x + i * PIXELS);
                if (c->case_failed) break;
                rows[crop.dy]++;
                columns[crop.dx]++;
                flips[crop.flip != 0]++;
            }
        }
        expect_even(c, "rows of crops", rows, PLACES);
        expect_even(c, "columns of crops", columns, PLACES);
        expect_even(c, "flips", flips, 2);
    }
}

/* Two epochs show the same images in other orders and with other crops. */
CLAIM(lab5_augment, every_epoch_is_another_one) {
    FOR_TARGETS (t) {
        enum { COUNT = 64, PIXELS = SIDE * SIDE };
        call_report r;
        tl_device_split s = draw_split(c, COUNT, 1, SIDE, SIDE);
        tl_real *x[3];
        int32_t label[COUNT];
        for (int k = 0; k < 3; k++) {
            const tl_step step = {.seed = c->seed + (k == 2), .epoch = (uint32_t)k % 2};
            x[k] = reals(c, COUNT * PIXELS);
            claim_case(c, t, "batch_load of epoch %u, seed %s", step.epoch, k == 2 ? "2" : "1");
            call_batch_load(t, &r, x[k], label, &s, &step, &(tl_batch_geom){COUNT, 1, 1, PAD});
            expect_ok(c, &r);
        }
        for (int k = 1; k < 3; k++) {
            int same = 0;
            for (int i = 0; i < COUNT; i++)
                same += !memcmp(x[0] + i * PIXELS, x[k] + i * PIXELS, PIXELS * sizeof *x[0]);
            expect_true(c, same < 8, "%d of %d pictures are the same in %s", same, (int)COUNT,
                        k == 1 ? "the next epoch" : "a run of another seed");
        }
    }
}

/* The data set stays on the device: the host only queues. */
static void load_images(claim *c, const call_target *t, int op, int images) {
    (void)op;
    tl_device_split s = draw_split(c, 20, 3, 8, 6);
    const tl_step step = {.seed = c->seed, .first = 4};
    expect_batch(c, t, &s, &step, &(tl_batch_geom){images, 1, 1, 2});
}

CLAIM_LAUNCHES_DO_NOT_GROW(lab5_augment, load_images, 1)
CLAIM_NOTHING_WAITS(lab5_augment, load_images, 1, COLD)

/* The host of a device cannot look at *step without waiting, so a batch may begin where the images
 * end: what does not exist is black, and its label -1. On the cpu it is refused. */
static void expect_end(claim *c, const call_target *t, int shuffle, int augment) {
    enum { COUNT = 5, FIRST = 3, BATCH = 4, PIXELS = 2 * 3 * 4 };
    tl_device_split s = draw_split(c, COUNT, 2, 3, 4);
    const tl_step step = {.seed = c->seed, .first = FIRST};
    const tl_batch_geom g = {BATCH, shuffle, augment, augment};
    tl_real *x = reals(c, BATCH * PIXELS), *black = reals(c, 2 * PIXELS);
    int32_t label[BATCH], none[2] = {-1, -1};
    call_report r;
    claim_case(c, t, "batch_load %d of %d images [2,3,4] from %d, shuffle %d augment %d",
               (int)BATCH, (int)COUNT, (int)FIRST, shuffle, augment);
    call_batch_load(t, &r, x, label, &s, &step, &g);
    if (strcmp(t->device, "cpu") == 0) {
        expect_status(c, &r, TL_EINVAL);
        return;
    }
    expect_ok(c, &r);
    for (int i = 0; i < 2 * PIXELS; i++) black[i] = s.lut[i / (3 * 4) % 2 * 256];
    expect_ints(c, "labels behind the last image", label + COUNT - FIRST, none, SHAPE(2));
    expect_same_bits(c, "pictures behind the last image", x + (COUNT - FIRST) * PIXELS, black,
                     AXES("nchw", 2, 2, 3, 4));
}

CLAIM(lab5_augment, what_does_not_exist_is_black) {
    FOR_TARGETS (t)
        for (int k = 0; k < 4; k++) expect_end(c, t, k & 1, k >> 1);
}

static void load_five(claim *c, const call_target *t, int which) {
    (void)which;
    load_images(c, t, 0, 5);
}

CLAIM_NO_TWO_THREADS_MEET(lab5_augment, load_five, 1)
