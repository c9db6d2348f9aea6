/* schedule.c: learning rates as closed forms of the step number. (tl/optim.h) */
#include "tl/optim.h"

#include <math.h>
#include <stdbool.h>

/* Whether the schedule is one, and has what its kind divides by. */
static tl_status check(const tl_schedule *s) {
    TL_NEED(s, TL_EINVAL, "tl_schedule_lr: schedule is NULL");
    bool turns = s->kind == TL_SCHEDULE_STEP || s->kind == TL_SCHEDULE_TRIANGULAR;
    bool ends = s->kind == TL_SCHEDULE_COSINE || s->kind == TL_SCHEDULE_TRIANGULAR;
    TL_NEED(turns || ends || s->kind == TL_SCHEDULE_CONSTANT, TL_EINVAL,
            "schedule: kind is %d, which is none", (int)s->kind);
    TL_NEED(!turns || s->turn >= 1, TL_EINVAL, "schedule: turn is 0, must be at least 1");
    TL_NEED(!ends || s->total >= 1, TL_EINVAL, "schedule: total is 0, must be at least 1");
    return TL_OK;
}

double tl_schedule_lr(const tl_schedule *schedule, uint64_t i) {
    if (check(schedule) != TL_OK) return NAN;

    /* TODO(lab 5): The learning rate of step i by the closed forms of tl/optim.h. A closed form
     * carries no state: a run that resumes at step i needs nothing but i. Traps: how many turns
     * have been reached at i = turn, and at i = turn - 1? A division of two uint64_t is a whole
     * number, also where you want a fraction; `turn` may lie beyond `total`. */
    (void)i;
    (void)TL_NOT_IMPLEMENTED();
    return NAN;
}
