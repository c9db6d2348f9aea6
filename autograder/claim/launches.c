/* launches.c: see launches.h. */
#include "launches.h"

#include <string.h>

#include "verdict.h"

void expect_launches(claim *c, launches *seen) {
    int64_t count = c->counter[CALL_LAUNCHES];
    if (c->case_failed || !c->target || strcmp(c->target->device, "hostcuda") != 0) return;
    c->compared++;
    if (seen->first < 0) seen->first = count;
    if (count < 0)
        finding_take(c, "grader", true, "this build of hostcuda does not count launches");
    else if (count == 0)
        finding_take(c, "no_launch", false,
                     "no kernel was launched: the work is not done on the device");
    else if (count > seen->first)
        finding_take(c, "launches", false,
                     "%lld kernel launches, and %lld for fewer images: they grow with the batch",
                     (long long)count, (long long)seen->first);
}

call_target launches_recorded(const call_target *t) {
    call_target recorded = *t;
    recorded.recorded = true;
    return recorded;
}

call_target launches_failing(const call_target *t) {
    call_target failing = *t;
    failing.launches_fail = strcmp(t->device, "hostcuda") == 0;
    return failing;
}
