/* watchdog.c: kernels that do not end, and threads that wait for another block.
 *
 * A thread of its own looks at the workers' progress. When one has run for HOSTCUDA_TIMEOUT seconds
 * without any, device memory is closed a few times for a moment: the address at which the kernel
 * faults is what it reads. The same address every time: it waits for somebody to write there.
 *
 * Seconds are those of the worker's own CPU clock: on a busy machine a thread may wait longer for a
 * core than it was given to run. (One that sleeps gets STARVED times as long by the clock.) */
#define _GNU_SOURCE
#include "internal.h"

#include <execinfo.h>
#include <time.h>

enum { PROBES = 5, LAST = -1, LINES = 20, SPIN_YIELD = 1 << 10, SPIN_MAX = 1 << 24, TICK_MS = 100 };
enum { PROBE_MS = 20, PROBE_PATIENCE_MS = 1000, STARVED = 10 };

static volatile sig_atomic_t probing;
static volatile sig_atomic_t polls, others; /* faults at w->polled, and elsewhere or by writing */
static volatile sig_atomic_t tries, telling; /* left, to find a place with a line; one is told */

static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Seconds that a worker has run; where the system has no such clock, those of the wall. */
static double clock_of(const hc_worker *w) {
    clockid_t clock;
    struct timespec t;
    if (pthread_getcpuclockid(w->handle, &clock) != 0 || clock_gettime(clock, &t) != 0)
        clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool stands_still(const hc_worker *w, uint64_t progress) {
    return w->in_kernel && __atomic_load_n(&w->progress, __ATOMIC_RELAXED) == progress;
}

/* Returns when the worker has noticed, by a fault or by PROBE_MS of running, or gets no core. */
static void interrupt(hc_worker *w, uint64_t progress, int probe) {
    int faults = polls + others;
    double begin = clock_of(w);
    w->probe = probe;
    pthread_kill(w->handle, HC_WATCHDOG_SIGNAL);
    for (int ms = 0; ms < PROBE_PATIENCE_MS; ms++) {
        if (polls + others != faults || !stands_still(w, progress)) break;
        if (clock_of(w) - begin >= PROBE_MS * 1e-3) break;
        sleep_ms(1);
    }
}

static void examine(hc_worker *w, uint64_t progress) {
    polls = others = telling = 0;
    w->polled = NULL;
    probing = 1;
    for (int i = 1; i <= PROBES && stands_still(w, progress); i++) interrupt(w, progress, i);
    if (w->in_kernel && !stands_still(w, progress)) hc_arena_protect(false);
    for (tries = LINES; tries > 0 && stands_still(w, progress);) {
        interrupt(w, progress, LAST);
        while (telling && stands_still(w, progress)) sleep_ms(1);
    }
    probing = 0;
    w->probe = 0;
}

static void *watch(void *unused) {
    (void)unused;
    static uint64_t seen[WORKERS_MAX];
    static bool watched[WORKERS_MAX]; /* it was in a kernel when last looked at */
    static double still[WORKERS_MAX], begin[WORKERS_MAX];
    double limit = hc_options_get()->timeout;
    for (;;) {
        sleep_ms(TICK_MS);
        int count;
        hc_worker *workers = hc_workers(&count);
        for (int i = 0; i < count; i++) {
            hc_worker *w = &workers[i];
            if (!watched[i] || !stands_still(w, seen[i])) {
                seen[i] = __atomic_load_n(&w->progress, __ATOMIC_RELAXED);
                watched[i] = w->in_kernel;
                if (watched[i]) begin[i] = clock_of(w);
                still[i] = 0;
                continue;
            }
            still[i] += TICK_MS * 1e-3;
            if (clock_of(w) - begin[i] < limit && still[i] < STARVED * limit) continue;
            examine(w, seen[i]);
            watched[i] = false;
        }
    }
    return NULL;
}

static bool started;

static void after_fork(void) { started = false; }

void hc_watchdog_start(void) {
    if (started || hc_options_get()->timeout == 0) return;
    static bool registered;
    if (!registered) pthread_atfork(NULL, NULL, after_fork);
    registered = started = true;
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all); /* signals of the program are for the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* A fault during a probe: note the address, open the memory again and let the kernel go on. */
bool hc_watchdog_probe(hc_worker *w, const void *address, bool write) {
    hc_buffer *b = probing && hc_arena_holds(address) ? hc_arena_find(address) : NULL;
    if (!b || b->freed || (const char *)address >= b->pages + b->page_bytes) return false;
    if (w->probe > 0) {
        if (!w->polled) w->polled = address;
        if (w->polled == address && !write)
            polls++;
        else
            others++;
    }
    hc_arena_protect(false);
    return true;
}

static void spins(hc_text *t, const void *address) {
    const hc_worker *w = hc_self;
    hc_buffer *b = hc_arena_find(address);
    hc_add(t, "this thread waits in a loop for a value that never changes");
    if (hc_grid_left())
        hc_add(t, ", while %llu blocks of the grid have not begun",
               (unsigned long long)hc_grid_left());
    hc_report_thread(t);
    if (b)
        hc_add(t, "\n    waits on byte %ld of the buffer of %zu bytes allocated at %s:%d",
               (long)((const char *)address - b->start), b->bytes, b->allocated.file,
               b->allocated.line);
    hc_report_likely(t,
                     w->launch->grid.x * w->launch->grid.y * w->launch->grid.z > 1
                         ? "blocks run in any order and need not run at the same time, so none may "
                           "wait for another: end the kernel and launch a second one"
                         : "the loop never moves on (is an i++ missing?); or another thread was "
                           "to write the value: use __syncthreads() or __syncwarp() instead");
}

static void file_of(void *pc, hc_source *source) {
    void *frames[24], *pcs[25];
    int count = backtrace(frames, 24), n = 0, from = 0;
    if (pc) pcs[n++] = pc;
    for (int i = 0; i < count; i++)
        if (frames[i] == pc) from = i + 1;
    for (int i = from; i < count; i++) pcs[n++] = frames[i];
    if (!hc_source_of(pcs, n, source)) {
        const hc_launch *l = hc_self->launch; /* without line tables the launch must do */
        __builtin_snprintf(source->file, sizeof source->file, "%s", l->site.file);
        source->line = l->site.line;
    }
}

void hc_watchdog_signal(void *pc) {
    hc_worker *w = hc_self;
    if (w->probe > 0) {
        hc_arena_protect(true);
        return;
    }
    if (w->probe != LAST) return;
    hc_arena_protect(false);
    hc_text t;
    hc_source source;
    telling = 1;
    file_of(pc, &source);
    if (source.vague && --tries > 0) {
        telling = 0;
        return;
    }
    bool waits = polls > 1 && others == 0;
    hc_report_begin(&t, waits ? "spin-wait" : "endless-kernel", source.file, source.line);
    if (waits) {
        spins(&t, w->polled);
    } else {
        hc_add(&t, "this thread has run for %g s without reaching a barrier or its end",
               hc_options_get()->timeout);
        hc_report_thread(&t);
        hc_report_likely(&t, "a loop whose condition never becomes false; HOSTCUDA_TIMEOUT=seconds "
                             "gives a long kernel more time, 0 for ever");
    }
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchTimeout);
}

/* An atomic without effect, again and again at one place, is a lock or a flag that another thread
 * must set. The block's other threads get their turn first. */
void hc_atomic_touch(const volatile void *address, bool changed) {
    hc_worker *w = hc_self;
    if (!w || !w->in_kernel) return;
    if (changed || address != w->touched) {
        w->touched = address;
        w->touches = 0;
        return;
    }
    if (++w->touches % SPIN_YIELD != 0) return;
    if (w->touches < SPIN_MAX) {
        bool alone = w->ready_count == 0 && w->started == w->count;
        if (alone) return;
        hc_make_ready(w, w->current);
        hc_thread_wait(w);
        return;
    }
    hc_text t;
    hc_source source;
    file_of(NULL, &source);
    hc_report_begin(&t, "spin-wait", source.file, source.line);
    spins(&t, (const void *)address);
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchTimeout);
}
