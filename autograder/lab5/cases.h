/* cases.h: what claims of lab 5 do with one set of numbers, for a student's own cases, too. */
#ifndef LAB5_CASES_H
#define LAB5_CASES_H

#include "autograder/claim/claim.h"
#include "tl/data.h"
#include "tl/optim.h"

typedef struct sgd_run {
    double lr; /* of the first step; lr/2 in the second, lr/3 … */
    tl_sgd_options o;
} sgd_run;
/* Steps of n parameters, each against the definition. Without `velocity` there is no such array. */
void expect_sgd(claim *c, const call_target *t, const sgd_run *run, int n, int steps,
                bool velocity);

typedef struct adam_run {
    double lr;
    uint64_t first; /* step number of the first step */
    tl_adam_options o;
} adam_run;
void expect_adam(claim *c, const call_target *t, const adam_run *run, int n, int steps);

/* The rates of so many steps from `first` on. */
void expect_rates(claim *c, const tl_schedule *o, uint64_t first, uint64_t count);

/* A small split whose table maps every byte, 0 included, to a number of its own. */
tl_device_split draw_split(claim *c, int count, int ch, int h, int w);
/* One batch of it, pictures and labels. */
void expect_batch(claim *c, const call_target *t, const tl_device_split *s, const tl_step *step,
                  const tl_batch_geom *g);

/* The training loop, two epochs of small pictures: weights, sums and position. */
void expect_two_epochs(claim *c, const call_target *t, int count, int batch);

#endif
