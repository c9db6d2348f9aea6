/* worker_serve.c: takes requests from the pipe, has them run, sends the frames back. */
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "autograder/call/message.h"

/* The arguments and frames of a request, kept between calls: a claim makes hundreds. */
static unsigned char *store;
static size_t store_bytes;

/* False at the end of the file or on an error. */
static bool receive(void *bytes, size_t count) {
    for (char *at = bytes; count > 0;) {
        ssize_t n = read(MESSAGE_REQUESTS, at, count);
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n > 0) at += n, count -= (size_t)n;
    }
    return true;
}

static bool answer(const void *bytes, size_t count) {
    for (const char *at = bytes; count > 0;) {
        ssize_t n = write(MESSAGE_REPLIES, at, count);
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) at += n, count -= (size_t)n;
    }
    return true;
}

static bool reserve(size_t bytes) {
    if (bytes <= store_bytes) return true;
    unsigned char *more = realloc(store, bytes);
    if (!more) return false;
    store = more;
    store_bytes = bytes;
    return true;
}

/* The request as call_execute takes it; the strings lie in *q. */
static void unpack(call_wire *w, message_request *q) {
    unsigned char *at = store + q->argument_bytes;
    *w = (call_wire){.target = {.device = q->device,
                                .rungs = q->rungs,
                                .precision = (tl_precision)q->precision,
                                .threads = q->threads,
                                .column_bytes = q->column_bytes,
                                .recorded = q->recorded != 0,
                                .counted = q->counted != 0,
                                .launches_fail = q->launches_fail != 0},
                     .failing_launch = q->failing_launch,
                     .failing_step = q->failing_step,
                     .op = (call_op)q->op,
                     .arguments = store,
                     .argument_bytes = q->argument_bytes,
                     .slots = q->slots,
                     .frames = q->frames,
                     .inputs = q->inputs,
                     .outputs = q->outputs};
    for (int i = 0; i < CALL_BUFFERS; i++) w->slot_frame[i] = q->slot_frame[i];
    for (int i = 0; i < q->frames; i++) {
        w->frame_bytes[i] = q->frame_bytes[i];
        w->frame[i] = at;
        at += q->frame_bytes[i];
    }
}

static bool reply_with(const call_wire *w, uint64_t serial, int64_t blocks) {
    message_reply reply = {.magic = message_magic(),
                           .serial = serial,
                           .status = (int32_t)w->status,
                           .reached = w->reached,
                           .live_bytes = w->live_bytes,
                           .overrun = w->overrun,
                           .overrun_of = w->overrun_of,
                           .steps = w->steps,
                           .refused = w->refused,
                           .refused_nth = w->refused_nth,
                           .host_blocks = w->host_blocks,
                           .bad_puts = w->bad_puts,
                           .blocks = blocks};
    for (int i = 0; i < CALL_KEPT; i++) reply.kept[i] = w->kept[i];
    memcpy(reply.counter, w->counter, sizeof reply.counter);
    reply.launch = w->launch;
    reply.sites = w->sites;
    memcpy(reply.error, w->error, sizeof reply.error);
    for (int i = 0; i < w->frames; i++) reply.bytes += w->frame_bytes[i];
    if (!answer(&reply, sizeof reply)) return false;
    for (int i = 0; i < w->frames; i++)
        if (!answer(w->frame[i], w->frame_bytes[i])) return false;
    return true;
}

/* A fork of the judged code that came back from its call: only one of the two goes on. */
static void leave_if_forked(pid_t own) {
    if (getpid() != own) _exit(0);
}

static void open_device(call_wire *w) {
    w->status = call_open(&w->target);
    if (w->status != TL_OK) snprintf(w->error, sizeof w->error, "%s", tl_error());
}

int worker_serve(void) {
    const pid_t own = getpid();
    message_request q;
    call_watch_work();
    while (receive(&q.magic, sizeof q.magic)) {
        call_wire w = {.frames = 0};
        call_report report = {.live_blocks = 0};
        /* the rest of another build's request may be shorter: not to be waited for */
        if (q.magic != message_magic()) return WORKER_BAD_REQUEST;
        if (!receive(&q.serial, sizeof q - offsetof(message_request, serial))) return 0;
        if (q.frames < 0 || q.frames > CALL_BUFFERS) return WORKER_BAD_REQUEST;
        size_t bytes = q.argument_bytes + 1;
        for (int i = 0; i < q.frames; i++) bytes += q.frame_bytes[i];
        if (!reserve(bytes)) return WORKER_NO_MEMORY;
        if (!receive(store, bytes - 1)) return WORKER_BAD_REQUEST;
        unpack(&w, &q);
        if (q.kind == MESSAGE_CALL)
            call_execute(&w);
        else if (q.kind == MESSAGE_OPEN)
            open_device(&w);
        else
            call_close(&report);
        leave_if_forked(own);
        if (!reply_with(&w, q.serial, (int64_t)report.live_blocks)) return WORKER_LOST_PIPE;
    }
    return 0;
}
