/* queue.c: streams are queues of operations.
 *
 * A queued operation runs at the next call that waits for it, or at a point drawn from the seed: so
 * host code that forgets to wait sees it. Each operation has a number over all streams; the legacy
 * default stream waits for what was queued in the others before, and they for it. */
#include "internal.h"

#include <stdlib.h>

pthread_mutex_t hc_lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
struct CUstream_st hc_default_stream = {.blocking = true};
static struct CUstream_st *const streams = &hc_default_stream; /* the list starts with it */
static uint64_t last_number, draws;
static int capturing;
static bool worked;             /* something ran since the canaries were looked at */
static bool used;               /* by any call: else there is nothing to tell at the end */
static const void *kept_stream; /* the stream that work belongs in; NULL: any */

/* What the program left behind is reported when it ends, or when its plug-in is closed. */
static __attribute__((destructor)) void at_exit(void) {
    hc_op *first;
    size_t pending = used ? hc_pending(&first) : 0;
    if (!used) return;
    used = false;
    if (pending && !hc_sticky()) /* (after an error nothing runs any more) */
        hc_complain("never-waited", first->site.file, first->site.line,
                    "end with cudaDeviceSynchronize() and look at what it returns",
                    "the program ended with %zu operations never waited for; the first is %s",
                    pending, first->name);
    hc_report_unchecked();
    hc_report_leaks();
}

static void set_up(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes,
                              PTHREAD_MUTEX_RECURSIVE); /* host functions may call us */
    pthread_mutex_init(&hc_lock, &attributes);
    hc_fault_install();
    used = true;
}

void hc_enter(void) {
    pthread_once(&once, set_up);
    hc_fault_thread();
    pthread_mutex_lock(&hc_lock);
}

void hc_leave(void) { pthread_mutex_unlock(&hc_lock); }

hc_op *hc_op_new(const char *name, cudaError_t (*run)(hc_op *), const char *file, int line) {
    hc_op *op = calloc(1, sizeof *op);
    if (!op) abort();
    op->name = name;
    op->run = run;
    op->site = (hc_site){file, line};
    return op;
}

void hc_op_free(hc_op *op) {
    if (op->drop) op->drop(op);
    free(op);
}

struct CUstream_st *hc_resolve(cudaStream_t stream) {
    return (uintptr_t)stream <= 2 ? &hc_default_stream
                                  : stream; /* 1 and 2 are CUDA's special handles */
}

bool hc_stream_valid(cudaStream_t stream) {
    struct CUstream_st *wanted = hc_resolve(stream);
    for (struct CUstream_st *s = streams; s; s = s->next)
        if (s == wanted) return true;
    return false;
}

/* The number that the next operation will get. */
uint64_t hc_next_number(void) { return last_number + 1; }

cudaGraph_t hc_stream_capture(cudaStream_t stream) { return hc_resolve(stream)->capture; }
bool hc_capturing(void) { return capturing > 0; }

/* ---- running ---- */

/* An operation of the default stream waits for the blocking ones before it, and the other way
 * round. */
static cudaError_t run_dependencies(struct CUstream_st *s, uint64_t number) {
    cudaError_t error = cudaSuccess;
    if (!s->blocking) return error;
    for (struct CUstream_st *other = streams; other && !error; other = other->next) {
        bool ordered =
            other->blocking && (s == &hc_default_stream) != (other == &hc_default_stream);
        if (ordered) error = hc_run_until(other, number);
    }
    return error;
}

static bool is_anything_queued(void) {
    for (struct CUstream_st *s = streams; s; s = s->next)
        if (s->first) return true;
    return false;
}

/* Runs the stream's operations with numbers below `number`. */
cudaError_t hc_run_until(cudaStream_t stream, uint64_t number) {
    struct CUstream_st *s = hc_resolve(stream);
    cudaError_t error = cudaSuccess;
    static int depth; /* one stream may run another's */
    depth++;
    hc_arena_open(); /* once for all of them */
    while (s->first && s->first->number < number && !error) {
        hc_op *op = s->first;
        s->first = op->next;
        if (!s->first) s->last = NULL;
        error = run_dependencies(s, op->number);
        worked = true;
        if (!error) {
            hc_check_unwaited_begins();
            error = op->run(op);
            hc_check_unwaited_ends(op);
        }
        hc_op_free(op);
    }
    hc_arena_close();
    if (--depth == 0) hc_check_unwaited_queued(is_anything_queued());
    return error;
}

cudaError_t hc_drain(cudaStream_t stream) {
    cudaError_t error = hc_run_until(stream, UINT64_MAX);
    return error ? error : hc_sticky();
}

/* All streams, in an order drawn from the seed: only events and the default stream order them. */
cudaError_t hc_drain_all(void) {
    hc_op *first;
    if (hc_pending(&first) == 0 && !worked) return hc_sticky();
    hc_arena_open(); /* once for all of them */
    for (;;) {
        int busy = 0;
        for (struct CUstream_st *s = streams; s; s = s->next) busy += s->first != NULL;
        if (busy == 0 || hc_sticky()) break;
        int wanted = (int)(hc_mix(hc_options_get()->seed ^ ++draws) % (unsigned)busy);
        for (struct CUstream_st *s = streams; s; s = s->next)
            if (s->first && wanted-- == 0) {
                hc_run_until(s, s->first->number + 1);
                break;
            }
    }
    if (hc_sticky())
        hc_streams_drop();
    else
        hc_check_all_canaries("at a synchronisation");
    worked = false;
    hc_arena_close();
    return hc_sticky();
}

void hc_queue_only(const void *stream) { kept_stream = stream; }

/* Who forgets the stream gets the default one. Neither waits for the other, unless that one was
 * created as blocking: the order that is kept here is luck. */
static void tell_stream(const struct CUstream_st *s, const hc_op *op) {
    if (!kept_stream || s == kept_stream) return;
    hc_complain("other-stream", op->site.file, op->site.line,
                "the stream is the fourth launch argument, kernel<<<grid, block, 0, stream>>>, and "
                "the last one of a copy or memset with Async; without it the stream is 0",
                "%s is queued in %s, and what it works on is in use in another one", op->name,
                s == &hc_default_stream ? "the default stream" : "a stream of its own");
}

cudaError_t hc_queue(cudaStream_t stream, hc_op *op) {
    if (hc_node_takes(op)) return cudaSuccess;
    if (!hc_stream_valid(stream)) {
        hc_complain("bad-handle", op->site.file, op->site.line,
                    "it was destroyed before, or never created", "this is not a stream");
        hc_op_free(op);
        return cudaErrorInvalidResourceHandle;
    }
    struct CUstream_st *s = hc_resolve(stream);
    tell_stream(s, op);
    op->number = ++last_number;
    if (s->capture) {
        hc_graph_append(s->capture, op);
        return cudaSuccess;
    }
    if (s == &hc_default_stream && capturing) {
        for (struct CUstream_st *other = streams; other; other = other->next)
            if (other->capture && other->blocking) {
                hc_op_free(op);
                return cudaErrorStreamCaptureImplicit;
            }
    }
    if (s->last)
        s->last->next = op;
    else
        s->first = op;
    s->last = op;
    hc_check_unwaited_queued(true);
    const hc_options *options = hc_options_get();
    if (options->eager) return hc_drain(s);
    /* One call in 32 (fewer where opening many buffers is dear) lets the device get on in this
     * stream, up to somewhere in its queue. */
    int buffers;
    hc_arena_buffers(&buffers);
    uint64_t draw = hc_mix(options->seed ^ ++draws), first = s->first->number;
    if (draw % (32 + (unsigned)buffers / 8) == 0 && !hc_sticky())
        hc_run_until(s, first + 1 + (draw >> 32) % (op->number - first + 1));
    return cudaSuccess; /* an error of earlier work is reported at the next call */
}

cudaError_t hc_finish(cudaStream_t stream) {
    struct CUstream_st *s = hc_resolve(stream);
    if (s->capture) hc_graph_invalidate(s->capture);
    if (s->capture || (s == &hc_default_stream && capturing))
        return cudaErrorStreamCaptureUnsupported;
    cudaError_t error = run_dependencies(s, UINT64_MAX);
    return error ? error : hc_drain(s);
}

size_t hc_pending(hc_op **first) {
    size_t count = 0;
    *first = NULL;
    for (struct CUstream_st *s = streams; s; s = s->next)
        for (hc_op *op = s->first; op; op = op->next, count++)
            if (!*first || op->number < (*first)->number) *first = op;
    return count;
}

void hc_streams_drop(void) {
    for (struct CUstream_st *s = streams; s; s = s->next)
        while (s->first) {
            hc_op *op = s->first;
            s->first = op->next;
            if (!s->first) s->last = NULL;
            hc_op_free(op);
        }
    hc_check_unwaited_queued(false);
}

/* ---- capture ---- */

void hc_capture_set(cudaStream_t stream, cudaGraph_t graph) {
    struct CUstream_st *s = hc_resolve(stream);
    capturing += (graph != NULL) - (s->capture != NULL);
    s->capture = graph;
}

/* Streams that joined through an event leave together with the one that began. */
void hc_capture_end(cudaGraph_t graph) {
    for (struct CUstream_st *s = streams; s; s = s->next)
        if (s->capture == graph) hc_capture_set(s, NULL);
}

bool hc_stream_is_default(cudaStream_t stream) { return hc_resolve(stream) == &hc_default_stream; }
