/* profile.c: what a warp's accesses cost: memory sectors, bank conflicts, missing lanes.
 *
 * CUDA threads run one after the other here, so each writes down its accesses, and when the last
 * lane of a warp has reached the barrier (or its end) lockstep.c lays the lanes' logs side by side
 * and finds what they would have accessed together on a GPU: a request of the warp. */
#define _GNU_SOURCE
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A thread's log between two barriers; what lies beyond is counted alone. */
enum { LOG_MAX = 1 << 17, BANKS = 32, SECTOR = 32, FRAMES_MAX = 16 };

typedef struct thread_log {
    uint64_t *from, *at;
} thread_log;
/* The functions that a thread is in at a barrier, and the block in each: its next log begins with
 * them. `depth` counts from 0, what stands outside of all; deeper than there is room: forgotten. */
typedef struct thread_frames {
    int depth;
    uint64_t enters[FRAMES_MAX], block[FRAMES_MAX];
} thread_frames;
static thread_frames frames[THREADS_MAX];
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

static uint64_t sectors_of(const hc_request *r, unsigned bytes) {
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
static uint64_t conflicts_of(const hc_request *r, unsigned bytes) {
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

static int open_lanes; /* of the warp whose requests are counted */

void hc_check_request(unsigned site_number, unsigned region, const hc_request *r) {
    unsigned sites;
    hc_check_site *site = &hc_check_sites(&sites)[site_number];
    hostcuda_kernel_counts *k = &kernel->counts;
    if (!site->kernel) site->kernel = kernel;
    bool partial = r->lanes < open_lanes;
    uint64_t lanes = (uint64_t)r->lanes;
    site->threads += lanes;
    site->requests++, k->requests++;
    site->partial += partial, k->partial_requests += partial;
    *(site->kind & ACCESS_ATOMIC  ? &k->atomics
      : site->kind & ACCESS_WRITE ? &k->stores
                                  : &k->loads) += lanes;
    if (region == REGION_SHARED) {
        uint64_t conflicts = conflicts_of(r, site->bytes);
        site->shared_requests++, k->shared_requests++;
        site->conflicts += conflicts, k->bank_conflicts += conflicts;
    } else {
        uint64_t sectors = sectors_of(r, site->bytes);
        site->global_requests++, k->global_requests++;
        site->sectors += sectors, k->global_sectors += sectors;
        if (site->kind & ACCESS_ATOMIC) return;
        bool stores = site->kind & ACCESS_WRITE;
        *(stores ? &k->global_store_requests : &k->global_load_requests) += 1;
        *(stores ? &k->global_store_sectors : &k->global_load_sectors) += sectors;
    }
}

/* Nobody knows which lanes ask together: so it is a request of its own, and one that waits. */
void hc_check_log_beyond(unsigned site_number, unsigned region, uint64_t at) {
    unsigned count;
    hc_check_request(site_number, region, &(hc_request){.lanes = 1, .at = {at}});
    if (region != REGION_SHARED) return;
    hc_check_sites(&count)[site_number].conflicts++;
    kernel->counts.bank_conflicts++;
}

/* ---- the logs of one warp ---- */

static void keep_frames(thread_frames *f, const thread_log *log) {
    *f = (thread_frames){.depth = 0};
    for (const uint64_t *e = log->from; e < log->at; e++) {
        if (!hc_log_is_step(*e)) continue;
        if (hc_log_offset(*e) == STEP_ENTERS) {
            if (++f->depth >= FRAMES_MAX) break;
            f->enters[f->depth] = *e;
            f->block[f->depth] = 0;
        } else if (hc_log_offset(*e) == STEP_LEAVES) {
            f->depth -= f->depth > 0;
        } else {
            f->block[f->depth] = *e;
        }
    }
    if (f->depth >= FRAMES_MAX || log->at == log->from + LOG_MAX) *f = (thread_frames){.depth = 0};
}

static void begin_log(thread_log *log, const thread_frames *f) {
    log->from = log->at = take_log();
    for (int i = 0; i <= f->depth; i++) {
        if (i > 0) *log->at++ = f->enters[i];
        if (f->block[i]) *log->at++ = f->block[i];
    }
}

static void count_warp(int warp) {
    hc_lane lanes[WARP];
    int n = 0;
    for (int l = 0; l < WARP; l++) {
        thread_log *log = &logs[warp * WARP + l];
        if (!log->from) continue;
        lanes[n++] = (hc_lane){log->from, log->at, l};
        keep_frames(&frames[warp * WARP + l], log);
    }
    open_lanes = warps[warp].open;
    hc_check_lockstep(lanes, n);
    for (int l = 0; l < WARP; l++) {
        thread_log *log = &logs[warp * WARP + l];
        if (!log->from) continue;
        idle[idle_count++] = log->from;
        *log = (thread_log){NULL, NULL};
    }
    warps[warp].open -= warps[warp].ended;
    warps[warp].arrived = warps[warp].ended = 0;
}

/* ---- what the runtime tells, by way of race.c ---- */

void hc_check_log_switch(hc_worker *w) {
    if (!hc_check.counting) return;
    if (running >= 0 && logs[running].from) logs[running].at = hc_check.log;
    running = w->current;
    thread_log *log = &logs[running];
    if (!log->from) begin_log(log, &frames[running]);
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
    for (int i = 0; i < w->count; i++) frames[i] = (thread_frames){.depth = 0};
    kernel = hc_counts_of(w->launch);
}

size_t hc_check_log_save(const hc_worker *w, unsigned char *to) {
    size_t bytes = hc_check.counting ? (size_t)w->count * sizeof *frames : 0;
    if (to) memcpy(to, frames, bytes);
    return bytes;
}

void hc_check_log_restore(hc_worker *w, const unsigned char *from) {
    hc_check_log_block(w);
    if (!hc_check.counting) return;
    memcpy(frames, from, (size_t)w->count * sizeof *frames);
    for (int i = 0; i * WARP < w->count; i++)
        warps[i].open -= __builtin_popcount(w->warps[i].exited);
}

void hc_check_count(bool on) {
    hc_check.counting = on;
    if (!on) hc_check.log = hc_check.log_end = NULL;
}
