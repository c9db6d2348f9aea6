/* system_test.c: everything at once: nets, tape, operations, optimiser and loader in the training
 * loop. */
#include "autograder/claim/claim.h"
#include "autograder/claim/expect.h"

#include <string.h>

#include "tl/device.h"
#include "tl/train.h"

typedef struct run {
    tl_ctx *ctx;
    tl_module *net;
    tl_params *params;
    tl_trainer tr;
} run;

static void ok(claim *c, tl_status status) {
    expect_true(c, status == TL_OK, "%s: %s", tl_status_name(status), tl_error());
}

/* Random images for a net of the course; label i is i mod 10, so nothing but memory helps. */
static void upload(claim *c, run *r, const tl_net_spec *spec, size_t images) {
    size_t bytes = images * (size_t)spec->c * (size_t)spec->h * (size_t)spec->w;
    uint8_t *image = claim_memory(c, bytes, 1), *label = claim_memory(c, images, 1);
    uint64_t state = c->state; /* every run of a claim sees the same images */
    for (size_t i = 0; i < bytes; i++) image[i] = (uint8_t)draw_bits(c);
    c->state = state;
    for (size_t i = 0; i < images; i++) label[i] = (uint8_t)(i % 10);
    tl_dataset d = {.name = "random", .c = spec->c, .h = spec->h, .w = spec->w, .classes = 10};
    d.train = (tl_split){images, image, label};
    for (int k = 0; k < spec->c; k++) {
        d.mean[k] = 0.5;
        d.std[k] = 0.29;
    }
    ok(c, tl_split_upload(r->ctx, &r->tr.train, &d, &d.train));
}

static run open_run(claim *c, const char *net, const char *rungs, int threads, size_t images,
                    int batch) {
    run r = {0};
    const tl_net_spec *spec = tl_net_find(net);
    expect_true(c, spec != NULL, "there is no net %s", net);
    claim_case(c, &(call_target){.device = "cpu", .rungs = rungs, .threads = threads},
               "training net %s, batch %d of %zu", net, batch, images);
    ok(c, tl_device_open(&r.ctx, "cpu", rungs, threads));
    r.tr = (tl_trainer){.ctx = r.ctx, .batch = batch, .seed = c->seed};
    upload(c, &r, spec, images);
    ok(c, tl_net_build(&r.net, r.ctx, spec, c->seed));
    ok(c, tl_params_new(&r.params, r.net));
    r.tr.net = r.net;
    r.tr.params = r.params;
    r.tr.optimizer = (tl_optimizer){.kind = TL_OPTIMIZER_SGD, .sgd = {.momentum = 0.9}};
    r.tr.schedule =
        (tl_schedule){.kind = TL_SCHEDULE_CONSTANT, .base = 0.01, .turn = 1, .total = 1000};
    ok(c, tl_optimizer_init(&r.tr.optimizer, r.params));
    ok(c, tl_trainer_init(&r.tr));
    return r;
}

/* Gives everything back and sees that it was everything. */
static void close_run(claim *c, run *r) {
    tl_trainer_release(&r->tr);
    tl_optimizer_release(&r->tr.optimizer, r->ctx);
    tl_module_free(r->net);
    tl_params_free(r->params);
    tl_split_release(r->ctx, &r->tr.train);
    size_t blocks = tl_alloc_read_stats(r->ctx->alloc).live_blocks;
    expect_true(c, blocks == 0, "%zu blocks of device memory were not given back", blocks);
    tl_device_close(r->ctx);
}

static tl_real *read_weights(claim *c, run *r) {
    tl_real *w = reals(c, r->params->size);
    ok(c, r->ctx->ops->copy_out(r->ctx, w, r->params->value, r->params->size * sizeof *w));
    return w;
}

CLAIM(system, net_a_learns_eight_images_by_heart) {
    static const char *const rungs[] = {"none", "all"};
    for (int k = 0; k < 2; k++) {
        run r = open_run(c, "a", rungs[k], 2, 8, 8);
        tl_metrics m = {0};
        for (int epoch = 0; epoch < 100; epoch++) ok(c, tl_train_epoch(&r.tr));
        ok(c, tl_evaluate(&r.tr, &r.tr.train, &m));
        expect_true(c, m.count == 8, "%llu images were evaluated", (unsigned long long)m.count);
        expect_true(c, m.loss < 0.01, "after 100 steps the loss is %g", m.loss);
        expect_true(c, m.accuracy == 1, "and the accuracy %g", m.accuracy);
        close_run(c, &r);
    }
}

/* Two epochs with a partial last batch, shuffled and augmented; net m draws dropout masks too. More
 * threads than cores on purpose. */
static void expect_same_weights(claim *c, const char *net, const char *rungs) {
    static const int threads[] = {1, 2, 3, 8};
    tl_real *first = NULL;
    for (int k = 0; k < 4; k++) {
        run r = open_run(c, net, rungs, threads[k], 7, 3);
        r.tr.augment = 1;
        r.tr.pad = 4;
        for (int epoch = 0; epoch < 2; epoch++) ok(c, tl_train_epoch(&r.tr));
        tl_real *w = read_weights(c, &r);
        if (k) expect_same_bits(c, "weights", w, first, SHAPE((int)r.params->size));
        if (!k) first = w;
        close_run(c, &r);
    }
}

CLAIM(system, weights_have_the_same_bits_at_any_thread_count) {
    expect_same_weights(c, "a", "none");
    expect_same_weights(c, "a", "all");
    expect_same_weights(c, "m", "all");
}

CLAIM(system, a_step_takes_no_memory_after_the_first) {
    static const char *const rungs[] = {"none", "all"};
    for (int k = 0; k < 2; k++) {
        run r = open_run(c, "a", rungs[k], 2, 20, 4);
        ok(c, tl_train_step(&r.tr, 4));
        tl_alloc_stats before = tl_alloc_read_stats(r.ctx->alloc);
        for (int i = 0; i < 4; i++) ok(c, tl_train_step(&r.tr, 4));
        tl_alloc_stats after = tl_alloc_read_stats(r.ctx->alloc);
        expect_true(c, after.source_calls == before.source_calls,
                    "%zu allocations in four later steps",
                    after.source_calls - before.source_calls);
        expect_true(c, after.peak_bytes == before.peak_bytes, "the peak rose by %zu bytes",
                    after.peak_bytes - before.peak_bytes);
        close_run(c, &r);
    }
}

/* 7 images in batches of 3 are three steps, and the position is the start of the next epoch. */
CLAIM(system, an_epoch_takes_the_partial_last_batch) {
    run r = open_run(c, "b", "all", 1, 7, 3);
    tl_metrics m;
    ok(c, tl_train_epoch(&r.tr));
    ok(c, tl_metrics_read(r.ctx, &m, r.tr.sums));
    expect_true(c, m.count == 7, "%llu images were counted", (unsigned long long)m.count);
    expect_true(c, r.tr.epoch == 1 && r.tr.first == 0 && r.tr.index == 3,
                "position is epoch %u, image %u, step %llu", r.tr.epoch, r.tr.first,
                (unsigned long long)r.tr.index);
    close_run(c, &r);
}

CLAIM(system, evaluation_changes_neither_weights_nor_position) {
    run r = open_run(c, "m", "all", 2, 5, 2);
    tl_metrics first, again;
    ok(c, tl_train_step(&r.tr, 2));
    tl_real *before = read_weights(c, &r);
    ok(c, tl_evaluate(&r.tr, &r.tr.train, &first));
    ok(c, tl_evaluate(&r.tr, &r.tr.train, &again));
    expect_same_bits(c, "weights", read_weights(c, &r), before, SHAPE((int)r.params->size));
    expect_true(c, r.tr.epoch == 0 && r.tr.first == 2 && r.tr.index == 1, "the position moved");
    /* with dropout on, two evaluations would differ */
    expect_true(c, first.loss == again.loss && first.count == 5, "losses %.17g and %.17g",
                first.loss, again.loss);
    ok(c, tl_train_step(&r.tr, 2)); /* and training goes on */
    close_run(c, &r);
}
