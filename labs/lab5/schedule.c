/* schedule.c: learning rates as closed forms of the step number. (tl/optim.h) */
#include "tl/optim.h"

double tl_schedule_lr(const tl_schedule *schedule, uint64_t i) {
    /* TODO(lab 5): The learning rate of step i by the closed forms of tl/optim.h. A closed form
     * carries no state: a run that resumes at step i needs nothing but i. Traps: how many turns
     * have been reached at i = turn, and at i = turn - 1? A division of two uint64_t is a whole
     * number, also where you want a fraction; `turn` may lie beyond `total`. */
    (void)schedule, (void)i;
    (void)TL_NOT_IMPLEMENTED();
    return NAN;
}
