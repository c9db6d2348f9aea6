/* cases_test.c: a student's own cases of lab 5 (labs/lab5/cases.toml). */
#include "autograder/claim/cases.h"
#include "cases.h"

/* The numbers of a case, in the order of lab.toml. */
enum {
    N,
    STEPS,
    INDEX,
    LR,
    MOMENTUM,
    DECAY,
    NESTEROV,
    BETA1,
    BETA2,
    FACTOR,
    TURN,
    TOTAL,
    COUNT,
    BATCH,
    FIRST,
    EPOCH,
    C,
    H,
    W,
    SHUFFLE,
    AUGMENT,
    PAD
};

/* ---- optimisers ---- */

static tl_status check_sgd(const double number[]) {
    TL_NEED(number[NESTEROV] == 0 || number[MOMENTUM] > 0, TL_EINVAL,
            "nesterov = 1 needs a momentum above 0");
    return TL_OK;
}

static void sgd(claim *c, const call_target *t, const double number[]) {
    const sgd_run run = {number[LR],
                         {.momentum = number[MOMENTUM],
                          .weight_decay = number[DECAY],
                          .nesterov = (int)number[NESTEROV]}};
    expect_sgd(c, t, &run, (int)number[N], (int)number[STEPS], true);
}

static void adam(claim *c, const call_target *t, const double number[]) {
    const adam_run run = {number[LR],
                          (uint64_t)number[INDEX],
                          {.beta1 = number[BETA1],
                           .beta2 = number[BETA2],
                           .eps = 1e-8,
                           .weight_decay = number[DECAY]}};
    expect_adam(c, t, &run, (int)number[N], (int)number[STEPS]);
}

/* ---- schedules ---- */

static tl_status check_end(const double number[]) {
    TL_NEED(number[INDEX] < number[TOTAL], TL_EINVAL,
            "index = %g is no step of %g: the last one is total - 1", number[INDEX], number[TOTAL]);
    return TL_OK;
}

static void rate(claim *c, tl_schedule_kind kind, const double number[]) {
    const tl_schedule o = {.kind = kind,
                           .base = number[LR],
                           .factor = number[FACTOR],
                           .turn = (uint64_t)number[TURN],
                           .total = (uint64_t)number[TOTAL]};
    expect_rates(c, &o, (uint64_t)number[INDEX], 1);
}

static void steps(claim *c, const call_target *t, const double number[]) {
    (void)t;
    rate(c, TL_SCHEDULE_STEP, number);
}

static void cosine(claim *c, const call_target *t, const double number[]) {
    (void)t;
    rate(c, TL_SCHEDULE_COSINE, number);
}

static void triangular(claim *c, const call_target *t, const double number[]) {
    (void)t;
    rate(c, TL_SCHEDULE_TRIANGULAR, number);
}

/* ---- batches, and the loop ---- */

static tl_status check_batch(const double number[]) {
    TL_NEED(number[FIRST] + number[BATCH] <= number[COUNT], TL_EINVAL,
            "batch = %g images from first = %g on are more than count = %g", number[BATCH],
            number[FIRST], number[COUNT]);
    return TL_OK;
}

static void augment(claim *c, const call_target *t, const double number[]) {
    const tl_device_split s =
        draw_split(c, (int)number[COUNT], (int)number[C], (int)number[H], (int)number[W]);
    const tl_step step = {.seed = draw_bits(c),
                          .index = 3,
                          .epoch = (uint32_t)number[EPOCH],
                          .first = (uint32_t)number[FIRST]};
    const tl_batch_geom g = {.n = (int)number[BATCH],
                             .shuffle = (int)number[SHUFFLE],
                             .augment = (int)number[AUGMENT],
                             .pad = (int)number[PAD]};
    expect_batch(c, t, &s, &step, &g);
}

static void train(claim *c, const call_target *t, const double number[]) {
    expect_two_epochs(c, t, (int)number[COUNT], (int)number[BATCH]);
}

static const case_kind kinds[] = {{"sgd", check_sgd, sgd},
                                  {"adam", NULL, adam},
                                  {"schedule_step", NULL, steps},
                                  {"schedule_cosine", check_end, cosine},
                                  {"schedule_triangular", check_end, triangular},
                                  {"augment", check_batch, augment},
                                  {"train", NULL, train},
                                  {NULL, NULL, NULL}};

CLAIM(lab5_cases, broken_versions_are_noticed) { expect_noticed(c, kinds); }
