/* training.h: a whole training run on the judged code, judged by the weights that it returns. */
#ifndef TESTS_TRAINING_H
#define TESTS_TRAINING_H

#include "drawn_classes.h"
#include "expect.h"

typedef struct training_plan {
    const char *name;
    classes_net net;
    int images, epochs, batch, pad; /* pad: of the crops; 0: no augmentation at all */
    bool adam;
    int schedule; /* tl_schedule_kind */
    double lr, momentum;
    double accuracy; /* that must be reached on 500 new pictures */
} training_plan;

/* Draws classes and pictures, trains, and evaluates the returned weights on pictures that are drawn
 * only then. What the run itself says about its success is not looked at. */
void expect_training(claim *c, const call_target *t, const training_plan *p);

#endif
