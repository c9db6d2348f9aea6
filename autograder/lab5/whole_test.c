/* whole_test.c: the student's own optimiser, schedule, augmentation and loop, in training runs. */
#include "autograder/claim/training.h"

#include "tl/optim.h"

CLAIM(lab5_whole, all_tasks_work_together) {
    static const training_plan plans[] = {
        {"SGD with momentum and crops",
         {0},
         200,
         6,
         20,
         1,
         false,
         TL_SCHEDULE_COSINE,
         0.05,
         0.9,
         0.5},
        {"Adam with crops", {0}, 200, 6, 20, 1, true, TL_SCHEDULE_STEP, 0.01, 0, 0.5},
    };
    FOR_TARGETS (t)
        for (int i = 0; i < 2; i++) expect_training(c, t, &plans[i]);
}
