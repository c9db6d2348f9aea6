/* trainer_fixture.h: a tiny net in training on random images: what suites about its files need. */
#ifndef TRAINER_FIXTURE_H
#define TRAINER_FIXTURE_H

#include "record_fixture.h"

#include "tl/checkpoint.h"
#include "tl/device.h"
#include "tl/rng.h"

#include <criterion/criterion.h>

#define EXPECT_OK(call) cr_assert_eq(call, TL_OK, "%s", tl_error())

/* 23 images in batches of 5: five steps an epoch, the last of 3 images. */
enum { IMAGES = 23, TESTS = 7, BATCH = 5, SIDE = 6, CLASSES = 3, EPOCH_STEPS = 5, RUN_EPOCHS = 4 };

typedef struct rig {
    tl_ctx *ctx;
    tl_module *net;
    tl_params *params;
    tl_trainer tr;
    uint64_t stop; /* number of optimiser steps after which training breaks off */
} rig;

static inline void append_made(rig *r, tl_status made, tl_module **m) {
    EXPECT_OK(made);
    EXPECT_OK(tl_module_append(r->net, *m));
}

/* Convolution, batch norm, ReLU, dropout, linear: parameters, buffers and random draws. */
static inline void build_net(rig *r, uint64_t seed) {
    tl_module *m = NULL;
    tl_module_seed from = {.seed = seed};
    tl_conv2d_geom g = {.c = 1, .k = 3, .r = 3, .s = 3};
    g.stride_h = g.stride_w = g.dil_h = g.dil_w = 1;
    EXPECT_OK(tl_module_sequential(&r->net, r->ctx));
    append_made(r, tl_module_conv2d(&m, r->ctx, &g, &from), &m);
    append_made(r, tl_module_batchnorm2d(&m, r->ctx, 3), &m);
    append_made(r, tl_module_relu(&m, r->ctx), &m);
    append_made(r, tl_module_flatten(&m, r->ctx), &m);
    append_made(r, tl_module_dropout(&m, r->ctx, 0.25, 0), &m);
    const int features = 3 * (SIDE - 2) * (SIDE - 2);
    append_made(r, tl_module_linear(&m, r->ctx, features, CLASSES, &from), &m);
}

static inline void upload_images(rig *r) {
    static uint8_t image[(IMAGES + TESTS) * SIDE * SIDE], label[IMAGES + TESTS];
    for (uint32_t i = 0; i < sizeof image; i++)
        image[i] = (uint8_t)tl_philox_draw(1, i, 0, TL_DRAW_DATA).v[0];
    for (uint32_t i = 0; i < sizeof label; i++) label[i] = (uint8_t)(image[i] % CLASSES);
    tl_dataset d = {.name = "random", .c = 1, .h = SIDE, .w = SIDE, .classes = CLASSES};
    d.train = (tl_split){IMAGES, image, label};
    d.test = (tl_split){TESTS, image + IMAGES * SIDE * SIDE, label + IMAGES};
    d.mean[0] = 0.5;
    d.std[0] = 0.3;
    EXPECT_OK(tl_split_upload(r->ctx, &r->tr.train, &d, &d.train));
    EXPECT_OK(tl_split_upload(r->ctx, &r->tr.test, &d, &d.test));
}

static inline tl_status stop_when_due(tl_trainer *tr, int images, void *user) {
    (void)images;
    const rig *r = user;
    return tr->index == r->stop ? TL_FAIL(TL_EINVAL, "stopped on purpose") : TL_OK;
}

/* `seed` is that of the initial weights; all draws of the run come from seed 77. */
static inline void open_rig(rig *r, tl_optimizer_kind kind, uint64_t seed) {
    *r = (rig){0};
    EXPECT_OK(tl_device_open(&r->ctx, "cpu", "none", 2));
    r->tr = (tl_trainer){.ctx = r->ctx, .batch = BATCH, .augment = 1, .pad = 1, .seed = 77};
    r->tr.on_step = stop_when_due;
    r->tr.user = r;
    r->tr.schedule = (tl_schedule){TL_SCHEDULE_COSINE, 0.05, 0, 1, RUN_EPOCHS * EPOCH_STEPS};
    upload_images(r);
    build_net(r, seed);
    EXPECT_OK(tl_params_new(&r->params, r->net));
    r->tr.net = r->net;
    r->tr.params = r->params;
    r->tr.optimizer = (tl_optimizer){.kind = kind,
                                     .sgd = {.momentum = 0.9, .weight_decay = 1e-3},
                                     .adam = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}};
    EXPECT_OK(tl_optimizer_init(&r->tr.optimizer, r->params));
    EXPECT_OK(tl_trainer_init(&r->tr));
}

/* Gives everything back, and sees that it was everything. */
static inline void close_rig(rig *r) {
    tl_trainer_release(&r->tr);
    tl_optimizer_release(&r->tr.optimizer, r->ctx);
    tl_module_free(r->net);
    tl_params_free(r->params);
    tl_split_release(r->ctx, &r->tr.train);
    tl_split_release(r->ctx, &r->tr.test);
    cr_assert_eq(tl_alloc_read_stats(r->ctx->alloc).live_blocks, 0);
    tl_device_close(r->ctx);
}

/* One epoch of training with its evaluation, noted in the run's history; or what ended it early. */
static inline tl_status train_one_epoch(rig *r) {
    tl_metrics train, test;
    TL_TRY(tl_train_epoch(&r->tr));
    EXPECT_OK(tl_metrics_read(r->ctx, &train, r->tr.sums));
    EXPECT_OK(tl_evaluate(&r->tr, &r->tr.test, &test));
    EXPECT_OK(tl_history_add(&r->tr.history, &train, &test));
    return TL_OK;
}

/* Trains until `steps` optimiser steps of the run are done, evaluating after every epoch. */
static inline void train_until(rig *r, uint64_t steps) {
    r->stop = steps;
    while (r->tr.index < steps)
        if (train_one_epoch(r) != TL_OK)
            cr_assert(strstr(tl_error(), "stopped on purpose"), "%s", tl_error());
}

#endif
