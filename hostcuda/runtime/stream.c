/* stream.c: the API of streams, host functions, and calls of libraries in stream order. */
#include "internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

cudaError_t hc_StreamCreateWithFlags(cudaStream_t *stream, unsigned flags, const char *file,
                                     int line) {
    if (!stream || flags > 1) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    struct CUstream_st *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->blocking = flags == cudaStreamDefault;
    s->created = (hc_site){file, line};
    s->next = hc_default_stream.next;
    hc_default_stream.next = s;
    *stream = s;
    hc_leave();
    return cudaSuccess;
}

cudaError_t hc_StreamCreate(cudaStream_t *stream, const char *file, int line) {
    return hc_StreamCreateWithFlags(stream, 0, file, line);
}

cudaError_t hc_StreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority,
                                        const char *file, int line) {
    (void)priority;
    return hc_StreamCreateWithFlags(stream, flags, file, line);
}

static cudaError_t invalid(const char *file, int line, const char *what) {
    hc_complain("bad-handle", file, line, "it was destroyed before, or never created",
                "this is not a %s", what);
    return hc_fail(cudaErrorInvalidResourceHandle);
}

cudaError_t hc_StreamDestroy(cudaStream_t stream, const char *file, int line) {
    if (!hc_stream_valid(stream) || hc_resolve(stream) == &hc_default_stream)
        return invalid(file, line, "stream");
    hc_enter();
    cudaError_t error = hc_drain(stream); /* what is queued is still done */
    for (struct CUstream_st *s = &hc_default_stream; s->next; s = s->next)
        if (s->next == stream) {
            s->next = stream->next;
            break;
        }
    free(stream);
    hc_leave();
    return error;
}

cudaError_t hc_StreamSynchronize(cudaStream_t stream, const char *file, int line) {
    if (!hc_stream_valid(stream)) return invalid(file, line, "stream");
    hc_enter();
    cudaError_t error = hc_finish(stream);
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_DeviceSynchronize(const char *file, int line) {
    (void)file, (void)line;
    hc_enter();
    /* the device is a handle that holds all streams, those that are being captured, too */
    if (hc_capturing()) hc_graphs_invalidate();
    cudaError_t error = hc_capturing() ? cudaErrorStreamCaptureUnsupported : hc_drain_all();
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

/* Each question lets the device get on by one operation: a loop around it ends. */
cudaError_t hc_StreamQuery(cudaStream_t stream, const char *file, int line) {
    if (!hc_stream_valid(stream)) return invalid(file, line, "stream");
    hc_enter();
    struct CUstream_st *s = hc_resolve(stream);
    bool busy = s->first != NULL;
    if (busy) hc_run_until(s, s->first->number + 1);
    cudaError_t error = hc_sticky() ? hc_sticky() : busy ? cudaErrorNotReady : cudaSuccess;
    hc_leave();
    return error;
}

static cudaError_t run_host(hc_op *op) {
    hc_arena_close(); /* a host function has no business in device memory */
    op->u.host.function(op->u.host.data);
    hc_check_unwaited_forget(); /* it may have waited for what host code did meanwhile */
    hc_arena_open();
    return cudaSuccess;
}

/* ---- a program that waits for its host function, and asks CUDA nothing ---- */

enum { TICK_MS = 100, QUIET = 10 };

/* The number behind the stream's last host function; 0: it holds none. */
static uint64_t behind_host_functions(const struct CUstream_st *s) {
    uint64_t number = 0;
    for (const hc_op *op = s->first; op; op = op->next)
        if (op->run == run_host) number = op->number + 1;
    return number;
}

/* Queues move when they are asked (queue.c), but a host function may be what wakes the program. So
 * where nothing has been queued for QUIET ticks, what stands before one is done unasked. */
static void *get_on(void *unused) {
    (void)unused;
    uint64_t seen = 0;
    for (int quiet = 0;;) {
        nanosleep(&(struct timespec){0, TICK_MS * 1000000}, NULL);
        hc_enter();
        quiet = hc_next_number() == seen ? quiet + 1 : 0;
        seen = hc_next_number();
        for (struct CUstream_st *s = &hc_default_stream; s && quiet >= QUIET; s = s->next) {
            uint64_t number = behind_host_functions(s);
            if (number == 0) continue;
            hc_run_until(s, number);
            break; /* (it may have destroyed a stream) */
        }
        hc_leave();
    }
    return NULL;
}

static bool getting_on;

static void after_fork(void) { getting_on = false; }

static void start_getting_on(void) {
    if (getting_on) return;
    static bool registered;
    if (!registered) pthread_atfork(NULL, NULL, after_fork);
    registered = getting_on = true;
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all); /* signals of the program are for the program's threads */
    sigdelset(&all, SIGSEGV), sigdelset(&all, SIGBUS), sigdelset(&all, SIGFPE);
    sigdelset(&all, HC_WATCHDOG_SIGNAL);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, get_on, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

cudaError_t hc_LaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data,
                              const char *file, int line) {
    if (!function) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    hc_op *op = hc_op_new("a host function", run_host, file, line);
    op->u.host.function = function;
    op->u.host.data = data;
    cudaError_t error = hc_queue(stream, op);
    if (!error) start_getting_on();
    hc_leave();
    return error;
}

typedef struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *data;
} callback;

static void run_callback(void *payload) {
    callback c = *(callback *)payload;
    free(payload);
    c.function(c.stream, hc_sticky(), c.data);
}

cudaError_t hc_StreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data,
                                 unsigned flags, const char *file, int line) {
    if (!function || flags) return hc_fail(cudaErrorInvalidValue);
    callback *c = malloc(sizeof *c);
    if (!c) abort();
    *c = (callback){function, stream, data};
    return hc_LaunchHostFunc(stream, run_callback, c, file, line);
}

typedef struct call {
    cudaError_t (*run)(void *payload);
    _Alignas(16) char payload[];
} call;

static cudaError_t run_call(hc_op *op) {
    call *c = op->u.host.data;
    hc_counts_call();
    hc_arena_open();
    cudaError_t error = c->run(c->payload);
    hc_arena_close();
    return error;
}

static void drop_call(hc_op *op) { free(op->u.host.data); }

cudaError_t hc_queue_call(cudaStream_t stream, const char *name, cudaError_t (*run)(void *payload),
                          const void *payload, size_t bytes, const char *file, int line) {
    hc_op *op = hc_op_new(name, run_call, file, line);
    call *c = aligned_alloc(16, (sizeof *c + bytes + 15) / 16 * 16);
    if (!c) abort();
    c->run = run;
    memcpy(c->payload, payload, bytes);
    op->u.host.data = c;
    op->drop = drop_call;
    return hc_queue(stream, op);
}
