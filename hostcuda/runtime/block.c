/* block.c: the threads of one block on one worker.
 *
 * A runner starts the block's threads one after the other on one stack, as a plain loop. When a
 * thread must wait (a barrier, a shuffle), the stack it runs on simply becomes its own, and a new
 * runner goes on with the next thread on another stack. So a kernel without barriers never
 * switches, and one with barriers switches straight from thread to thread.
 *
 * A worker's fields are touched by one operating-system thread only; nothing here needs a lock. */
#define _GNU_SOURCE
#include "internal.h"

#include <string.h>

#include "fiber.h"

#ifdef HC_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
__thread hc_worker *hc_self;

void hc_switch_position(hc_worker *w, int thread) {
    const hc_thread *t = &w->threads[thread];
    w->current = thread;
    w->current_stack = t->stack;
    threadIdx = t->index;
    hc_check_thread_runs(w);
}

void hc_make_ready(hc_worker *w, int thread) {
    int at = w->ready_first + w->ready_count++;
    w->ready[at >= THREADS_MAX ? at - THREADS_MAX : at] = (uint16_t)thread;
}

static int take_ready(hc_worker *w) {
    int thread = w->ready[w->ready_first];
    if (++w->ready_first == THREADS_MAX) w->ready_first = 0;
    w->ready_count--;
    return thread;
}

/* ---- switching, with the sanitizer told of it ---- */

#ifdef HC_ASAN
static __attribute__((noinline)) void go(void **from, void *to, int stack, bool ends) {
    void *fake = NULL;
    const hc_worker *w = hc_self;
    static __thread const void *main_low;
    static __thread size_t main_size;
    const void *low = stack >= 0 ? w->stacks.all[stack].low : main_low;
    __sanitizer_start_switch_fiber(ends ? NULL : &fake, low, stack >= 0 ? STACK_BYTES : main_size);
    hc_switch(from, to);
    const void *old_low;
    size_t old_size;
    __sanitizer_finish_switch_fiber(fake, &old_low, &old_size);
    if (from == &hc_self->main_context) return;
    if (!main_low && old_low) main_low = old_low, main_size = old_size;
}
#else
/* (inline: what a call would save a second time is a cache line of each thread's stack) */
#define go(from, to, stack, ends) ((void)(stack), (void)(ends), hc_switch(from, to))
#endif

static void runner(void);

/* Nobody is ready: a new runner for the threads that have not started, else the worker itself,
 * unless lanes wait for those that are there. */
static __attribute__((noinline)) void *other_context(hc_worker *w, int *stack) {
    if (w->started == w->count && !hc_warp_resolve_active(w)) {
        *stack = -1;
        return w->main_context;
    }
    if (w->ready_count > 0) {
        hc_switch_position(w, take_ready(w));
        *stack = w->current_stack;
        return w->threads[w->current].context;
    }
    *stack = w->current_stack = hc_stack_take(&w->stacks);
#ifdef HC_ASAN
    /* The runner that had it never returned from its last frames: their borders are still marked.
     */
    __asan_unpoison_memory_region(w->stacks.all[*stack].low, STACK_BYTES);
#endif
    return hc_context(w->stacks.all[*stack].low, STACK_BYTES, *stack, runner);
}

/* The next thing to run on this worker. */
static inline __attribute__((always_inline)) void *next_context(hc_worker *w, int *stack) {
    if (__builtin_expect(w->ready_count == 0, 0)) return other_context(w, stack);
    hc_switch_position(w, take_ready(w));
    *stack = w->current_stack;
    return w->threads[w->current].context;
}

/* The current thread waits: whither it goes from here. (inline: it is half of a barrier's cost) */
static inline __attribute__((always_inline)) hc_turn turn(hc_worker *w, int *stack) {
    hc_thread *t = &w->threads[w->current];
    w->progress++;
    t->stack = w->current_stack;
    t->context = NULL; /* it has not left yet, and may be the one to go on */
    return (hc_turn){&t->context, next_context(w, stack)};
}

static inline __attribute__((always_inline)) void suspend(hc_worker *w) {
    int stack;
    hc_turn next = turn(w, &stack);
    if (next.to) go(next.from, next.to, stack, false);
}

void hc_thread_wait(hc_worker *w) { suspend(w); }

/* Thread number of the k-th to start. The order comes from the seed: warps from any first one,
 * lanes up or down; so code that needs an order it did not ask for fails here. */
static int thread_at(const hc_worker *w, int k) {
    int thread = (k ^ w->flip) + w->turn;
    return thread >= w->count ? thread - w->count : thread;
}

static void start_thread(hc_worker *w, int thread) {
    const uint3 block = w->launch->block;
    unsigned rest = (unsigned)thread * w->x_inverse >> 20, z = rest * w->y_inverse >> 20;
    unsigned x = (unsigned)thread - rest * block.x, y = rest - z * block.y;
    hc_thread *t = &w->threads[thread];
    t->index = threadIdx = (uint3){x, y, z};
    w->current = thread;
    hc_check_thread_runs(w);
}

/* All threads that are left wait at the barrier. From sm_70 on a GPU waits for no others. */
static __attribute__((noinline, cold)) void others_exited(hc_worker *w) {
    bool grid = w->barrier_kind == HC_GRID;
    if (hc_options_get()->exited) {
        if (grid)
            w->at_grid = true;
        else
            hc_block_release(w);
        return;
    }
    hc_text t;
    hc_report_begin(&t, "exited-barrier", w->barrier.file, w->barrier.line);
    hc_add(&t, "%d of the block's %d threads wait at this %s, the others have returned",
           w->waiting_count, w->count, grid ? "barrier of the grid" : "__syncthreads()");
    bool returned = w->current != w->waiting[w->waiting_count - 1];
    uint3 last = threadIdx;
    hc_switch_position(w, w->waiting[0]); /* told of one that waits: where it stands is said */
    hc_report_thread(&t);
    hc_add(&t, " waits");
    if (returned) hc_add(&t, "; the last to return was (%u,%u,%u)", last.x, last.y, last.z);
    hc_report_likely(&t, "a `return` that only some threads take stands before the barrier, or the "
                         "barrier stands within an `if`; keep all threads alive and guard the work "
                         "alone: `if (i < n) { ... }  "
                         "__syncthreads();`. A GPU from sm_70 on lets the others go on, an older "
                         "one may hang; HOSTCUDA_EXITED=1 lets them go on here");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

static void end_thread(hc_worker *w) {
    hc_warp_state *warp = &w->warps[w->current / WARP];
    hc_check_thread_arrives(w, true);
    warp->exited |= 1u << w->current % WARP;
    w->exited++;
    w->progress++;
    w->touches = 0;
    if (warp->waiting) hc_warp_lane_exits(w, w->current);
    if (w->waiting_count > 0 && w->waiting_count + w->exited == w->count) others_exited(w);
}

static void runner(void) {
    hc_worker *w = hc_self;
#ifdef HC_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
    for (;;) {
        while (w->ready_count == 0 && w->started < w->count) {
            start_thread(w, thread_at(w, w->started++));
            hc_check_thread_starts();
            w->launch->run(w->launch->arguments);
            end_thread(w);
        }
        hc_stack_give(&w->stacks, w->current_stack); /* nobody takes it before we have left it */
        int stack;
        void *nowhere, *to = next_context(w, &stack);
        go(&nowhere, to, stack, true);
    }
}

/* ---- the block's barrier ---- */

/* Told at the earlier of the two lines, whichever thread came first. (A call that is rarely made:
 * in the barrier itself it would cost registers, and so a cache line of each thread's stack.) */
static __attribute__((noinline, cold)) void check_place(hc_worker *w, const char *file, int line) {
    if (w->barrier.line == line && strcmp(w->barrier.file, file) == 0) return;
    const hc_thread *other = &w->threads[w->waiting[0]];
    bool later = line > w->barrier.line;
    hc_text t;
    hc_report_begin(&t, "divergent-barrier", file, later ? w->barrier.line : line);
    hc_add(&t,
           "a thread waits at the __syncthreads() of line %d, but thread (%u,%u,%u) of the same "
           "block waits at that of line %d",
           line, other->index.x, other->index.y, other->index.z, w->barrier.line);
    hc_report_thread(&t);
    hc_report_likely(&t, "a __syncthreads() stands inside an if or a loop that the threads of a "
                         "block take differently; all must reach the same one");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

void hc_block_release(hc_worker *w) {
    w->barrier_result = w->barrier_sum;
    w->barrier_sum = 0;
    /* All others wait here and none is ready: the queue of the waiting becomes that of the ready.
     */
    uint16_t *released = w->waiting;
    w->waiting = w->ready;
    w->ready = released;
    w->ready_first = 0;
    w->ready_count = w->waiting_count;
    w->waiting_count = 0;
    hc_check_barrier(w);
}

/* Whether the thread must wait. (inline, so that a plain barrier has the plain one's part alone) */
static inline __attribute__((always_inline)) bool
arrive(hc_worker *w, hc_barrier_kind kind, int predicate, const char *file, int line) {
    if (w->waiting_count == 0)
        w->barrier = (hc_site){file, line}, w->barrier_kind = kind;
    else if (w->barrier.line != line || w->barrier.file != file)
        check_place(w, file, line);
    hc_check_thread_arrives(w, false);
    w->barrier_sum += kind == HC_AND ? !predicate : predicate;
    if (w->waiting_count + 1 == w->count && kind != HC_GRID) {
        hc_block_release(w);
        w->progress++;
        return false;
    }
    w->waiting[w->waiting_count++] = (uint16_t)w->current;
    if (w->waiting_count + w->exited == w->count) {
        w->at_grid = w->exited == 0;
        if (!w->at_grid) others_exited(w);
    }
    return true;
}

/* (of host code: nvcc refuses a barrier there, and so does the legality check) */
static inline bool in_kernel(const hc_worker *w) { return w && w->in_kernel; }

hc_turn hc_arrive(const char *file, int line) {
    hc_worker *w = hc_self;
    int stack;
    if (!in_kernel(w) || !arrive(w, HC_PLAIN, 0, file, line)) return (hc_turn){NULL, NULL};
    if (SWITCH_IN_KERNEL) return turn(w, &stack);
    suspend(w);
    return (hc_turn){NULL, NULL};
}

int hc_barrier(hc_barrier_kind kind, int predicate, const char *file, int line) {
    hc_worker *w = hc_self;
    if (!in_kernel(w)) return 0;
    if (arrive(w, kind, predicate, file, line)) suspend(w);
    int sum = w->barrier_result;
    return kind == HC_COUNT ? sum : kind == HC_AND ? sum == 0 : sum != 0;
}

/* ---- one block ---- */

void hc_kernel_fail(cudaError_t error) {
    hc_worker *w = hc_self;
    w->failure = error;
    w->in_kernel = 0;
    siglongjmp(w->escape, 1);
}

void hc_block_place(const hc_launch *launch, uint64_t block) {
    uint64_t rest = block / launch->grid.x;
    blockIdx = (uint3){(unsigned)(block % launch->grid.x), (unsigned)(rest % launch->grid.y),
                       (unsigned)(rest / launch->grid.y)};
}

static void begin(hc_worker *w, hc_launch *launch, uint64_t block) {
    uint64_t order = hc_mix(hc_options_get()->seed ^ hc_shared_launch ^ block);
    w->count = (int)(launch->block.x * launch->block.y * launch->block.z);
    w->started = w->exited = w->ready_first = w->ready_count = w->waiting_count = 0;
    w->barrier_sum = 0;
    w->at_grid = false;
    memset(w->at_counter, 0, sizeof w->at_counter);
    w->ready = w->queues[0], w->waiting = w->queues[1];
    w->x_inverse = (1u << 20) / launch->block.x + 1;
    w->y_inverse = (1u << 20) / launch->block.y + 1;
    bool whole = w->count % WARP == 0;
    w->flip = whole && (order & 1) ? WARP - 1 : 0;
    w->turn = whole ? (int)((order >> 8) % (unsigned)(w->count / WARP)) * WARP : 0;
    for (int i = 0; i * WARP < w->count; i++) {
        int lanes = w->count - i * WARP;
        w->warps[i] = (hc_warp_state){.exists = lanes >= WARP ? ~0u : (1u << lanes) - 1};
    }
    hc_block_place(launch, block);
}

/* Runs the block's threads until they have ended, or all wait for the other blocks. */
void hc_block_go(hc_worker *w, uint64_t block) {
    int stack;
    void *to = next_context(w, &stack);
    w->in_kernel = 1;
    go(&w->main_context, to, stack, false);
    if (w->exited < w->count && !w->at_grid) hc_report_stuck(w);
    hc_check_block_ends();
    if (!hc_shared_check(w)) hc_kernel_fail(cudaErrorIllegalAddress);
    w->in_kernel = 0;
    if (w->at_grid)
        hc_whole_park(w, block);
    else
        w->blocks_done++;
    w->progress++;
}

/* Runs one block to its end, or to a barrier of the grid. A thread that fails leads to w->escape
 * (grid.c), which the caller has set once for many blocks, when the message is out. */
void hc_block_run(hc_worker *w, hc_launch *launch, uint64_t block) {
    begin(w, launch, block);
    hc_shared_fill(w);
    hc_check_block_begins(w);
    hc_block_go(w, block);
}
