/* device_claims.c: see device_claims.h. */
#include "device_claims.h"

#include <string.h>

#include "verdict.h"

call_target launches_failing(const call_target *t) {
    call_target failing = *t;
    failing.launches_fail = strcmp(t->device, "hostcuda") == 0;
    return failing;
}

call_target queueing(const call_target *t) {
    call_target recorded = *t;
    recorded.recorded = true;
    return recorded;
}

call_target steps_failing(const call_target *t) {
    call_target failing = *t;
    failing.steps_fail = true;
    return failing;
}

/* Judges the call just made against the count of a first one with fewer images; -1: none yet. */
static void expect_launches(claim *c, int64_t *first) {
    int64_t count = c->counter[CALL_LAUNCHES];
    if (c->case_failed || !c->target || strcmp(c->target->device, "hostcuda") != 0) return;
    c->compared++;
    if (*first < 0) *first = count;
    if (count < 0)
        finding_take(c, "grader", true, "this build of hostcuda does not count launches");
    else if (count == 0)
        finding_take(c, "no_launch", false,
                     "no kernel was launched: the work is not done on the device");
    else if (count > *first)
        finding_take(c, "launches", false,
                     "%lld kernel launches, and %lld for fewer images: they grow with the batch",
                     (long long)count, (long long)*first);
}

void device_launches(claim *c, device_call call, int ops) {
    FOR_TARGETS (t)
        for (int op = 0; op < ops; op++) {
            call_target failing = launches_failing(t);
            int64_t first = -1;
            for (int images = 2; images <= 9; images += 7) {
                call(c, &failing, op, images);
                expect_launches(c, &first);
            }
        }
}

void device_waits(claim *c, device_call call, int ops, device_first first) {
    FOR_TARGETS (t)
        for (int op = 0; op < ops; op++) {
            call_target recorded = queueing(t);
            if (first == WARM) call(c, t, op, 2);
            call(c, &recorded, op, 2);
        }
}

void device_meet(claim *c, device_case call, int cases) {
    FOR_TARGETS (t)
        for (int i = 0; i < cases; i++) call(c, t, i);
}

/* On one row of the cpu. More threads than cores on purpose: a sum whose order depends on them
 * shows at 4 and 8, not at 2. Each of them is a process of its own: none can remember. */
static void repeat_bits(claim *c, const call_target *row, threads_call call, int which) {
    static const int threads[CALL_WORKERS] = {1, 2, 3, 4, 8};
    const uint64_t drawn = c->state;
    threads_result first;
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        call_target t = *row;
        t.threads = threads[k];
        t.worker = (int)k;
        c->state = drawn;
        threads_result now = call(c, &t, which);
        if (k == 0)
            first = now;
        else
            expect_same_bits(c, now.name, now.value, first.value, now.shape);
    }
}

void threads_bits(claim *c, threads_call call, int cases) {
    for (const call_target *row = claim_targets; row < claim_targets + 4; row += 2)
        for (int i = 0; i < cases && claim_has_rungs(row); i++) repeat_bits(c, row, call, i);
}
