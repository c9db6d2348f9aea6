/* launches.h: what a call costs beside its arithmetic, where the device counts it (hostcuda). */
#ifndef TESTS_LAUNCHES_H
#define TESTS_LAUNCHES_H

#include "claim.h"

/* The count of a first call, which later ones must not exceed. */
typedef struct launches {
    int64_t first; /* -1: none yet */
} launches;

static inline launches launches_none(void) { return (launches){-1}; }

/* Judges the call just made, with more images than the one before: it launches something, and no
 * more than that one. Only hostcuda counts; elsewhere the results are judged alone. */
void expect_launches(claim *c, launches *seen);

/* The same target with the operation recorded, so that waiting, copying to the host and allocating
 * inside of it fail. */
call_target launches_recorded(const call_target *t);

/* The same target, where after each call its launches are made to fail, one by one, and the
 * operation must say so: hostcuda alone can do that. */
call_target launches_failing(const call_target *t);

#endif
