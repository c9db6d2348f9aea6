/* train_replay.c: the training loop, replayed call by call (train_replay.h). */
#include "autograder/claim/train_replay.h"

#include <string.h>

#include "autograder/claim/expect.h"
#include "autograder/claim/graph_build.h"
#include "tl/nets.h"

/* (no float is the first rate) */
const double train_number[TRAIN_NUMBERS] = {0.3, 0.5, 0.75, 0.01};

course draw_course_of(claim *c, int count, int batch) {
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

course draw_course(claim *c) { return draw_course_of(c, COUNT, BATCH); }

tl_real *run_training(claim *c, const call_target *t, const course *k, const char *what,
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
    call_train(t, &r, out, results, k->start, WEIGHTS + KINDS, &k->both, train_number, program,
               used + length);
    expect_ok(c, &r);
    return out;
}
void replay_batch(claim *c, const call_target *t, course *k, const tl_device_split *split,
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

void replay_epochs(claim *c, const call_target *t, course *k, int epochs, rate_told rate) {
    const int count = (int)k->train.count;
    uint64_t index = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        k->loss = 0;
        k->count = 0;
        for (int first = 0; first < count; first += k->batch, index++) {
            call_report r;
            double lr;
            const tl_schedule schedule = {TL_SCHEDULE_STEP, train_number[0], train_number[1], 2, 6};
            const tl_sgd_options o = {.momentum = train_number[2], .weight_decay = train_number[3]};
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

/* Sums come back rounded once to tl_real. */
void expect_sums(claim *c, const tl_real *sums, const course *k) {
    const double want[] = {(tl_real)k->loss, (double)k->count};
    expect_equal(c, "sum of losses", sums, want, SHAPE(1));
    expect_equal(c, "images counted", sums + 2, want + 1, SHAPE(1));
}
