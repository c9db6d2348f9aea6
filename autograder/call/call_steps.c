/* call_steps.c: counts the steps of a call, and makes one of them fail (call_steps.h). */
#include "call_steps.h"

#include <stdatomic.h>
#include <string.h>

#include "tl/alloc.h"
#include "tl/tape.h"

/* Operations may be called by several threads of the judged code. */
static struct {
    call_wire *w; /* NULL: nobody counts */
    const tl_backend *device;
    _Atomic int64_t count, refused, refused_nth, bad_puts;
    _Atomic int64_t of_kind[CALL_STEPS + CALL_OPS]; /* as w->refused counts kinds */
    _Atomic bool entered; /* the call itself has been seen: what follows are steps */
    bool in_step;
} now;
static _Thread_local bool paused;

void call_steps_begin(call_wire *w, const tl_backend *device) {
    now.count = now.refused = now.refused_nth = now.bad_puts = 0;
    for (int i = 0; i < CALL_STEPS + CALL_OPS; i++) now.of_kind[i] = 0;
    now.entered = !call_is_of_table(w->op);
    now.device = device;
    now.w = w;
}

void call_steps_end(void) {
    call_wire *w = now.w;
    now.w = NULL;
    w->steps = now.count;
    w->refused = now.refused;
    w->refused_nth = now.refused_nth;
    w->bad_puts = now.bad_puts;
}

void call_steps_pause(bool pause) { paused = pause; }

void call_set_in_step(bool on) { now.in_step = on; }

/* The cpu waits for nothing, and there all memory is one. */
static bool must_not_wait(void) { return now.in_step && strcmp(now.device->name, "cpu") != 0; }

tl_status call_step_now(int64_t which) {
    if (!now.w || paused) return TL_OK;
    if (which == CALL_HOST_REQUEST && now.w->op == CALL_train) return TL_OK;
    int64_t n = ++now.count, nth = ++now.of_kind[which];
    if (n != now.w->failing_step) return TL_OK;
    now.refused = which;
    now.refused_nth = nth;
    return call_refusal(n);
}

/* ---- through the table --------------------------------------------------------------------------
 */

#define REFUSE(which)                                                                              \
    do {                                                                                           \
        tl_status refused_ = call_step_now(which);                                                 \
        TL_NEED(refused_ == TL_OK, refused_, "made to fail on purpose");                           \
    } while (0)

static tl_status copy_in(tl_ctx *ctx, void *to, const void *host, size_t bytes) {
    TL_NEED(!must_not_wait(), TL_EINVAL, "ops->copy_in" CALL_IN_A_STEP);
    REFUSE(CALL_COPY);
    return now.device->copy_in(ctx, to, host, bytes);
}

static tl_status copy_out(tl_ctx *ctx, void *host, const void *from, size_t bytes) {
    TL_NEED(!must_not_wait(), TL_EINVAL, "ops->copy_out" CALL_IN_A_STEP);
    REFUSE(CALL_COPY_OUT);
    return now.device->copy_out(ctx, host, from, bytes);
}

static tl_status sync(tl_ctx *ctx) {
    TL_NEED(!must_not_wait(), TL_EINVAL, "ops->sync" CALL_IN_A_STEP);
    return now.device->sync(ctx);
}

static tl_status copy(tl_ctx *ctx, void *to, const void *from, size_t bytes) {
    REFUSE(CALL_COPY_WITHIN);
    return now.device->copy(ctx, to, from, bytes);
}

static tl_status zero(tl_ctx *ctx, void *to, size_t bytes) {
    REFUSE(CALL_CLEARING);
    return now.device->zero(ctx, to, bytes);
}

static tl_status step_set(tl_ctx *ctx, const tl_step *step) {
    REFUSE(CALL_STEP_SET);
    return now.device->step_set(ctx, step);
}

void call_steps_table(tl_backend *ops) {
    ops->copy_in = copy_in;
    ops->copy_out = copy_out;
    ops->sync = sync;
    ops->copy = copy;
    ops->zero = zero;
    ops->step_set = step_set;
}

/* ---- by the linker ------------------------------------------------------------------------------
 */

/* The operation is called from wherever it is: the first time that is the call itself. */
static tl_status step_of(call_op op) {
    if (!now.w || paused || !atomic_exchange(&now.entered, true)) return TL_OK;
    return call_step_now(CALL_STEPS + (int64_t)op);
}

#define WRAP(op, lab, flops, ...)                                                                  \
    tl_status __real_tl_##op(tl_ctx *ctx TL_EACH(TL_PARAM, __VA_ARGS__));                          \
    tl_status __wrap_tl_##op(tl_ctx *ctx TL_EACH(TL_PARAM, __VA_ARGS__));                          \
    tl_status __wrap_tl_##op(tl_ctx *ctx TL_EACH(TL_PARAM, __VA_ARGS__)) {                         \
        tl_status refused = step_of(CALL_##op);                                                    \
        TL_NEED(refused == TL_OK, refused, "tl_" #op " was made to fail on purpose");              \
        return __real_tl_##op(ctx TL_EACH(TL_NAME, __VA_ARGS__));                                  \
    }
#define OP WRAP
#include "tl/ops.def"

/* Of the tape: what takes host memory so rarely that no request would be seen to fail. */
tl_status __real_tl_tape_wrap(tl_tape *tape, tl_var **v, const tl_tensor *value, int ndim,
                              const int dim[], bool needs_grad);
tl_status __wrap_tl_tape_wrap(tl_tape *tape, tl_var **v, const tl_tensor *value, int ndim,
                              const int dim[], bool needs_grad);
tl_status __wrap_tl_tape_wrap(tl_tape *tape, tl_var **v, const tl_tensor *value, int ndim,
                              const int dim[], bool needs_grad) {
    REFUSE(CALL_WRAPPING);
    return __real_tl_tape_wrap(tape, v, value, ndim, dim, needs_grad);
}

tl_status __real_tl_tape_record(tl_tape *tape, tl_node **node, const char *op,
                                tl_backward_fn backward, tl_var *output, tl_var *const input[],
                                int inputs, const void *saved, size_t saved_bytes);
tl_status __wrap_tl_tape_record(tl_tape *tape, tl_node **node, const char *op,
                                tl_backward_fn backward, tl_var *output, tl_var *const input[],
                                int inputs, const void *saved, size_t saved_bytes);
tl_status __wrap_tl_tape_record(tl_tape *tape, tl_node **node, const char *op,
                                tl_backward_fn backward, tl_var *output, tl_var *const input[],
                                int inputs, const void *saved, size_t saved_bytes) {
    REFUSE(CALL_RECORDING);
    return __real_tl_tape_record(tape, node, op, backward, output, input, inputs, saved,
                                 saved_bytes);
}

/* No step: but who gives back what is no (more) block of the allocator hears so by a status alone
 * that few look at. */
tl_status __real_tl_alloc_put(tl_alloc *alloc, void *block);
tl_status __wrap_tl_alloc_put(tl_alloc *alloc, void *block);
tl_status __wrap_tl_alloc_put(tl_alloc *alloc, void *block) {
    tl_status status = __real_tl_alloc_put(alloc, block);
    if (status != TL_OK && now.w && !paused) now.bad_puts++;
    return status;
}
