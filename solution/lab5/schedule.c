/* schedule.c: learning rates as closed forms of the step number. (tl/optim.h) */
#include "tl/optim.h"

#include <math.h>
#include <stdbool.h>

//@lab 5:
#include "tl/portable.h"
//@end

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

//@lab 5:
/* Closed forms carry no state: a run that resumes at step i needs nothing but i. A cosine or a
 * power of libm would be as right; those of tl/portable.h have the same bits on every machine. */
//@end
double tl_schedule_lr(const tl_schedule *schedule, uint64_t i) {
    if (check(schedule) != TL_OK) return NAN;

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
        return base * tl_portable_power(schedule->factor, i / schedule->turn);
    case TL_SCHEDULE_COSINE:
        return base * (1 + tl_portable_cospi(at / total)) / 2;
    case TL_SCHEDULE_TRIANGULAR:
        /* A turn at or beyond total never comes down: the second form is not reached then. */
        return base * (at < turn ? at / turn : (total - at) / (total - turn));
    }
    return NAN; /* no kind gets here */
    //@skeleton
    // (void)i;
    // (void)TL_NOT_IMPLEMENTED();
    // return NAN;
    //@end
}
