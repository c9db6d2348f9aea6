/* call_again.c: calls made again, of which a launch or a step is made to fail (call_again.h). */
#include "call_again.h"

#include <string.h>

/* The call again, with one launch after the other failing. It may return that error, or make good
 * for it by another launch. Calls of cuBLAS count as launches, too, and do not fail. */
void call_failing_launches(const call_target *target, const call_request *request,
                           call_report *report) {
    enum { TRIED = 8 };
    int64_t launches = report->counter[CALL_LAUNCHES];
    for (int n = 1; n <= launches && n <= TRIED && !report->fault[0]; n++) {
        call_wire again = call_wire_of(target, request);
        again.failing_launch = n;
        if (call_build_frames(request, &again)) call_execute(&again);
        if (again.kind[0]) {
            report->ended = true;
            call_fault(report, again.kind, "%s", again.ended);
        } else if (again.status == TL_OK && again.counter[CALL_LAUNCHES] < launches) {
            call_fault(
                report, "unchecked_error",
                "launch %d of this call was made to fail, and the operation returned TL_OK: who "
                "asks for the error of a launch has to return it",
                n);
        }
        call_free_frames(&again);
    }
}

/* How a program that was refused its n-th step behaved. `steps`: it had so many before. */
static void judge_refused(const call_wire *w, int n, int64_t steps, call_report *report) {
    static const char *const refused[CALL_STEPS] = {"nothing", "request for memory",
                                                    "copy to the device", "clearing of an array"};
    const char *step = refused[w->refused > 0 && w->refused < CALL_STEPS ? w->refused : 0];
    if (w->kind[0]) {
        report->ended = true;
        call_fault(report, w->kind, "%s", w->ended);
    } else if (w->status == TL_OK && w->steps <= steps) {
        call_fault(
            report, "unchecked_error",
            "a %s (step %d of this call) was made to fail, and the call returned TL_OK: its status "
            "has to be returned",
            step, n);
    } else if (strstr(w->error, CALL_LEFT_SET)) {
        call_fault(
            report, "status",
            "a %s (step %d of this call) was made to fail, and the call said so, but left *t "
            "set: its caller would free what was never made, or is freed already",
            step, n);
    } else if (w->live_bytes) {
        call_fault(
            report, "leak",
            "a %s (step %d of this call) was made to fail, and on the way out %lld bytes of device "
            "memory were not given back",
            step, n, (long long)w->live_bytes);
    } else if (w->host_blocks > 0) {
        call_fault(
            report, "leak",
            "a %s (step %d of this call) was made to fail, and on the way out %lld block%s of host "
            "memory %s not freed",
            step, n, (long long)w->host_blocks, w->host_blocks == 1 ? "" : "s",
            w->host_blocks == 1 ? "was" : "were");
    }
}

/* The program again, with one step after the other failing. */
void call_failing_steps(const call_target *target, const call_request *request, int64_t steps,
                        call_report *report) {
    enum { TRIED = 100 };
    for (int n = 1; n <= steps && n <= TRIED && !report->fault[0]; n++) {
        call_wire again = call_wire_of(target, request);
        again.failing_step = n;
        if (call_build_frames(request, &again)) call_execute(&again);
        judge_refused(&again, n, steps, report);
        call_free_frames(&again);
    }
}
