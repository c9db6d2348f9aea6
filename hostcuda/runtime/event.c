/* event.c: events. Recording is an operation of its stream; an event is ready when that has run. */
#include "internal.h"

#include <stdlib.h>
#include <time.h>

enum { ALIVE = 0x45764e74 };

/* A destroyed event's few bytes are kept: so a handle that is used later is seen for certain, and
 * an operation that is still queued may hold it. */
struct CUevent_st {
    int alive; /* ALIVE until it is destroyed */
    struct CUevent_st *destroyed_before;
    uint64_t recorded; /* versions: of the last record queued ... */
    uint64_t reached;  /* ... and of the last that has run */
    cudaStream_t stream;
    uint64_t number; /* of the last record in all streams' order */
    cudaGraph_t capture;
    bool timed;
    double at_ms;
};

static cudaError_t bad(const char *file, int line) {
    hc_complain("bad-handle", file, line, "it was destroyed before, or never created",
                "this is not an event");
    return hc_fail(cudaErrorInvalidResourceHandle);
}

static cudaEvent_t destroyed; /* the last one */

static bool valid(cudaEvent_t event) { return event && event->alive == ALIVE; }

cudaError_t hc_EventCreateWithFlags(cudaEvent_t *event, unsigned flags, const char *file,
                                    int line) {
    (void)file, (void)line;
    if (!event) return hc_fail(cudaErrorInvalidValue);
    *event = calloc(1, sizeof **event);
    if (!*event) abort();
    (*event)->alive = ALIVE;
    (*event)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

cudaError_t hc_EventCreate(cudaEvent_t *event, const char *file, int line) {
    return hc_EventCreateWithFlags(event, 0, file, line);
}

cudaError_t hc_EventDestroy(cudaEvent_t event, const char *file, int line) {
    if (!valid(event)) return bad(file, line);
    hc_enter();
    if (event->reached < event->recorded && !event->capture)
        hc_run_until(event->stream, event->number + 1);
    event->alive = 0;
    event->destroyed_before = destroyed;
    destroyed = event;
    hc_leave();
    return cudaSuccess;
}

static cudaError_t run_record(hc_op *op) {
    cudaEvent_t event = op->u.event.event;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    event->at_ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    if (op->u.event.version > event->reached) event->reached = op->u.event.version;
    return cudaSuccess;
}

cudaError_t hc_EventRecord(cudaEvent_t event, cudaStream_t stream, const char *file, int line) {
    if (!valid(event) || !hc_stream_valid(stream)) return bad(file, line);
    hc_enter();
    hc_op *op = hc_op_new("cudaEventRecord", run_record, file, line);
    event->capture = hc_stream_capture(stream);
    event->stream = stream;
    op->u.event.event = event;
    op->u.event.version = ++event->recorded;
    event->number = hc_next_number();
    cudaError_t error = hc_queue(stream, op);
    hc_leave();
    return error;
}

static cudaError_t run_wait(hc_op *op) {
    cudaEvent_t event = op->u.event.event;
    if (op->u.event.version <= event->reached) return cudaSuccess;
    return hc_run_until(event->stream, event->number + 1);
}

cudaError_t hc_StreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags,
                               const char *file, int line) {
    (void)flags;
    if (!valid(event) || !hc_stream_valid(stream)) return bad(file, line);
    if (event->recorded == 0) return cudaSuccess; /* never recorded: nothing to wait for */
    hc_enter();
    cudaError_t error = cudaSuccess;
    if (event->capture) { /* the stream joins the capture; program order is kept in the graph */
        if (!hc_stream_capture(stream)) hc_capture_set(stream, event->capture);
    } else {
        hc_op *op = hc_op_new("cudaStreamWaitEvent", run_wait, file, line);
        op->u.event.event = event;
        op->u.event.version = event->recorded;
        error = hc_queue(stream, op);
    }
    hc_leave();
    return error;
}

cudaError_t hc_EventSynchronize(cudaEvent_t event, const char *file, int line) {
    if (!valid(event)) return bad(file, line);
    hc_enter();
    cudaError_t error = hc_sticky();
    if (!error && event->reached < event->recorded)
        error = hc_run_until(event->stream, event->number + 1);
    if (!error) error = hc_sticky();
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_EventQuery(cudaEvent_t event, const char *file, int line) {
    if (!valid(event)) return bad(file, line);
    if (event->reached >= event->recorded) return cudaSuccess;
    hc_StreamQuery(event->stream, file, line); /* lets the device get on */
    return hc_sticky() ? hc_sticky() : cudaErrorNotReady;
}

cudaError_t hc_EventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end, const char *file,
                                int line) {
    if (!valid(start) || !valid(end)) return bad(file, line);
    if (!start->timed || !end->timed || !start->recorded || !end->recorded)
        return hc_fail(cudaErrorInvalidResourceHandle);
    if (start->reached < start->recorded || end->reached < end->recorded)
        return hc_fail(cudaErrorNotReady); /* call cudaEventSynchronize first */
    *ms = (float)(end->at_ms - start->at_ms);
    return cudaSuccess;
}
