/* counts.c: how often which kernel was launched; in a CHECK=1 build also what it did to memory. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static hc_kernel_counts *first, *last;
static uint64_t total, until_failure; /* launches up to and with the one that is to fail; 0: none */

hc_kernel_counts *hc_counts_of(const hc_launch *launch) {
    for (hc_kernel_counts *k = first; k; k = k->next)
        if (k->entry == launch->entry && strcmp(k->counts.kernel, launch->kernel) == 0) return k;
    hc_kernel_counts *k = calloc(1, sizeof *k);
    if (!k) abort();
    k->entry = launch->entry;
    k->counts.kernel = launch->kernel;
    if (last)
        last->next = k;
    else
        first = k;
    return last = k;
}

void hc_counts_launch(const hc_launch *launch) {
    hostcuda_kernel_counts *c = &hc_counts_of(launch)->counts;
    uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    total++;
    c->launches++;
    c->blocks += blocks;
    c->threads += blocks * launch->block.x * launch->block.y * launch->block.z;
}

void hc_counts_call(void) { total++; }

hc_kernel_counts *hc_counts_first(void) { return first; }

static uint64_t launches(void) { return total; }

static int kernels(hostcuda_kernel_counts *out, int room) {
    int n = 0;
    for (const hc_kernel_counts *k = first; k; k = k->next) {
        if (k->counts.launches == 0) continue;
        if (n < room) out[n] = k->counts;
        n++;
    }
    return n;
}

static void reset(void) {
    total = 0;
    for (hc_kernel_counts *k = first; k; k = k->next)
        k->counts = (hostcuda_kernel_counts){.kernel = k->counts.kernel};
}

cudaError_t hc_counts_failure(void) {
    if (until_failure == 0 || --until_failure > 0) return cudaSuccess;
    return cudaErrorLaunchOutOfResources;
}

static void fail_launch(uint64_t n) {
    hc_enter();
    until_failure = n;
    if (n == 0) {
        hc_report_unchecked();
        hc_GetLastError(NULL, 0);
    }
    hc_leave();
}

static bool count_memory(bool on) {
#ifdef HOSTCUDA_CHECK
    hc_check_count(on);
    return true;
#else
    return !on;
#endif
}

/* What earlier calls have queued is theirs, and what this one has queued its own. */
static bool watch(const hostcuda_array *arrays, int count) {
#ifdef HOSTCUDA_CHECK
    hc_enter();
    hc_drain_all();
    bool good = hc_check_watch(arrays, count);
    hc_leave();
    return good;
#else
    (void)arrays, (void)count;
    return false;
#endif
}

static void worked(hostcuda_work *work) {
#ifdef HOSTCUDA_CHECK
    hc_enter();
    hc_drain_all();
    hc_check_worked(work);
    hc_leave();
#else
    (void)work;
#endif
}

static void guard(const void *frame) {
#ifdef HOSTCUDA_CHECK
    hc_check_guard(frame);
#else
    (void)frame;
#endif
}

/* What earlier calls have queued may still touch all that was theirs. */
static bool confine(const hostcuda_array *arrays, int count) {
#ifdef HOSTCUDA_CHECK
    hc_enter();
    hc_drain_all();
    bool good = hc_check_confine(arrays, count);
    hc_leave();
    return good;
#else
    (void)arrays, (void)count;
    return false;
#endif
}

static void keep_stream(const void *stream) {
    hc_enter();
    hc_queue_only(stream);
    hc_leave();
}

static int sites(hostcuda_site_counts *out, int room) {
#ifdef HOSTCUDA_CHECK
    return hc_check_site_counts(out, room);
#else
    (void)out, (void)room;
    return 0;
#endif
}

const hostcuda_counts *hostcuda_counts_get(void) {
    static const hostcuda_counts table = {HOSTCUDA_COUNTS_ABI,
                                          launches,
                                          kernels,
                                          reset,
                                          count_memory,
                                          fail_launch,
                                          watch,
                                          worked,
                                          guard,
                                          sites,
                                          confine,
                                          keep_stream};
    return &table;
}
