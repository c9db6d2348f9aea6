/* plan_test.c: claims about plan files (tl/plan.h): what is written down is what training does. */
#include "tl/plan.h"

#include "trainer_fixture.h"

TestSuite(plan, .init = setup, .fini = teardown);

enum { FEATURES = 3 * (SIDE - 2) * (SIDE - 2), ROW_BYTES = BATCH * FEATURES / 8 };

static const tl_layer layers[] = {{TL_LAYER_CONV, 3, 0, 0},         {TL_LAYER_RELU, 0, 0, 0},
                                  {TL_LAYER_FLATTEN, 0, 0, 0},      {TL_LAYER_DROPOUT, 0, 0, 0.25},
                                  {TL_LAYER_LINEAR, CLASSES, 0, 0}, {TL_LAYER_END, 0, 0, 0}};
static const tl_net_spec spec = {.name = "tiny", .c = 1, .h = SIDE, .w = SIDE, .layer = layers};

static tl_record *plan_of(rig *r, uint32_t epoch, uint64_t max_steps) {
    tl_record *record;
    EXPECT_OK(tl_plan_write(&r->tr, &spec, epoch, max_steps, path));
    EXPECT_OK(tl_record_read(&record, path));
    return record;
}

static const void *find(const tl_record *r, const char *name, tl_dtype dtype, uint64_t elements) {
    const tl_section *s;
    EXPECT_OK(tl_record_find(r, &s, name, dtype, elements));
    return s->data;
}

static void announce(rig *r, uint32_t epoch, uint64_t step_of_epoch) {
    tl_step now = {.seed = r->tr.seed,
                   .index = (uint64_t)epoch * EPOCH_STEPS + step_of_epoch,
                   .epoch = epoch,
                   .first = (uint32_t)step_of_epoch * BATCH};
    EXPECT_OK(r->ctx->ops->step_set(r->ctx, &now));
}

/* The pixel of a padded, cropped, perhaps mirrored image, as the format's text describes it. */
static uint8_t planned_byte(const uint8_t *image, const uint8_t *crop, int flip, int y, int x) {
    int row = y + crop[0] - 1, column = (flip ? SIDE - 1 - x : x) + crop[1] - 1;
    int inside = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
    return inside ? image[row * SIDE + column] : 0;
}

Test(plan, batches_hold_the_planned_images) {
    enum { EPOCH = 2 };
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    tl_record *plan = plan_of(&r, EPOCH, 0);
    cr_assert_eq(plan->sections, 5);
    const uint32_t *order = find(plan, "order", TL_U32, IMAGES);
    const uint8_t *crop = find(plan, "crop", TL_U8, 2 * IMAGES);
    const uint8_t *flip = find(plan, "flip", TL_U8, IMAGES);
    const tl_device_split *train = &r.tr.train; /* on cpu, device memory can be read here */
    int seen[IMAGES] = {0}, flips = 0;
    for (uint32_t first = 0; first < IMAGES; first += BATCH) {
        tl_batch_geom g = {.n = IMAGES - first < BATCH ? IMAGES - (int)first : BATCH,
                           .shuffle = 1,
                           .augment = 1,
                           .pad = 1};
        announce(&r, EPOCH, first / BATCH);
        EXPECT_OK(r.ctx->ops->batch_load(r.ctx, r.tr.x->data, r.tr.label, train, r.ctx->step, &g));
        for (int i = 0; i < g.n; i++) {
            uint32_t at = first + (uint32_t)i;
            cr_assert_lt(order[at], IMAGES);
            seen[order[at]]++;
            flips += flip[at];
            cr_assert_eq(r.tr.label[i], train->labels[order[at]]);
            const uint8_t *image = train->images + order[at] * SIDE * SIDE;
            for (int p = 0; p < SIDE * SIDE; p++) {
                uint8_t byte = planned_byte(image, crop + 2 * at, flip[at], p / SIDE, p % SIDE);
                cr_assert_eq(r.tr.x->data[i * SIDE * SIDE + p], train->lut[byte]);
            }
        }
    }
    for (int i = 0; i < IMAGES; i++) cr_assert_eq(seen[i], 1, "image %d", i);
    cr_assert(flips > 0 && flips < IMAGES, "%d of %d are flipped", flips, IMAGES);
    tl_record_free(plan);
    close_rig(&r);
}

Test(plan, masks_are_those_of_dropout) {
    enum { EPOCH = 1 };
    rig r;
    tl_tensor *ones, *dropped;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    tl_record *plan = plan_of(&r, EPOCH, 0);
    const uint8_t *keep = find(plan, "keep0", TL_U8, EPOCH_STEPS * ROW_BYTES);
    EXPECT_OK(tl_tensor_new(&ones, r.ctx, 2, (int[]){BATCH, FEATURES}));
    EXPECT_OK(tl_tensor_new(&dropped, r.ctx, 2, (int[]){BATCH, FEATURES}));
    EXPECT_OK(r.ctx->ops->fill(r.ctx, ones->data, ones->size, 1));
    tl_dropout_geom g = {.p = 0.25, .layer = 0};
    for (uint64_t step = 0; step < EPOCH_STEPS; step++) {
        g.n = (step + 1 < EPOCH_STEPS ? BATCH : IMAGES % BATCH) * FEATURES;
        announce(&r, EPOCH, step);
        EXPECT_OK(r.ctx->ops->dropout_fwd(r.ctx, dropped->data, ones->data, r.ctx->step, &g));
        const uint8_t *row = keep + step * ROW_BYTES;
        for (size_t i = 0; i < g.n; i++)
            cr_assert_eq(row[i / 8] >> i % 8 & 1, dropped->data[i] != 0, "element %zu", i);
    }
    tl_tensor_free(ones);
    tl_tensor_free(dropped);
    tl_record_free(plan);
    close_rig(&r);
}

Test(plan, rates_follow_the_step_of_the_run) {
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    for (uint32_t epoch = 0; epoch < RUN_EPOCHS; epoch++) {
        tl_record *plan = plan_of(&r, epoch, 0);
        const double *lr = find(plan, "lr", TL_F64, EPOCH_STEPS);
        for (uint64_t i = 0; i < EPOCH_STEPS; i++)
            cr_assert_eq(lr[i], tl_schedule_lr(&r.tr.schedule, epoch * EPOCH_STEPS + i));
        tl_record_free(plan);
    }
    cr_assert_eq(tl_plan_write(&r.tr, &spec, RUN_EPOCHS, 0, path), TL_EINVAL);
    cr_assert(strstr(tl_error(), "beyond the 20 steps"), "%s", tl_error());
    close_rig(&r);
}

Test(plan, a_short_plan_is_the_start_of_the_whole) {
    static const struct {
        const char *name;
        tl_dtype dtype;
        uint64_t whole, two_steps;
    } section[] = {{"order", TL_U32, IMAGES, 2 * BATCH},
                   {"crop", TL_U8, 2 * IMAGES, 4 * BATCH},
                   {"flip", TL_U8, IMAGES, 2 * BATCH},
                   {"lr", TL_F64, EPOCH_STEPS, 2},
                   {"keep0", TL_U8, EPOCH_STEPS * ROW_BYTES, 2 * ROW_BYTES}};
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    r.tr.epoch = 3; /* a plan does not depend on where the run stands */
    tl_record *whole = plan_of(&r, 1, 0), *start = plan_of(&r, 1, 2), *more = plan_of(&r, 1, 99);
    for (size_t i = 0; i < sizeof section / sizeof *section; i++) {
        const char *name = section[i].name;
        tl_dtype dtype = section[i].dtype;
        const void *all = find(whole, name, dtype, section[i].whole);
        const void *few = find(start, name, dtype, section[i].two_steps);
        cr_assert_eq(memcmp(all, few, section[i].two_steps * tl_dtype_bytes(dtype)), 0, "%s", name);
        find(more, name, dtype, section[i].whole);
    }
    tl_record_free(whole);
    tl_record_free(start);
    tl_record_free(more);
    close_rig(&r);
}

Test(plan, without_augmentation_there_are_no_crops) {
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    r.tr.augment = 0;
    tl_record *plan = plan_of(&r, 0, 0);
    const tl_section *s;
    cr_assert_eq(tl_record_find(plan, &s, "crop", TL_U8, 2 * IMAGES), TL_EFORMAT);
    cr_assert_eq(plan->sections, 3);
    tl_record_free(plan);
    close_rig(&r);
}
