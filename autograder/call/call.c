/* call.c: the suite's side of a call: builds frames, and judges what came back in them. */
#include "call_again.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Signalling NaNs that no arithmetic returns; an int32 that is no index, label or count. Fences
 * have other bits than outputs: a result that was read from beside an array is not one never
 * written. */
#ifdef TL_REAL_DOUBLE
static const uint64_t real_poison = CALL_POISON, real_fence = CALL_FENCE_POISON;
#else
static const uint32_t real_poison = CALL_POISON, real_fence = CALL_FENCE_POISON;
#endif
static const uint32_t int_poison = CALL_INT_POISON, int_fence = UINT32_C(0x9D3B3B3B);
static const uint8_t byte_poison = 0xA5, byte_fence = 0x9B;

static size_t type_bytes(call_type type) {
    return type == CALL_REAL ? sizeof(tl_real) : type == CALL_INT32 ? sizeof(int32_t) : 1;
}

/* What fills content that nobody gave, and what fills fences. */
static const void *poison_of(call_type type) {
    if (type == CALL_REAL) return &real_poison;
    return type == CALL_INT32 ? (const void *)&int_poison : &byte_poison;
}
static const void *fence_of(call_type type) {
    if (type == CALL_REAL) return &real_fence;
    return type == CALL_INT32 ? (const void *)&int_fence : &byte_fence;
}

static void fill(unsigned char *bytes, size_t count, const void *unit, size_t size) {
    for (size_t i = 0; i < count; i++) memcpy(bytes + i * size, unit, size);
}

static size_t count_equal(const unsigned char *bytes, size_t count, const void *unit, size_t size) {
    size_t equal = 0;
    for (size_t i = 0; i < count; i++) equal += !memcmp(bytes + i * size, unit, size);
    return equal;
}

/* Keeps the first fault: later ones are often its consequences. */
void call_fault(call_report *report, const char *kind, const char *format, ...) {
    if (report->fault[0]) return;
    snprintf(report->kind, sizeof report->kind, "%s", kind);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->fault, sizeof report->fault, format, arguments);
    va_end(arguments);
}

/* The frame of an earlier buffer with the same host array, or -1. */
static int shared_frame(const call_request *q, const call_wire *w, int i) {
    for (int j = 0; j < i; j++)
        if (q->buffer[i].host && q->buffer[j].host == q->buffer[i].host) return w->slot_frame[j];
    return -1;
}

/* False if memory ran out; the frames made so far are in the wire. */
bool call_build_frames(const call_request *q, call_wire *w) {
    for (int i = 0; i < q->buffers; i++) {
        const call_buffer *b = &q->buffer[i];
        bool absent = !b->host && b->role != CALL_SCRATCH;
        w->slot_frame[i] = absent ? -1 : shared_frame(q, w, i);
        if (absent || w->slot_frame[i] >= 0) continue;
        size_t unit = type_bytes(b->type), bytes = b->count * unit;
        unsigned char *frame = malloc(bytes + 2 * CALL_FENCE);
        if (!frame) return false;
        fill(frame, CALL_FENCE / unit, fence_of(b->type), unit);
        fill(frame + CALL_FENCE, b->count, poison_of(b->type), unit);
        fill(frame + CALL_FENCE + bytes, CALL_FENCE / unit, fence_of(b->type), unit);
        /* an output in place of an input holds that input when the call starts */
        bool content = b->role == CALL_IN || b->role == CALL_INOUT;
        for (int j = i + 1; j < q->buffers; j++) content |= b->host && q->buffer[j].host == b->host;
        if (content && bytes) memcpy(frame + CALL_FENCE, b->host, bytes);
        w->slot_frame[i] = w->frames;
        w->frame_bytes[w->frames] = bytes + 2 * CALL_FENCE;
        w->frame[w->frames++] = frame;
    }
    for (int i = 0; i < q->buffers; i++) {
        if (w->slot_frame[i] < 0) continue;
        call_role role = q->buffer[i].role;
        uint32_t bit = UINT32_C(1) << w->slot_frame[i];
        w->inputs |= role == CALL_IN ? bit : 0;
        w->outputs |= role == CALL_OUT || role == CALL_INOUT ? bit : 0;
    }
    w->slots = q->buffers;
    return true;
}

static size_t count_unwritten(const call_buffer *b, const unsigned char *frame) {
    if (b->role != CALL_OUT || b->type == CALL_BYTES) return 0;
    return count_equal(frame + CALL_FENCE, b->count, poison_of(b->type), type_bytes(b->type));
}

size_t call_count_unwritten(const call_request *q, const call_wire *w) {
    size_t left = 0;
    for (int i = 0; i < q->buffers; i++)
        if (w->slot_frame[i] >= 0)
            left += count_unwritten(&q->buffer[i], w->frame[w->slot_frame[i]]);
    return left;
}

static void judge_buffer(const call_request *q, const call_wire *w, int i, call_report *report) {
    const call_buffer *b = &q->buffer[i];
    const unsigned char *frame = w->frame[w->slot_frame[i]], *data = frame + CALL_FENCE;
    size_t unit = type_bytes(b->type), bytes = b->count * unit, fence = CALL_FENCE / unit;
    size_t before = fence - count_equal(frame, fence, fence_of(b->type), unit);
    size_t behind = fence - count_equal(data + bytes, fence, fence_of(b->type), unit);
    if (before)
        call_fault(report, "fence", "%zu elements in front of %s were written to", before, b->name);
    if (behind)
        call_fault(report, "fence", "%zu elements behind the end of %s were written to", behind,
                   b->name);
    bool written = false; /* an input that is also an output may change */
    for (int j = 0; j < q->buffers; j++)
        written |= q->buffer[j].role != CALL_IN && q->buffer[j].host == b->host;
    if (b->role == CALL_IN && !written && bytes && memcmp(data, b->host, bytes))
        call_fault(report, "input_changed", "the input %s was changed", b->name);
    size_t left = count_unwritten(b, frame);
    if (left && report->status == TL_OK)
        call_fault(report, "never_written", "%zu of %zu elements of %s were never written", left,
                   b->count, b->name);
}

static void judge(const call_request *q, const call_wire *w, call_report *report) {
    for (int i = 0; i < q->buffers; i++)
        if (w->slot_frame[i] >= 0) judge_buffer(q, w, i, report);
    if (w->overrun)
        call_fault(
            report, "fence",
            "memory of %lld bytes was taken during the call, and %lld bytes behind its end were "
            "written to",
            (long long)w->overrun_of, (long long)w->overrun);
    if (w->live_bytes)
        call_fault(report, "leak", "%lld bytes of device memory were not given back",
                   (long long)w->live_bytes);
}

static void take_results(const call_request *q, const call_wire *w) {
    for (int i = 0; i < q->buffers; i++) {
        const call_buffer *b = &q->buffer[i];
        if (w->slot_frame[i] < 0 || !b->count) continue;
        if (b->role == CALL_OUT || b->role == CALL_INOUT)
            memcpy(b->host, w->frame[w->slot_frame[i]] + CALL_FENCE,
                   b->count * type_bytes(b->type));
    }
}

/* ---- launches ---- */

/* Of each operation of the table: whether a call of it came to its end where launches are counted,
 * and had launched nothing. */
static bool idle[CALL_OPS];

/* What writes nothing has nothing to launch. */
static void note_launches(const call_request *q, const call_report *report) {
    bool writes = false;
    for (int i = 0; i < q->buffers; i++)
        writes |= q->buffer[i].host && q->buffer[i].count > 0 &&
                  (q->buffer[i].role == CALL_OUT || q->buffer[i].role == CALL_INOUT);
    if (!writes || report->status != TL_OK || !call_is_of_table(q->op)) return;
    if (report->counter[CALL_LAUNCHES] == 0) idle[q->op] = true;
}

const char *call_idle_op(void) {
    for (int op = 0; op < CALL_OPS; op++)
        if (idle[op]) return call_op_name((call_op)op);
    return NULL;
}

/* ---- who did the work ---- */

enum {
    TILE = 64,   /* outputs of one thread, at most: it may compute a tile of 8 by 8 */
    WARP = 32,   /* threads that are enough for any number of outputs */
    HANDFUL = 16 /* bytes that the host may read of any arrays, for a decision of its own */
};

/* Of each operation its largest call so far: what threads could share, and how many did. */
static call_sharing largest[CALL_OPS];
static const char *description = "";

void call_describe(const char *text) { description = text; }

static size_t bytes_of(const call_request *q, call_role role) {
    size_t bytes = 0;
    for (int i = 0; i < q->buffers; i++)
        if (q->buffer[i].host && q->buffer[i].role == role)
            bytes += q->buffer[i].count * type_bytes(q->buffer[i].type);
    return bytes;
}

/* What each may have a thread of its own, in the simplest kernel: elements of the smallest output
 * (a label beside an image is none); rows, where a loss is a number of all of them; where all
 * outputs are one number, loads. */
static size_t pieces_of(const call_request *q) {
    if (call_work_is_loading(q->op)) return q->buffer[1].count;
    size_t pieces = SIZE_MAX;
    for (int i = 0; i < q->buffers; i++) {
        const call_buffer *b = &q->buffer[i];
        bool label = b->type == CALL_INT32 && strcmp(b->name, "label") == 0;
        bool output = (b->role == CALL_OUT || b->role == CALL_INOUT) && !label;
        if (label && b->role == CALL_IN) return b->count;
        if (b->host && output && b->type != CALL_BYTES && b->count < pieces) pieces = b->count;
    }
    return pieces == SIZE_MAX ? 0 : pieces;
}

static void note_sharing(const call_request *q, const call_report *r, int64_t threads) {
    size_t pieces = pieces_of(q), enough = pieces / TILE < WARP ? pieces / TILE : WARP;
    call_sharing *most = &largest[q->op];
    if (pieces < most->pieces || (pieces == most->pieces && threads < most->threads)) return;
    *most = (call_sharing){.op = call_op_name(q->op),
                           .pieces = pieces,
                           .threads = threads,
                           .launches = r->counter[CALL_LAUNCHES],
                           .launch = r->launch};
    most->enough = pieces < 2 ? 0 : enough < 2 ? 2 : enough;
    snprintf(most->described, sizeof most->described, "%s", description);
}

/* Values say nothing of who computed them. Who computes on the host has to have the inputs there;
 * and who lets the runtime copy element by element has no threads at it. */
static void judge_work(const call_request *q, call_report *report) {
    const int64_t *counted = report->counter;
    if (!call_is_of_table(q->op) || counted[CALL_STORERS] < 0) return;
    if (report->status != TL_OK || report->fault[0]) return;
    size_t inputs = bytes_of(q, CALL_IN) + bytes_of(q, CALL_INOUT);
    int64_t threads = counted[call_work_is_loading(q->op) ? CALL_LOADERS : CALL_STORERS];
    size_t words = (bytes_of(q, CALL_OUT) + bytes_of(q, CALL_INOUT)) / 4;
    if (counted[CALL_TO_HOST] > (int64_t)(inputs / 4 > HANDFUL ? inputs / 4 : HANDFUL))
        call_fault(
            report, "no_launch",
            "%lld bytes were copied to the host during the call, whose inputs are %zu: what is "
            "computed there is not the device's work",
            (long long)counted[CALL_TO_HOST], inputs);
    else
        note_sharing(q, report, 4 * counted[CALL_CARRIED] > 3 * (int64_t)words ? 0 : threads);
}

const call_sharing *call_shared_by_few(void) {
    for (int op = 0; op < CALL_OPS; op++)
        if (largest[op].threads < (int64_t)largest[op].enough) return &largest[op];
    return NULL;
}

call_wire call_wire_of(const call_target *target, const call_request *request) {
    call_wire wire = {.target = *target,
                      .op = request->op,
                      .arguments = request->arguments,
                      .argument_bytes = request->argument_bytes,
                      .status = TL_ENOMEM,
                      .error = "call.c: no memory for the frames of a call"};
    return wire;
}

void call_free_frames(call_wire *w) {
    for (int i = 0; i < w->frames; i++) free(w->frame[i]);
}

void call_run(const call_target *target, const call_request *request, call_report *report) {
    call_wire wire = call_wire_of(target, request);
    memset(report, 0, sizeof *report);
    bool built = call_build_frames(request, &wire);
    if (built) call_execute(&wire);
    report->status = wire.status;
    report->live_bytes = wire.live_bytes;
    memcpy(report->error, wire.error, sizeof report->error);
    memcpy(report->counter, wire.counter, sizeof report->counter);
    report->launch = wire.launch;
    report->reached = wire.reached;
    report->ended = wire.kind[0] != '\0';
    if (report->ended) call_fault(report, wire.kind, "%s", wire.ended);
    if (built && !report->ended) judge(request, &wire, report);
    note_launches(request, report);
    judge_work(request, report);
    /* before results go where inputs may be */
    if (target->launches_fail && report->status == TL_OK && !report->fault[0])
        call_failing_launches(target, request, report);
    bool keeps_none = !call_is_of_table(request->op) && request->op != CALL_train;
    if (target->steps_fail && report->status == TL_OK && keeps_none && wire.host_blocks > 0) {
        char taken[CALL_TEXT];
        call_say_kept(&wire, NULL, taken);
        call_fault(report, "leak", "%lld block%s of host memory %s not freed at the end%.200s",
                   (long long)wire.host_blocks, wire.host_blocks == 1 ? "" : "s",
                   wire.host_blocks == 1 ? "was" : "were", taken);
    }
    if (target->steps_fail && report->status == TL_OK && !report->fault[0])
        call_failing_steps(target, request, &wire, report);
    if (report->status == TL_OK && !report->ended) take_results(request, &wire);
    call_free_frames(&wire);
}

const char *call_op_name(call_op op) {
    static const char *const names[CALL_OPS] = {
#define CALL_NAME(name, ...) #name,
#define OP                   CALL_NAME
#define OP_CUDA              CALL_NAME
#define OP_FUSED             CALL_NAME
#include "tl/ops.def"
        CALL_OTHERS(CALL_NAME)};
    return (unsigned)op < CALL_OPS ? names[op] : NULL;
}

const char *const call_counter_names[CALL_COUNTERS] = {
    "launches", "sectors", "bank_conflicts", "requests", "shared_requests",
    "storers",  "loaders", "carried",        "to_host"};
