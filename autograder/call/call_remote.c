/* call_remote.c: runs a call in a process that holds the judged code and cannot reach this one.
 *
 * One worker per claim, started by its first call, and others that know nothing of its calls, where
 * a claim asks for them (call_target). Nothing that the worker does can stop the grader (every wait
 * has a deadline) or pass for a result (every byte that comes back has its place). */
#define _GNU_SOURCE
#include "call_remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct slot {
    remote_worker worker;
    bool opened; /* the worker has answered once */
    off_t lines_read;
} slot;
#define NONE                                                                                       \
    {                                                                                              \
        .worker = {.pid = -1, .keeper = -1 }                                                       \
    }
static slot slots[CALL_WORKERS] = {NONE, NONE, NONE, NONE, NONE};
static slot *now = slots; /* whose call it is */
static bool over;         /* a worker has come to its end: no more calls in this process */
static uint64_t serial;
static call_evidence evidence;
static call_sites sites; /* of the latest counted call */

const call_evidence *call_evidence_now(void) { return &evidence; }

int call_costs_by_line(call_cost out[CALL_COSTS]) { return remote_costs(out, &sites); }

/* Code of the same user may not look into this process or the one that runs the tests. */
__attribute__((constructor)) static void close_to_others(void) { prctl(PR_SET_DUMPABLE, 0); }

/* ---- waiting ---- */

/* Takes what the worker printed, so that it never waits for us; keeps the first bytes. */
static void drain_output(void) {
    char text[1 << 14];
    for (ssize_t n; (n = read(now->worker.output, text, sizeof text)) > 0;) {
        size_t room = CALL_OUTPUT - evidence.output_bytes, take = (size_t)n;
        evidence.output_total += take;
        if (take > room) take = room;
        memcpy(evidence.output + evidence.output_bytes, text, take);
        evidence.output_bytes += take;
        if (evidence.output_total > REMOTE_OUTPUT) return;
    }
}

/* Until the pipe can be read or written. */
static remote_event wait_for(remote_watch *watch, int file, short what) {
    for (;;) {
        struct pollfd wanted[2] = {{.fd = file, .events = what},
                                   {.fd = now->worker.output, .events = POLLIN}};
        int ready = poll(wanted, 2, watch->cpu_first < 0 ? 5 : 50);
        if (ready < 0 && errno != EINTR) return REMOTE_STARVED;
        if (wanted[0].revents) return REMOTE_READY;
        if (wanted[1].revents & POLLIN) drain_output();
        if (evidence.output_total > REMOTE_OUTPUT) return REMOTE_FLOOD;
        /* a closed output would wake us for ever */
        if (wanted[1].revents & POLLHUP) poll(wanted, 1, 20);
        if (ready > 0 && watch->cpu_first >= 0 && remote_now() - watch->looked < 0.05) continue;
        remote_event event = remote_watch_look(watch, &now->worker);
        if (event != REMOTE_READY) return event;
    }
}

static remote_event send_bytes(remote_watch *watch, const void *bytes, size_t count) {
    for (const char *at = bytes; count > 0;) {
        ssize_t n = write(now->worker.to, at, count);
        if (n > 0) {
            at += n;
            count -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            remote_event event = wait_for(watch, now->worker.to, POLLOUT);
            if (event != REMOTE_READY) return event;
        } else if (errno != EINTR) {
            return REMOTE_EOF;
        }
    }
    return REMOTE_READY;
}

static remote_event receive_bytes(remote_watch *watch, void *bytes, size_t count) {
    for (char *at = bytes; count > 0;) {
        ssize_t n = read(now->worker.from, at, count);
        if (n > 0) {
            at += n;
            count -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            remote_event event = wait_for(watch, now->worker.from, POLLIN);
            if (event != REMOTE_READY) return event;
        } else if (n == 0 || errno != EINTR) {
            return REMOTE_EOF;
        }
    }
    return REMOTE_READY;
}

/* ---- how it ended ---- */

/* What a program leaves that ends in the middle, memory above all, is no mistake of its own. */
static void forget_checkers(void) {
    evidence.checkers = 0;
    evidence.line = 0;
}

static const char *unopened(void) {
    if (now->opened) return NULL;
    evidence.output[evidence.output_bytes] = '\0';
    return evidence.output;
}

/* Ends the worker and says why in w->kind and w->ended. */
static void finish(call_wire *w, remote_event event, const remote_watch *watch) {
    bool ended =
        event == REMOTE_EOF && now->worker.keeper < 0 && remote_ends_within(&now->worker, 1);
    remote_trace trace;
    if (event == REMOTE_EOF && now->worker.keeper >= 0) poll(NULL, 0, 100);
    drain_output();
    double cpu_s = 0;
    remote_worker copy = now->worker; /* the file of lines outlives the process */
    copy.lines = dup(now->worker.lines);
    bool kept = now->worker.keeper >= 0;
    int status = kept ? remote_give_back(&now->worker, false) : remote_stop(&now->worker, &cpu_s);
    if (kept) ended = WIFEXITED(status) || WTERMSIG(status) != SIGKILL;
    evidence.cpu_s += cpu_s;
    over = true;
    int told = evidence.checkers;
    remote_read_lines(&copy, now->lines_read, &trace, &evidence);
    close(copy.lines);
    double spent = watch->cpu_seen - watch->cpu_first;
    if (event == REMOTE_TIMEOUT && spent <= watch->cpu_limit)
        remote_conclude(w, "timeout",
                        "the calls of this claim have taken %.1f s of processor time together: far "
                        "too much work for their sizes",
                        watch->cpu_seen);
    else if (event == REMOTE_TIMEOUT)
        remote_conclude(w, "timeout",
                        "still computing after %.1f s of processor time: a loop without end?",
                        spent);
    else if (event == REMOTE_STUCK)
        remote_conclude(w, "stuck",
                        "no answer for %.0f s, and nothing is computed: it waits for ever",
                        remote_now() - watch->still_since);
    else if (event == REMOTE_FLOOD)
        remote_conclude(w, "flood", "it printed more than %d MB", REMOTE_OUTPUT >> 20);
    else if (event == REMOTE_GARBAGE)
        remote_conclude(w, "garbage", "something was written into the pipe to the grader (file 4)");
    else if (event == REMOTE_STARVED)
        remote_conclude(w, "machine",
                        "the machine gave the call %.1f s of processor time in %.0f s", spent,
                        remote_now() - watch->began);
    else if (!ended)
        remote_conclude(w, "closed", "your code closed the pipe to the grader (file 4)");
    else if (now->worker.disturbed)
        remote_conclude_disturbed(w);
    else if (trace.crashed && evidence.checkers > told)
        remote_conclude_checker(w, evidence.checker[told]);
    else
        remote_conclude_end(w, status, &trace, unopened());
    if (strcmp(w->kind, "exit") == 0) forget_checkers();
}

/* hostcuda has named a mistake that a right result does not undo. */
static void note_checkers(call_wire *w) {
    off_t size = remote_lines_size(&now->worker);
    remote_trace trace;
    if (size <= now->lines_read) return;
    int before = evidence.checkers;
    remote_read_lines(&now->worker, now->lines_read, &trace, &evidence);
    now->lines_read = size;
    if (evidence.checkers > before) remote_conclude_checker(w, evidence.checker[before]);
}

/* A worker that has answered its last call: the next claim's, or to end by itself. */
static void part(call_wire *w) {
    double cpu_s;
    if (now->worker.keeper >= 0) {
        drain_output();
        note_checkers(w);
        remote_give_back(&now->worker, true);
        return;
    }
    close(now->worker.to);
    now->worker.to = -1;
    bool ended = remote_ends_within(&now->worker, 1);
    drain_output();
    note_checkers(w);
    int status = remote_stop(&now->worker, &cpu_s);
    evidence.cpu_s += cpu_s;
    if (!ended || w->kind[0]) return;
    if (now->worker.disturbed)
        remote_conclude_disturbed(w);
    else if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        remote_conclude_end(w, status, &(remote_trace){.crashed = false}, unopened());
}

/* ---- calls ---- */

static remote_event send_request(remote_watch *watch, const call_wire *w, message_kind kind) {
    message_request q = {.magic = message_magic(), .serial = ++serial, .kind = kind, .op = w->op};
    snprintf(q.device, sizeof q.device, "%s", w->target.device ? w->target.device : "");
    snprintf(q.rungs, sizeof q.rungs, "%s", w->target.rungs ? w->target.rungs : "");
    q.threads = w->target.threads;
    q.precision = (int32_t)w->target.precision;
    q.recorded = w->target.recorded;
    q.counted = w->target.counted;
    q.launches_fail = w->target.launches_fail;
    q.failing_launch = w->failing_launch;
    q.failing_step = w->failing_step;
    q.column_bytes = w->target.column_bytes;
    q.argument_bytes = w->argument_bytes;
    q.slots = w->slots;
    q.frames = w->frames;
    q.inputs = w->inputs;
    q.outputs = w->outputs;
    for (int i = 0; i < CALL_BUFFERS; i++) q.slot_frame[i] = w->slot_frame[i];
    for (int i = 0; i < w->frames; i++) q.frame_bytes[i] = w->frame_bytes[i];
    remote_event event = send_bytes(watch, &q, sizeof q);
    if (event == REMOTE_READY) event = send_bytes(watch, w->arguments, w->argument_bytes);
    for (int i = 0; i < w->frames && event == REMOTE_READY; i++)
        event = send_bytes(watch, w->frame[i], w->frame_bytes[i]);
    return event;
}

static remote_event receive_reply(remote_watch *watch, call_wire *w, message_reply *reply) {
    size_t bytes = 0;
    for (int i = 0; i < w->frames; i++) bytes += w->frame_bytes[i];
    remote_event event = receive_bytes(watch, reply, sizeof *reply);
    if (event != REMOTE_READY) return event;
    if (reply->magic != message_magic() || reply->serial != serial || reply->bytes != bytes)
        return REMOTE_GARBAGE;
    for (int i = 0; i < w->frames && event == REMOTE_READY; i++)
        event = receive_bytes(watch, w->frame[i], w->frame_bytes[i]);
    return event;
}

/* One request and its reply; ends the worker if they do not come to an end. */
static bool exchange(call_wire *w, message_kind kind, bool opens, message_reply *reply) {
    remote_watch watch = remote_watch_begin(opens);
    remote_event event = send_request(&watch, w, kind);
    if (event == REMOTE_READY) event = receive_reply(&watch, w, reply);
    if (event == REMOTE_READY) return true;
    finish(w, event, &watch);
    return false;
}

/* A worker with its device open. What fails here is not the operation's fault. */
static bool start(call_wire *w) {
    message_reply reply;
    call_wire opening = {.target = w->target};
    signal(SIGPIPE, SIG_IGN);
    bool started = getenv("GRADLAB_KEEPER")
                       ? remote_borrow(&now->worker, w->error)
                       : remote_start(&now->worker, w->target.worker, w->target.device, w->error);
    if (!started) return false;
    now->lines_read = remote_lines_size(&now->worker);
    bool answered = exchange(&opening, MESSAGE_OPEN, true, &reply);
    memcpy(w->kind, opening.kind, sizeof w->kind);
    memcpy(w->ended, opening.ended, sizeof w->ended);
    if (!answered) return false;
    now->opened = true;
    w->status = (tl_status)reply.status;
    snprintf(w->error, sizeof w->error, "%.*s", CALL_TEXT - 1, reply.error);
    return w->status == TL_OK;
}

void call_execute(call_wire *w) {
    message_reply reply;
    w->status = TL_EDEVICE;
    w->reached = false;
    snprintf(w->error, sizeof w->error, "the worker has ended");
    for (int i = 0; i < CALL_COUNTERS; i++) w->counter[i] = -1;
    if (over) return;
    /* (a keeper has one worker, and hands it out once) */
    now = slots + (getenv("GRADLAB_KEEPER") ? 0 : w->target.worker);
    if (now->worker.pid <= 0 && !start(w)) return;
    if (!exchange(w, MESSAGE_CALL, false, &reply)) return;
    w->status = (tl_status)reply.status;
    w->reached = reply.reached != 0;
    w->live_bytes = reply.live_bytes;
    w->overrun = reply.overrun;
    w->overrun_of = reply.overrun_of;
    w->steps = reply.steps;
    w->refused = reply.refused;
    w->refused_nth = reply.refused_nth;
    w->host_blocks = reply.host_blocks;
    w->bad_puts = reply.bad_puts;
    for (int i = 0; i < CALL_KEPT; i++) w->kept[i] = (size_t)reply.kept[i];
    memcpy(w->counter, reply.counter, sizeof w->counter);
    w->launch = reply.launch;
    w->launch.kernel[sizeof w->launch.kernel - 1] = '\0';
    if (w->target.counted) sites = reply.sites;
    snprintf(w->error, sizeof w->error, "%.*s", CALL_TEXT - 1, reply.error);
    drain_output();
    note_checkers(w);
}

/* The contexts are closed first, which tells of blocks that are still out; then the worker ends by
 * itself, so that destructors and leak checkers run. */
static void close_worker(call_wire *none, call_report *report) {
    message_reply reply = {.blocks = 0};
    if (exchange(none, MESSAGE_CLOSE, false, &reply)) {
        report->live_blocks += reply.blocks > 0 ? (size_t)reply.blocks : 0;
        part(none);
    }
}

void call_close(call_report *report) {
    memset(report, 0, sizeof *report);
    for (now = slots; now < slots + CALL_WORKERS; now++) {
        call_wire none = {.frames = 0};
        if (now->worker.pid <= 0) continue;
        close_worker(&none, report);
        if (report->kind[0]) continue;
        memcpy(report->kind, none.kind, sizeof report->kind);
        memcpy(report->fault, none.ended, sizeof report->fault);
    }
    now = slots;
    over = true;
}
