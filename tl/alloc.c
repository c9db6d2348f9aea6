/* alloc.c: the caching allocator (tl/alloc.h): free lists and a map from pointer to block. */
#include "tl/alloc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    ALIGNMENT = 256, /* of every block, and the step between the smallest classes */
    CLASSES = 216,   /* class_of(PTRDIFF_MAX) is the last one */
    FIRST_BUCKETS = 64
};

typedef struct entry {
    void *memory;
    size_t bytes; /* of its size class */
    int size_class;
    bool live; /* handed out; else it hangs in a free list: */
    int lot;
    struct entry *next; /* of the same hash bucket */
    struct entry *next_cached;
} entry;

enum { ANYBODYS, STEPS, LOTS };

struct tl_alloc {
    tl_alloc_source source;
    tl_alloc_stats stats;
    /* a stack per class: what was freed last is warm, and goes out first */
    entry *cached[LOTS][CLASSES];
    entry **bucket; /* every block, live or cached; `buckets` is a power of two */
    size_t buckets, blocks;
    int lot;        /* from which blocks are handed out now */
    bool exact;     /* no size classes, no cache */
    unsigned holds; /* captured steps that name blocks of theirs which may be cached */
};

/* Size classes are 1, 2, 3, 4 times 256 bytes, then four per power of two: rounding up to the next
 * one wastes less than a quarter of a block, and blocks of nearby sizes serve each other. In units
 * of 256 bytes a class is quarters * 2^shift with quarters = 5..8 (1..8 for shift 0). */
static int class_of(size_t bytes, size_t *class_bytes) {
    size_t units = bytes > 0 ? (bytes - 1) / ALIGNMENT + 1 : 1;
    int shift = 0;
    while ((units - 1) >> shift >= 8) shift++;
    size_t quarters = ((units - 1) >> shift) + 1;
    *class_bytes = (quarters << shift) * ALIGNMENT;
    return 4 * shift + (int)quarters - 1;
}

/* Blocks are aligned, so the low bits say nothing; Fibonacci hashing spreads the others. */
static entry **bucket_of(const tl_alloc *a, const void *memory) {
    uint64_t hash = (uint64_t)((uintptr_t)memory / ALIGNMENT) * UINT64_C(0x9E3779B97F4A7C15);
    return &a->bucket[(size_t)(hash >> 32) & (a->buckets - 1)];
}

/* The entry of a block, or NULL for a pointer that never was one: only addresses are compared, so a
 * foreign pointer is never followed. */
static entry *find(const tl_alloc *a, const void *memory) {
    entry *b = *bucket_of(a, memory);
    while (b != NULL && b->memory != memory) b = b->next;
    return b;
}

/* Doubles the table. Without memory for it the old table stays: longer chains, still right. */
static void grow_table(tl_alloc *a) {
    size_t old_buckets = a->buckets;
    entry **old = a->bucket, **wider = calloc(2 * old_buckets, sizeof *wider);
    if (wider == NULL) return;
    a->bucket = wider;
    a->buckets = 2 * old_buckets;
    for (size_t i = 0; i < old_buckets; i++)
        for (entry *b = old[i], *next; b != NULL; b = next) {
            next = b->next;
            entry **home = bucket_of(a, b->memory);
            b->next = *home;
            *home = b;
        }
    free(old);
}

/* The table grows when it has one block per bucket on average. */
static void insert(tl_alloc *a, entry *b) {
    if (a->blocks == a->buckets) grow_table(a);
    entry **home = bucket_of(a, b->memory);
    b->next = *home;
    *home = b;
    a->blocks++;
}

/* Unlinks an entry that is in the map; the caller frees it. */
static void erase(tl_alloc *a, entry *b) {
    entry **link = bucket_of(a, b->memory);
    while (*link != b) link = &(*link)->next;
    *link = b->next;
    a->blocks--;
}

/* Asks the source; if it is exhausted, cached blocks of other classes may be what is in the way, so
 * they go back and the source is asked once more. */
static void *ask_source(tl_alloc *a, size_t bytes) {
    a->stats.source_calls++;
    void *memory = a->source.raw_get(a->source.user, bytes);
    if (memory == NULL && a->stats.held_bytes > a->stats.live_bytes) {
        tl_alloc_trim(a);
        a->stats.source_calls++;
        memory = a->source.raw_get(a->source.user, bytes);
    }
    return memory;
}

/* A new block of the class from the source, in the map but not yet live. */
static tl_status take(tl_alloc *a, entry **made, int size_class, size_t bytes) {
    entry *b = malloc(sizeof *b);
    TL_NEED(b != NULL, TL_ENOMEM, "out of host memory for the note of a block");
    void *memory = ask_source(a, bytes);
    if (memory == NULL) {
        free(b);
        return TL_FAIL(TL_ENOMEM, "out of device memory: %zu bytes wanted, %zu bytes held already",
                       bytes, a->stats.held_bytes);
    }
    if ((uintptr_t)memory % ALIGNMENT != 0) {
        a->source.raw_put(a->source.user, memory, bytes);
        free(b);
        return TL_FAIL(TL_EDEVICE, "the device gave a block at %p, not aligned to %d bytes", memory,
                       ALIGNMENT);
    }
    *b = (entry){.memory = memory, .bytes = bytes, .size_class = size_class, .lot = a->lot};
    insert(a, b);
    a->stats.held_bytes += bytes;
    *made = b;
    return TL_OK;
}

tl_status tl_alloc_new(tl_alloc **alloc, const tl_alloc_source *source) {
    *alloc = NULL;
    tl_alloc *a = calloc(1, sizeof *a);
    entry **bucket = calloc(FIRST_BUCKETS, sizeof(entry *));
    if (a == NULL || bucket == NULL) {
        free(a);
        free(bucket);
        return TL_FAIL(TL_ENOMEM, "out of host memory for an allocator");
    }
    a->source = *source;
    a->bucket = bucket;
    a->buckets = FIRST_BUCKETS;
    *alloc = a;
    return TL_OK;
}

void tl_alloc_set_exact(tl_alloc *alloc) { alloc->exact = true; }

void tl_alloc_enter_step(tl_alloc *alloc) { alloc->lot = STEPS; }

void tl_alloc_leave_step(tl_alloc *alloc) { alloc->lot = ANYBODYS; }

void tl_alloc_hold(tl_alloc *alloc) { alloc->holds++; }

void tl_alloc_release(tl_alloc *alloc) { alloc->holds--; }

void tl_alloc_free(tl_alloc *alloc) {
    if (alloc == NULL) return;
    alloc->holds = 0;
    tl_alloc_trim(alloc);
    /* What is left is live: the caller's leak keeps its memory, only our notes about it go. */
    for (size_t i = 0; i < alloc->buckets; i++)
        for (entry *b = alloc->bucket[i], *next; b != NULL; b = next) {
            next = b->next;
            free(b);
        }
    free(alloc->bucket);
    free(alloc);
}

/* The cached block that serves a class best; NULL: there is none. */
static entry *take_cached(tl_alloc *a, int size_class, size_t class_bytes) {
    entry **cached = a->cached[a->lot];
    int last = a->lot == STEPS && class_bytes >= TL_ALLOC_LARGE ? CLASSES - 1 : size_class;
    for (int c = size_class; c <= last; c++) {
        entry *b = cached[c];
        if (b == NULL) continue;
        cached[c] = b->next_cached;
        return b;
    }
    return NULL;
}

/* A cached block goes out again at once, though work queued on the device may still use it: all
 * work of a context runs in the order of one stream, so the next user of the block comes later
 * there. */
tl_status tl_alloc_get(tl_alloc *alloc, void **block, size_t bytes) {
    TL_NEED(alloc && block, TL_EINVAL,
            "tl_alloc_get: the allocator or the place for the block is NULL");
    *block = NULL;
    /* Beyond half the address space rounding up could wrap, and no source could serve it. */
    TL_NEED(bytes <= PTRDIFF_MAX, TL_ENOMEM,
            "%zu bytes wanted: more than any device has (%zu bytes held)", bytes,
            alloc->stats.held_bytes);
    size_t class_bytes;
    int size_class = class_of(bytes, &class_bytes);
    if (alloc->exact) class_bytes = bytes;
    entry *b = take_cached(alloc, size_class, class_bytes);
    if (b == NULL) TL_TRY(take(alloc, &b, size_class, class_bytes));
    /* Cached or just taken, the block is in the map and held; now it is the caller's, too. */
    b->live = true;
    b->next_cached = NULL;
    tl_alloc_stats *s = &alloc->stats;
    s->live_blocks++;
    s->live_bytes += b->bytes;
    if (s->peak_bytes < s->live_bytes) s->peak_bytes = s->live_bytes;
    *block = b->memory;
    return TL_OK;
}

tl_status tl_alloc_put(tl_alloc *alloc, void *memory) {
    if (memory == NULL) return TL_OK;
    entry *b = find(alloc, memory);
    TL_NEED(b != NULL, TL_EINVAL, "%p is not the start of a block of this allocator", memory);
    TL_NEED(b->live, TL_EINVAL, "the block at %p (%zu bytes) is given back twice", memory,
            b->bytes);
    b->live = false;
    b->next_cached = alloc->cached[b->lot][b->size_class];
    alloc->cached[b->lot][b->size_class] = b;
    alloc->stats.live_blocks--;
    alloc->stats.live_bytes -= b->bytes;
    if (alloc->exact) tl_alloc_trim(alloc);
    return TL_OK;
}

static void trim(tl_alloc *a, entry *cached[CLASSES]) {
    for (int c = 0; c < CLASSES; c++) {
        for (entry *b = cached[c], *next; b != NULL; b = next) {
            next = b->next_cached;
            erase(a, b);
            a->stats.held_bytes -= b->bytes;
            a->source.raw_put(a->source.user, b->memory, b->bytes);
            free(b);
        }
        cached[c] = NULL; /* a stale head would hand out memory that is no longer ours */
    }
}

void tl_alloc_trim(tl_alloc *alloc) {
    trim(alloc, alloc->cached[ANYBODYS]);
    if (!alloc->holds) trim(alloc, alloc->cached[STEPS]);
}

tl_alloc_stats tl_alloc_read_stats(const tl_alloc *alloc) { return alloc->stats; }
