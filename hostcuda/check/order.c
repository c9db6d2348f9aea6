/* order.c: what orders two accesses: __syncthreads() by intervals, __syncwarp() by clocks, and
 * locks, tickets and flags by the fences and atomics that threads used. race.c asks. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- intervals ---- */

static uint32_t interval;      /* the current one */
static uint32_t *block_starts; /* first interval of each block of this launch */
static size_t block_count, block_room;

static uint64_t word_of(uint32_t number) { return (uint64_t)number << INTERVAL_SHIFT; }

/* The numbers are used up: all accesses are forgotten, and conflicts with them are not seen. */
static void start_over(void) {
    hc_check_forget_accesses();
    interval = 1;
    block_count = 0;
    hc_check.block_first = hc_check.region[REGION_GLOBAL].first =
        hc_check.region[REGION_SYMBOL].first = word_of(1);
}

static void next_interval(void) {
    if (interval == INTERVAL_LAST) start_over();
    interval++;
    hc_check.interval_first = word_of(interval);
}

/* ---- clocks of lanes ---- */

/* known[l][k]: the clock of lane k that lane l has heard of, by a __syncwarp() of both. */
typedef struct clocks {
    uint32_t interval;
    unsigned char known[WARP][WARP];
} clocks;
static clocks warps[WARPS_MAX];

static clocks *clocks_of(int warp) {
    clocks *c = &warps[warp];
    if (c->interval != interval) {
        c->interval = interval;
        memset(c->known, 0, sizeof c->known);
        for (int i = 0; i < WARP; i++) c->known[i][i] = 1;
    }
    return c;
}

static unsigned clock_of(int thread) {
    const clocks *c = &warps[thread / WARP];
    return c->interval == interval ? c->known[thread % WARP][thread % WARP] : 1;
}

static void refresh_me(const hc_worker *w) {
    hc_check.me = word_of(interval) | (uint64_t)w->current << THREAD_SHIFT |
                  (uint64_t)clock_of(w->current) << CLOCK_SHIFT;
}

void hc_check_syncwarp(hc_worker *w, int warp, unsigned mask) {
    if (hc_check.pending) hc_check_compare();
    clocks *c = clocks_of(warp);
    unsigned char all[WARP] = {0};
    unsigned highest = 0;
    for (int lane = 0; lane < WARP; lane++)
        for (int k = 0; k < WARP && (mask >> lane & 1); k++)
            if (c->known[lane][k] > all[k]) all[k] = c->known[lane][k];
    for (int lane = 0; lane < WARP; lane++) {
        if (!(mask >> lane & 1)) continue;
        memcpy(c->known[lane], all, WARP);
        if (++c->known[lane][lane] > highest) highest = c->known[lane][lane];
    }
    if (highest >= CLOCK_MAX) next_interval(); /* clocks start again; other warps' are forgotten */
    refresh_me(w);
}

/* ---- locks, tickets and flags ---- */

enum { PLACES_MAX = 32 };
/* A memory cell that the running block synchronises through. */
typedef struct place {
    uintptr_t address;
    uint32_t acquired[THREADS_MAX / 32]; /* threads that accessed it in this interval */
    uint32_t released[THREADS_MAX / 32]; /* ... after a fence */
    bool acquired_before, has_released;
} place;
static place places[PLACES_MAX];
static int place_count;
static bool places_full; /* then ordering is assumed */
static uint32_t fenced[THREADS_MAX / 32];

static bool bit(const uint32_t *bits, int i) { return bits[i / 32] >> i % 32 & 1; }
static void set_bit(uint32_t *bits, int i) { bits[i / 32] |= 1u << i % 32; }

/* Places that earlier blocks of this launch released, in the order of their blocks. */
static struct release {
    uint32_t block;
    uintptr_t address;
} * releases;
static size_t release_count, release_room;

void hc_check_fence(void) { set_bit(fenced, hc_self->current); }

/* (Where nobody has released yet there is nothing to acquire: a histogram's bins take no place.) */
static place *place_at(uintptr_t address, bool releases_it) {
    for (int i = 0; i < place_count; i++)
        if (places[i].address == address) return &places[i];
    if (!releases_it && release_count == 0) return NULL;
    if (place_count == PLACES_MAX) {
        places_full = true;
        return NULL;
    }
    places[place_count] = (place){.address = address};
    return &places[place_count++];
}

void hc_check_sync_access(uintptr_t address, bool may_release) {
    int me = hc_self->current;
    bool release = may_release && bit(fenced, me);
    place *p = place_at(address, release);
    if (!p) return;
    set_bit(p->acquired, me);
    if (!release) return;
    set_bit(p->released, me);
    if (p->has_released ||
        address - hc_check.region[REGION_SHARED].base < hc_check.region[REGION_SHARED].bytes)
        return;
    p->has_released = true;
    if (release_count == release_room) {
        release_room = release_room ? 2 * release_room : 256;
        releases = realloc(releases, release_room * sizeof *releases);
        if (!releases) abort();
    }
    uint32_t block = word_interval(hc_check.block_first);
    releases[release_count++] = (struct release){block, address};
}

void hc_check_meets(const void *at, bool may_release) {
    if (hc_check.pending) hc_check_compare();
    if (may_release) hc_check_fence();
    hc_check_sync_access((uintptr_t)at, may_release);
}

static void places_after_barrier(void) {
    for (int i = 0; i < place_count; i++) {
        for (int k = 0; k < THREADS_MAX / 32; k++)
            places[i].acquired_before |= places[i].acquired[k] != 0;
        memset(places[i].acquired, 0, sizeof places[i].acquired);
        memset(places[i].released, 0, sizeof places[i].released);
    }
}

/* Of many readers only the last is known: then somebody else's release will do. */
bool hc_check_ordered_by_place(uint64_t old) {
    int me = hc_self->current;
    for (int i = 0; i < place_count; i++) {
        if (!bit(places[i].acquired, me)) continue;
        if (bit(places[i].released, word_thread(old)) && word_thread(old) != me) return true;
        for (int k = 0; k < THREADS_MAX / 32 && (old & MANY_BIT); k++)
            if (places[i].released[k] & ~(k == me / 32 ? 1u << me % 32 : 0)) return true;
    }
    return places_full;
}

uint32_t hc_check_block_of(uint32_t number) {
    size_t low = 0, high = block_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (block_starts[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static bool block_released(uint32_t number, uintptr_t address) {
    uint32_t block = block_count ? block_starts[hc_check_block_of(number)] : 0;
    size_t low = 0;
    for (size_t high = release_count; low < high;) {
        size_t middle = (low + high) / 2;
        if (releases[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < release_count && releases[low].block == block; low++)
        if (releases[low].address == address) return true;
    return false;
}

bool hc_check_ordered_between_blocks(uint64_t old) {
    int me = hc_self->current;
    for (int i = 0; i < place_count; i++) {
        if (!places[i].acquired_before && !bit(places[i].acquired, me)) continue;
        /* A word with the blocks bit names only the last of its readers: then any will do. */
        if (old & BLOCKS_BIT ? release_count > 0
                             : block_released(word_interval(old), places[i].address))
            return true;
    }
    return places_full;
}

bool hc_check_ordered_in_warp(uint64_t old) {
    int me = hc_self->current, other = word_thread(old);
    if (me / WARP != other / WARP || word_clock(old) == CLOCK_WARPS) return false;
    const clocks *c = clocks_of(me / WARP);
    unsigned known = c->known[me % WARP][other % WARP];
    return me == other ? known > word_clock(old) : known >= word_clock(old);
}

/* ---- what the runtime tells ---- */

/* What lies before is ordered with all that follows, as by the end of a launch. */
static void begin_phase(void) {
    next_interval();
    hc_check.region[REGION_GLOBAL].first = hc_check.region[REGION_SYMBOL].first =
        hc_check.interval_first;
    block_count = release_count = 0;
}

void hc_check_launch_begins(void) {
    if (interval > INTERVAL_LAST / 2) start_over();
    begin_phase();
    hc_check.races = hc_options_get()->races;
    hc_check_forget_pending();
    hc_check_symbols();
}

static void begin_block(void) {
    next_interval();
    hc_check.block_first = hc_check.region[REGION_SHARED].first = hc_check.interval_first;
    if (block_count == block_room) {
        block_room = block_room ? 2 * block_room : 1024;
        block_starts = realloc(block_starts, block_room * sizeof *block_starts);
        if (!block_starts) abort();
    }
    block_starts[block_count++] = interval;
    place_count = 0;
    places_full = false;
    memset(fenced, 0, sizeof fenced);
}

void hc_check_block_begins(hc_worker *w) {
    begin_block();
    hc_check_shared_fresh();
    hc_check_log_block(w);
}

/* What the block has written of its shared memory, and in which functions its threads are. */
void *hc_check_block_parks(hc_worker *w) {
    size_t bits = hc_check_shared_save(NULL), frames = hc_check_log_save(w, NULL);
    unsigned char *kept = malloc(bits + frames);
    if (!kept) abort();
    hc_check_shared_save(kept);
    hc_check_log_save(w, kept + bits);
    return kept;
}

void hc_check_block_goes_on(hc_worker *w, void *kept) {
    begin_block();
    hc_check_shared_fresh();
    hc_check_log_restore(w, (unsigned char *)kept + hc_check_shared_restore(kept));
}

void hc_check_grid_barrier(void) { begin_phase(); }

void hc_check_thread_runs(hc_worker *w) {
    if (hc_check.pending) hc_check_compare();
    hc_check.stack = (uintptr_t)w->stacks.all[w->current_stack].low;
    refresh_me(w);
    hc_check_log_switch(w);
}

/* A stack has what the thread before has left there: an uninitialised variable would keep it, as no
 * GPU does, and no hook counts it. So it is made NaN (by no call: that would have a frame there).
 */
__attribute__((noinline)) void hc_check_thread_starts(void) {
    hc_check_way_begins();
    volatile uint64_t *end = __builtin_frame_address(0);
    uintptr_t from = hc_check.stack + hc_check.unused / sizeof *end * sizeof *end;
    for (volatile uint64_t *p = (volatile uint64_t *)from; p < end; p++) *p = UINT64_MAX;
}

void hc_check_block_ends(void) { hc_check_tell_early(); }

void hc_check_barrier(hc_worker *w) {
    hc_check_tell_early();
    next_interval();
    places_after_barrier();
    refresh_me(w);
    hc_check_log_switch(w);
}

void hc_check_thread_arrives(hc_worker *w, bool ends) {
    if (hc_check.pending) hc_check_compare();
    hc_check_log_arrives(w, ends);
}
