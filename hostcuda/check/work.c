/* work.c: who did the work of a call, whose arrays are watched: which threads stored what stands in
 * its outputs at the end, which loaded its inputs, and how much of the device's memory the host was
 * given meanwhile.
 *
 * Shadow knows the last writer and the last reader of each word. After each launch they are noted
 * down here, for the next launch begins with new numbers. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 16, WORD = 4 };
/* Who has a word: nobody, a copy, a library, or a thread by its place in the grid: so a kernel that
 * is launched again and again with one thread is one thread. */
enum { NOBODY, COPY, LIBRARY, THREADS };

typedef struct array {
    uintptr_t start;
    size_t words;
    bool output;   /* its writers count; else its readers */
    uint32_t *who; /* of each word */
} array;
static array arrays[ARRAYS];
static int array_count;
static uint64_t to_host; /* bytes */
static hostcuda_launch storing, loading;
static size_t most_stored, most_loaded; /* words, by one launch */

static void forget(void) {
    for (int i = 0; i < array_count; i++) free(arrays[i].who);
    array_count = 0;
    to_host = most_stored = most_loaded = 0;
    storing = loading = (hostcuda_launch){.kernel = NULL};
}

bool hc_check_watch(const hostcuda_array *watched, int count) {
    forget();
    if (count > ARRAYS) return false;
    for (int i = 0; i < count; i++) {
        array a = {(uintptr_t)watched[i].start, watched[i].bytes / WORD, watched[i].output, NULL};
        a.who = calloc(a.words + 1, sizeof *a.who);
        if (!a.who) abort();
        arrays[array_count++] = a;
    }
    return true;
}

/* ---- what happens to them ---- */

static void note(const void *p, size_t bytes, uint32_t who) {
    uintptr_t from = (uintptr_t)p, to = from + bytes;
    for (int i = 0; i < array_count; i++) {
        const array *a = &arrays[i];
        uintptr_t end = a->start + a->words * WORD;
        if (!a->output || from >= end || to <= a->start) continue;
        size_t first = from > a->start ? (from - a->start) / WORD : 0;
        size_t last = to < end ? (to - a->start + WORD - 1) / WORD : a->words;
        for (size_t k = first; k < last; k++) a->who[k] = who;
    }
}

void hc_check_work_set(const void *p, size_t bytes) { note(p, bytes, NOBODY); }
void hc_check_work_library(const void *p, size_t bytes) { note(p, bytes, LIBRARY); }
void hc_check_work_to_host(size_t bytes) { to_host += bytes; }

void hc_check_work_copied(const void *to, const void *from, size_t bytes) {
    hc_space space = hc_space_of(to, NULL), source = hc_space_of(from, NULL);
    note(to, bytes, COPY);
    if ((space == HC_HOST || space == HC_PINNED) && source != HC_HOST && source != HC_PINNED)
        to_host += bytes;
}

/* What kernels store in managed memory the host may read without a copy. */
static void note_managed(const hc_region *r) {
    int count;
    const hc_buffer *buffers = hc_arena_buffers(&count);
    for (int i = 0; i < count; i++) {
        if (buffers[i].freed || buffers[i].space != HC_MANAGED) continue;
        const hc_cell *cell = r->cells + ((uintptr_t)buffers[i].start - r->base) / WORD;
        for (size_t k = 0; k < buffers[i].bytes / WORD; k++)
            if (cell[k].write >= r->first) to_host += WORD;
    }
}

static void note_launch(hostcuda_launch *of, size_t *most, size_t words, const hc_launch *l) {
    if (words == 0 || words < *most) return;
    *most = words;
    *of = (hostcuda_launch){
        l->kernel, {l->grid.x, l->grid.y, l->grid.z}, {l->block.x, l->block.y, l->block.z}};
}

void hc_check_launch_ends(const hc_launch *launch) {
    const hc_region *r = &hc_check.region[REGION_GLOBAL];
    size_t stored = 0, loaded = 0;
    if (!array_count) return;
    for (int i = 0; i < array_count; i++) {
        const array *a = &arrays[i];
        const hc_cell *cell = r->cells + (a->start - r->base) / WORD;
        uint32_t interval = 0, block = 0;
        for (size_t k = 0; k < a->words; k++) {
            uint64_t word = a->output ? cell[k].write : cell[k].read;
            if (word < r->first) continue;
            if (word_interval(word) != interval) {
                interval = word_interval(word);
                block = hc_check_block_of(interval);
            }
            a->who[k] = THREADS + block * THREADS_MAX + (uint32_t)word_thread(word);
            *(a->output ? &stored : &loaded) += 1;
        }
    }
    note_launch(&storing, &most_stored, stored, launch);
    note_launch(&loading, &most_loaded, loaded, launch);
    note_managed(r);
}

/* ---- the sum ---- */

static uint64_t different(bool output, uint32_t most) {
    unsigned char *seen = calloc(most / 8 + 1, 1);
    uint64_t count = 0;
    if (!seen) abort();
    for (int i = 0; i < array_count; i++)
        for (size_t k = 0; arrays[i].output == output && k < arrays[i].words; k++) {
            uint32_t who = arrays[i].who[k];
            if (who < THREADS || (seen[who / 8] >> who % 8 & 1)) continue;
            seen[who / 8] |= (unsigned char)(1u << who % 8);
            count++;
        }
    free(seen);
    return count;
}

void hc_check_worked(hostcuda_work *work) {
    uint32_t most = THREADS;
    *work = (hostcuda_work){.to_host = to_host, .storing = storing, .loading = loading};
    for (int i = 0; i < array_count; i++)
        for (size_t k = 0; k < arrays[i].words; k++) {
            uint32_t who = arrays[i].who[k];
            if (who > most) most = who;
            work->storers += who == LIBRARY; /* as parallel as can be: a thread for each word */
            work->carried += arrays[i].output && who == COPY;
        }
    work->storers += different(true, most);
    work->loaders = different(false, most);
    forget();
}
