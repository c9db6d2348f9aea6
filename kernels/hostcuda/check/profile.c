/* profile.c: what a warp's accesses cost: memory sectors, bank conflicts, missing lanes.
 *
 * CUDA threads run one after the other here, so each writes down its accesses, and when the last
 * lane of a warp has reached the barrier (or its end) the lanes' logs are laid side by side: the
 * n-th access at one instruction since the last barrier is one request of the warp. A GPU that runs
 * the lanes together as far as it can issues the same requests. */
#define _GNU_SOURCE
#include "check.h"

#include <stdlib.h>
#include <sys/mman.h>

/* A thread's log between two barriers; what lies beyond is counted, but not grouped. */
enum { LOG_MAX = 1 << 16, BANKS = 32, SECTOR = 32 };

typedef struct thread_log {
    uint64_t *from, *at;
} thread_log;
static thread_log logs[THREADS_MAX];
static uint64_t *idle[THREADS_MAX];
static int idle_count, running = -1;
static struct {
    int open, arrived, ended; /* lanes that take part; that are here; that have ended here */
} warps[WARPS_MAX];
static hc_kernel_counts *kernel;

static uint64_t *take_log(void) {
    if (idle_count) return idle[--idle_count];
    uint64_t *log = mmap(NULL, LOG_MAX * sizeof *log, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (log == MAP_FAILED) abort();
    return log;
}

/* ---- one request ---- */

typedef struct request {
    int lanes;
    uint64_t at[WARP]; /* offsets in their region */
    int lane[WARP];
} request;

static uint64_t sectors_of(const request *r, unsigned bytes) {
    uint64_t seen[2 * WARP];
    int n = 0;
    for (int i = 0; i < r->lanes; i++)
        for (uint64_t s = r->at[i] / SECTOR; s <= (r->at[i] + bytes - 1) / SECTOR; s++) {
            int k = n - 1; /* neighbours mostly share: look at the newest first */
            while (k >= 0 && seen[k] != s) k--;
            if (k < 0) seen[n++] = s;
        }
    return (uint64_t)n;
}

/* Cycles beyond one. Lanes that want the same word share it; 8-byte accesses are served by half
 * warps, 16-byte ones by quarters, as the hardware does. */
static uint64_t conflicts_of(const request *r, unsigned bytes) {
    unsigned lanes_at_once = bytes <= 4 ? WARP : bytes <= 8 ? WARP / 2 : WARP / 4;
    uint64_t conflicts = 0;
    for (int i = 0; i < r->lanes;) {
        uint64_t words[BANKS][WARP];
        int count[BANKS] = {0}, most = 1, part = r->lane[i] / (int)lanes_at_once;
        for (; i < r->lanes && r->lane[i] / (int)lanes_at_once == part; i++)
            for (uint64_t w = r->at[i] / 4; w <= (r->at[i] + bytes - 1) / 4; w++) {
                int bank = (int)(w % BANKS), k = 0;
                while (k < count[bank] && words[bank][k] != w) k++;
                if (k < count[bank]) continue;
                words[bank][count[bank]++] = w;
                if (count[bank] > most) most = count[bank];
            }
        conflicts += (uint64_t)most - 1;
    }
    return conflicts;
}

static void count_request(uint64_t entry, const request *r, int open) {
    unsigned sites;
    hc_check_site *site = &hc_check_sites(&sites)[entry >> 48];
    hostcuda_kernel_counts *k = &kernel->counts;
    if (!site->kernel) site->kernel = kernel;
    bool partial = r->lanes < open;
    uint64_t lanes = (uint64_t)r->lanes;
    site->threads += lanes;
    site->requests++, k->requests++;
    site->partial += partial, k->partial_requests += partial;
    *(site->kind & ACCESS_ATOMIC  ? &k->atomics
      : site->kind & ACCESS_WRITE ? &k->stores
                                  : &k->loads) += lanes;
    if ((entry >> 46 & 3) == REGION_SHARED) {
        uint64_t conflicts = conflicts_of(r, site->bytes);
        site->shared_requests++, k->shared_requests++;
        site->conflicts += conflicts, k->bank_conflicts += conflicts;
    } else {
        uint64_t sectors = sectors_of(r, site->bytes);
        site->global_requests++, k->global_requests++;
        site->sectors += sectors, k->global_sectors += sectors;
    }
}

void hc_check_log_beyond(unsigned site_number) {
    unsigned count;
    hc_check_site *site = &hc_check_sites(&count)[site_number];
    hostcuda_kernel_counts *k = &kernel->counts;
    if (!site->kernel) site->kernel = kernel;
    site->threads++;
    *(site->kind & ACCESS_ATOMIC  ? &k->atomics
      : site->kind & ACCESS_WRITE ? &k->stores
                                  : &k->loads) += 1;
}

/* ---- the logs of one warp ---- */

#define OFFSET(entry) ((entry) & (((uint64_t)1 << 46) - 1))
#define PLACE(entry)  ((entry) >> 46) /* site and region: what makes accesses one request */

/* Lanes that do the same: position by position. Returns the first position where they differ. */
static size_t count_together(thread_log *lanes, int open) {
    request r = {.lanes = open};
    for (int l = 0; l < open; l++) r.lane[l] = l;
    size_t shortest = SIZE_MAX;
    for (int l = 0; l < open; l++) {
        size_t n = (size_t)(lanes[l].at - lanes[l].from);
        if (n < shortest) shortest = n;
    }
    for (size_t p = 0; p < shortest; p++) {
        uint64_t entry = lanes[0].from[p], differ = 0;
        for (int l = 0; l < open; l++) {
            uint64_t e = lanes[l].from[p];
            differ |= PLACE(e ^ entry);
            r.at[l] = OFFSET(e);
        }
        if (differ) return p;
        count_request(entry, &r, open);
    }
    return shortest;
}

static int by_place(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* From where the lanes part, the n-th access of each lane at one place belongs together: keys of
 * (place, n-th, lane) sort them so. */
static void count_apart(thread_log *lanes, int open, size_t from) {
    static uint32_t nth[SITES_MAX * 4];
    size_t total = 0, used = 0;
    for (int l = 0; l < open; l++) {
        size_t n = (size_t)(lanes[l].at - lanes[l].from);
        total += n > from ? n - from : 0;
    }
    if (total == 0) return;
    uint64_t(*pairs)[2] = malloc(total * sizeof *pairs);
    if (!pairs) abort();
    for (int l = 0; l < open; l++) {
        for (uint64_t *e = lanes[l].from + from; e < lanes[l].at; e++) {
            uint64_t place = PLACE(*e);
            pairs[used][0] = place << 40 | (uint64_t)nth[place]++ << 8 | (uint64_t)l;
            pairs[used++][1] = *e;
        }
        for (uint64_t *e = lanes[l].from + from; e < lanes[l].at; e++) nth[PLACE(*e)] = 0;
    }
    qsort(pairs, used, sizeof *pairs, by_place);
    for (size_t i = 0; i < used;) {
        request r = {0};
        uint64_t key = pairs[i][0] >> 8, entry = pairs[i][1];
        for (; i < used && pairs[i][0] >> 8 == key; i++) {
            r.at[r.lanes] = OFFSET(pairs[i][1]);
            r.lane[r.lanes++] = (int)(pairs[i][0] & 0xff);
        }
        count_request(entry, &r, open);
    }
    free(pairs);
}

static void count_warp(int warp) {
    thread_log lanes[WARP];
    int open = warps[warp].open, n = 0;
    for (int l = 0; l < WARP; l++) {
        thread_log *log = &logs[warp * WARP + l];
        if (!log->from) continue;
        lanes[n++] = *log;
        idle[idle_count++] = log->from;
        *log = (thread_log){NULL, NULL};
    }
    if (n == open)
        count_apart(lanes, n, count_together(lanes, n));
    else
        count_apart(lanes, n, 0);
    warps[warp].open -= warps[warp].ended;
    warps[warp].arrived = warps[warp].ended = 0;
}

/* ---- what the runtime tells, by way of race.c ---- */

void hc_check_log_switch(hc_worker *w) {
    if (!hc_check.counting) return;
    if (running >= 0 && logs[running].from) logs[running].at = hc_check.log;
    running = w->current;
    thread_log *log = &logs[running];
    if (!log->from) log->from = log->at = take_log();
    hc_check.log = log->at;
    hc_check.log_end = log->from + LOG_MAX;
}

void hc_check_log_arrives(hc_worker *w, bool ends) {
    if (!hc_check.counting) return;
    int warp = w->current / WARP;
    logs[running].at = hc_check.log;
    running = -1;
    warps[warp].arrived++;
    warps[warp].ended += ends;
    if (warps[warp].arrived == warps[warp].open) count_warp(warp);
}

void hc_check_log_block(hc_worker *w) {
    if (!hc_check.counting) return;
    running = -1;
    for (int i = 0; i < THREADS_MAX; i++) { /* left by a block that failed */
        if (!logs[i].from) continue;
        idle[idle_count++] = logs[i].from;
        logs[i] = (thread_log){NULL, NULL};
    }
    for (int i = 0; i * WARP < w->count; i++) {
        int lanes = w->count - i * WARP;
        warps[i].open = lanes < WARP ? lanes : WARP;
        warps[i].arrived = warps[i].ended = 0;
    }
    kernel = hc_counts_of(w->launch);
}

void hc_check_count(bool on) {
    hc_check.counting = on;
    if (!on) hc_check.log = hc_check.log_end = NULL;
}
