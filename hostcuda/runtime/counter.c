/* counter.c: barriers that count arrivals (cuda::barrier): who arrives goes on, who waits is woken
 * by the last arrival of the phase. They lie in shared memory, so one worker has them all. */
#include "internal.h"

static void fail(hc_counter *c, const hc_site *at, const char *likely) {
    hc_text t;
    hc_report_begin(&t, "divergent-barrier", at->file, at->line);
    hc_add(&t,
           "a thread waits at a cuda::barrier for %u more of %u arrivals, and nobody is left "
           "that could arrive",
           c->missing, c->expected);
    hc_report_thread(&t);
    hc_report_likely(&t, likely);
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

unsigned hc_counter_arrive(hc_counter *c, unsigned n, bool drops, const char *file, int line) {
    hc_worker *w = hc_self;
    unsigned phase = c->phase;
    if (!w || !w->in_kernel) return phase;
    if (n > c->missing) {
        hc_text t;
        hc_report_begin(&t, "divergent-barrier", file, line);
        hc_add(&t, "more arrivals at a cuda::barrier than the %u that it was made for",
               c->expected);
        hc_report_thread(&t);
        hc_report_likely(&t, "init() wants the number of arrivals of one phase: that of the "
                             "threads that call arrive() or arrive_and_wait()");
        hc_report_end(&t);
        hc_kernel_fail(cudaErrorLaunchFailure);
    }
    hc_check_meets(c, true);
    if (drops) c->expected -= n;
    c->missing -= n;
    if (c->missing > 0) return phase;
    c->missing = c->expected;
    c->phase++;
    for (int i = 0; i < w->count; i++) {
        if (!(w->at_counter[i / 32] >> i % 32 & 1)) continue;
        if (w->threads[i].value != (uint64_t)(uintptr_t)c) continue;
        w->at_counter[i / 32] &= ~(1u << i % 32);
        hc_make_ready(w, i);
    }
    return phase;
}

void hc_counter_wait(hc_counter *c, unsigned phase, const char *file, int line) {
    hc_worker *w = hc_self;
    if (!w || !w->in_kernel) return;
    if (c->phase == phase) {
        hc_thread *t = &w->threads[w->current];
        t->site = (hc_site){file, line};
        t->value = (uint64_t)(uintptr_t)c;
        w->at_counter[w->current / 32] |= 1u << w->current % 32;
        hc_thread_wait(w);
    }
    hc_check_meets(c, false);
}

void hc_counter_unmade(const char *file, int line) {
    hc_text t;
    hc_report_begin(&t, "uninitialised", file, line);
    hc_add(&t, "a cuda::barrier that nobody has initialised yet");
    hc_report_thread(&t);
    hc_report_likely(&t, "one thread calls init(&barrier, count), and then all __syncthreads(), "
                         "before anybody arrives");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

void hc_counter_report_stuck(hc_worker *w) {
    for (int i = 0; i < w->count; i++) {
        if (!(w->at_counter[i / 32] >> i % 32 & 1)) continue;
        hc_switch_position(w, i);
        fail((hc_counter *)(uintptr_t)w->threads[i].value, &w->threads[i].site,
             "some threads have returned, or stand at another barrier; who leaves calls "
             "arrive_and_drop(), and init() counts those that arrive");
    }
}
