/* schedule.c: learning rates as closed forms of the step number. (tl/optim.h) */
#include "tl/optim.h"

//@lab 5:
#include <math.h>
//@end

//@lab 5:
/* Closed forms carry no state: a run that resumes at step i needs nothing but i. */
//@end
double tl_schedule_lr(const tl_schedule *schedule, uint64_t i) {
    //@lab 5: The learning rate of step i by the closed forms of tl/optim.h. A closed form carries
    //@  no state: a run that resumes at step i needs nothing but i. Traps: how many turns have
    //@  been reached at i = turn, and at i = turn - 1? A division of two uint64_t is a whole
    //@  number, also where you want a fraction; `turn` may lie beyond `total`.
    double base = schedule->base, at = (double)i;
    double turn = (double)schedule->turn, total = (double)schedule->total;

    switch (schedule->kind) {
    case TL_SCHEDULE_CONSTANT:
        return base;
    case TL_SCHEDULE_STEP:
        return base * pow(schedule->factor, (double)(i / schedule->turn));
    case TL_SCHEDULE_COSINE:
        return base * (1 + cos(M_PI * at / total)) / 2;
    case TL_SCHEDULE_TRIANGULAR:
        /* A turn at or beyond total never comes down: the second form is not reached then. */
        return base * (at < turn ? at / turn : (total - at) / (total - turn));
    }
    return NAN; /* not a schedule: a rate that no run can mistake for one */
    //@skeleton
    // (void)schedule, (void)i;
    // (void)TL_NOT_IMPLEMENTED();
    // return NAN;
    //@end
}
