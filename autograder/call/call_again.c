/* call_again.c: calls made again, of which a launch or a step is made to fail (call_again.h). */
#include "call_again.h"

#include <stdio.h>
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

/* ---- steps ---- */

/* What was made to fail, in words: "call 2 of tl_gemm", "copy 3 to the device". */
static const char *told(const call_wire *w) {
    static const char *const step[CALL_STEPS] = {
        "nothing (%lld)",
        "request %lld for memory of the device",
        "request %lld for memory of the host (malloc and the like)",
        "copy %lld to the device",
        "copy %lld to the host",
        "copy %lld on the device",
        "clearing %lld of an array",
        "call %lld of step_set",
        "call %lld of tl_tape_wrap",
        "call %lld of tl_tape_record"};
    static char text[120];
    int64_t of = w->refused; /* as the worker says: any number */
    long long nth = w->refused_nth;
    const char *op = of >= CALL_STEPS ? call_op_name((call_op)(of - CALL_STEPS)) : NULL;
    if (op)
        snprintf(text, sizeof text, "call %lld of tl_%s", nth, op);
    else
        snprintf(text, sizeof text, step[of > 0 && of < CALL_STEPS ? of : 0], nth);
    return text;
}

static bool is_request(const call_wire *w) {
    return w->refused == CALL_REQUEST || w->refused == CALL_HOST_REQUEST;
}

/* Whether a call that was refused and returned TL_OK has made good for it: it has tried again, or
 * another way. Host memory may be done without, so there the results decide. */
static bool recovered(const call_request *q, const call_wire *w, const call_wire *good) {
    if (w->refused != CALL_HOST_REQUEST) return w->steps > good->steps;
    if (call_is_of_table(w->op)) return !call_count_unwritten(q, w);
    for (int i = 0; i < w->frames; i++)
        if (w->outputs >> i & 1 && memcmp(w->frame[i], good->frame[i], w->frame_bytes[i]))
            return false;
    return true;
}

/* The way out: what is kept, and what is given back twice. */
static void judge_way_out(const call_wire *w, const call_wire *good, call_report *report) {
    int64_t blocks = w->host_blocks - (call_is_of_table(w->op) ? good->host_blocks : 0);
    char taken[CALL_TEXT];
    if (w->live_bytes)
        call_fault(report, "leak",
                   "%s was made to fail, and on the way out %lld bytes of device memory were not "
                   "given back",
                   told(w), (long long)w->live_bytes);
    else if (blocks > 0 && w->op != CALL_train) {
        call_say_kept(w, good, taken);
        call_fault(report, "leak",
                   "%s was made to fail, and on the way out %lld block%s of host memory %s not "
                   "freed%.200s",
                   told(w), (long long)blocks, blocks == 1 ? "" : "s", blocks == 1 ? "was" : "were",
                   taken);
    } else if (w->bad_puts > good->bad_puts)
        call_fault(report, "double_free",
                   "%s was made to fail, and on the way out memory was given to tl_alloc_put that "
                   "had been given back already, or never taken",
                   told(w));
}

/* How a call that was refused its n-th step behaved. `good`: the same call when all went well. */
static void judge_refused(const call_request *q, const call_wire *w, const call_wire *good, int n,
                          call_report *report) {
    tl_status due = is_request(w) ? TL_ENOMEM : call_refusal(n);
    if (w->kind[0]) { /* what the step was died with the process */
        report->ended = true;
        call_fault(report, w->kind, "step %d of this call was made to fail, and then: %s", n,
                   w->ended);
    } else if (!w->refused) {
        return;
    } else if (w->status == TL_OK) {
        if (!recovered(q, w, good))
            call_fault(report, "status_dropped",
                       "%s was made to fail, and the call returned TL_OK: its status has to be "
                       "returned",
                       told(w));
    } else if (strstr(w->error, CALL_LEFT_SET)) {
        call_fault(report, "status",
                   "%s was made to fail, and the call said so, but left *t set: its caller would "
                   "free what was never made, or is freed already",
                   told(w));
    } else if (w->status != due && !is_request(w)) {
        call_fault(report, "status_changed",
                   "%s was made to fail with the status %d, and the call returned %s (%d): %s",
                   told(w), (int)due, tl_status_name(w->status), (int)w->status, w->error);
    } else if (w->status != due) {
        call_fault(report, "status_changed",
                   "%s was made to fail, and the call returned %s, not TL_ENOMEM", told(w),
                   tl_status_name(w->status));
    }
    judge_way_out(w, good, report);
}

/* The call again, with one step after the other failing. A program runs the same host code on every
 * device, so it is asked on the cpu alone, where operations fail, too, and all is quick. */
void call_failing_steps(const call_target *target, const call_request *request,
                        const call_wire *good, call_report *report) {
    enum { TRIED = 200 };
    bool is_program = !call_is_of_table(request->op);
    if (is_program && strcmp(target->device, "cpu") != 0) return;
    for (int n = 1; n <= good->steps && n <= TRIED && !report->fault[0]; n++) {
        call_wire again = call_wire_of(target, request);
        again.failing_step = n;
        if (call_build_frames(request, &again)) call_execute(&again);
        judge_refused(request, &again, good, n, report);
        call_free_frames(&again);
    }
}
