/* alloc_test.c: claims about the caching allocator (tl/alloc.h), over a source that is counted. */
#include "tl/alloc.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Host memory with a limit, which keeps books of its own: what the allocator says is compared with
 * what really happened. */
typedef struct source {
    size_t limit, held, gets, puts;
    size_t shift; /* added to each pointer: a device that breaks its promise of alignment */
} source;

static void *source_get(void *user, size_t bytes) {
    source *s = user;
    s->gets++;
    if (bytes > s->limit - s->held) return NULL;
    char *block = aligned_alloc(256, (bytes + 511) / 256 * 256); /* wants a multiple */
    s->held += bytes;
    return block + s->shift;
}

static void source_put(void *user, void *block, size_t bytes) {
    source *s = user;
    s->puts++;
    s->held -= bytes;
    free((char *)block - s->shift);
}

static tl_alloc *open_alloc(source *s, size_t limit) {
    *s = (source){.limit = limit};
    tl_alloc_source from = {source_get, source_put, s};
    tl_alloc *a;
    cr_assert_eq(tl_alloc_new(&a, &from), TL_OK);
    cr_assert_eq(s->gets, 0, "a new allocator must not take memory");
    return a;
}

static void *get(tl_alloc *a, size_t bytes) {
    void *block = NULL;
    cr_assert_eq(tl_alloc_get(a, &block, bytes), TL_OK, "%s", tl_error());
    cr_assert_not_null(block);
    return block;
}

/* What a block of `bytes` counts as: the difference in live bytes that it makes. */
static size_t class_bytes(tl_alloc *a, size_t bytes) {
    size_t before = tl_alloc_read_stats(a).live_bytes;
    void *block = get(a, bytes);
    size_t counted = tl_alloc_read_stats(a).live_bytes - before;
    cr_assert_eq(tl_alloc_put(a, block), TL_OK);
    return counted;
}

/* All books closed: nothing live, nothing held, every block of the source given back. */
static void close_alloc(tl_alloc *a, source *s) {
    cr_assert_eq(tl_alloc_read_stats(a).live_blocks, 0);
    cr_assert_eq(tl_alloc_read_stats(a).live_bytes, 0);
    tl_alloc_free(a);
    cr_assert_eq(s->held, 0, "%zu bytes were not given back", s->held);
}

Test(alloc, classes_hold_their_size_and_waste_less_than_a_quarter) {
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    cr_assert_eq(class_bytes(a, 0), 256);
    for (size_t bytes = 1; bytes < (size_t)1 << 24; bytes += 1 + bytes / 97) {
        size_t counted = class_bytes(a, bytes);
        cr_assert(counted >= bytes && counted % 256 == 0, "%zu bytes give %zu", bytes, counted);
        cr_assert(counted - bytes < 256 || 4 * (counted - bytes) < counted,
                  "%zu bytes give %zu: too much waste", bytes, counted);
        cr_assert_eq(class_bytes(a, counted), counted, "a class must hold its own size");
        cr_assert_gt(class_bytes(a, counted + 1), counted);
        tl_alloc_trim(a);
    }
    close_alloc(a, &s);
}

Test(alloc, blocks_are_aligned_writable_and_apart) {
    enum { BLOCKS = 300 }; /* more than the first table of the map has buckets */
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    unsigned char *block[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = get(a, 37 * i);
        cr_assert_eq((uintptr_t)block[i] % 256, 0);
        memset(block[i], (int)(i % 251), 37 * i);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        for (size_t k = 0; k < 37 * i; k++) cr_assert_eq(block[i][k], i % 251);
        cr_assert_eq(tl_alloc_put(a, block[i]), TL_OK, "%s", tl_error());
    }
    close_alloc(a, &s);
}

Test(alloc, second_round_takes_nothing_from_the_source) {
    enum { BLOCKS = 40 };
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    size_t after_first = 0;
    for (int round = 0; round < 5; round++) {
        void *block[BLOCKS];
        for (size_t i = 0; i < BLOCKS; i++) block[i] = get(a, 1000 * i);
        for (size_t i = 0; i < BLOCKS; i++)
            cr_assert_eq(tl_alloc_put(a, block[(7 * i) % BLOCKS]), TL_OK);
        if (round == 0) after_first = tl_alloc_read_stats(a).source_calls;
    }
    cr_assert_eq(tl_alloc_read_stats(a).source_calls, after_first);
    cr_assert_eq(s.gets, after_first);
    close_alloc(a, &s);
}

Test(alloc, a_cached_block_serves_other_sizes_of_its_class) {
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    void *block = get(a, 40000);
    cr_assert_eq(tl_alloc_put(a, block), TL_OK);
    cr_assert_eq(get(a, 40900), block, "40,000 and 40,900 bytes are both of the class of 40,960");
    void *other = get(a, 40000);
    cr_assert_neq(other, block, "a live block must not be handed out again");
    cr_assert_eq(s.gets, 2);
    tl_alloc_put(a, block);
    tl_alloc_put(a, other);
    close_alloc(a, &s);
}

Test(alloc, freeing_the_allocator_leaves_leaked_blocks_alone) {
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    char *leaked = get(a, 1000);
    tl_alloc_put(a, get(a, 5000));
    tl_alloc_free(a);
    cr_assert_eq(s.puts, 1);
    cr_assert_eq(s.held, 1024);
    memset(leaked, 1, 1000);
    source_put(&s, leaked, 1024);
    tl_alloc_free(NULL);
}

Test(alloc, counters_are_exact) {
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    void *first = get(a, 1024), *second = get(a, 512), *third = get(a, 0);
    tl_alloc_stats now = tl_alloc_read_stats(a);
    cr_assert(now.live_bytes == 1792 && now.peak_bytes == 1792 && now.held_bytes == 1792);
    cr_assert(now.live_blocks == 3 && now.source_calls == 3);
    tl_alloc_put(a, first);
    tl_alloc_put(a, third);
    now = tl_alloc_read_stats(a);
    cr_assert(now.live_bytes == 512 && now.peak_bytes == 1792 && now.held_bytes == 1792);
    cr_assert_eq(now.live_blocks, 1);
    first = get(a, 900); /* reuses the 1,024: live again, but below the peak */
    now = tl_alloc_read_stats(a);
    cr_assert(now.live_bytes == 1536 && now.peak_bytes == 1792 && now.source_calls == 3);
    tl_alloc_put(a, first);
    tl_alloc_put(a, second);
    tl_alloc_trim(a);
    now = tl_alloc_read_stats(a);
    cr_assert(now.live_bytes == 0 && now.peak_bytes == 1792 && now.held_bytes == 0);
    cr_assert_eq(s.held, 0);
    close_alloc(a, &s);
}

Test(alloc, trim_returns_cached_blocks_and_leaves_live_ones) {
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    char *live = get(a, 5000);
    memset(live, 7, 5000);
    for (size_t bytes = 1; bytes < 100000; bytes *= 3) tl_alloc_put(a, get(a, bytes));
    tl_alloc_trim(a);
    cr_assert_eq(tl_alloc_read_stats(a).held_bytes, tl_alloc_read_stats(a).live_bytes);
    cr_assert_eq(s.held, tl_alloc_read_stats(a).held_bytes);
    for (int i = 0; i < 5000; i++) cr_assert_eq(live[i], 7);
    cr_assert_eq(tl_alloc_put(a, live), TL_OK);
    close_alloc(a, &s);
}

Test(alloc, captured_steps_share_blocks_with_each_other_alone) {
    source s;
    tl_alloc *a = open_alloc(&s, (size_t)16 << 20);
    const size_t large = (size_t)4 << 20;
    tl_alloc_hold(a);
    tl_alloc_enter_step(a);
    void *step = get(a, large), *small = get(a, 1000);
    cr_assert_eq(tl_alloc_put(a, step), TL_OK);
    cr_assert_eq(tl_alloc_put(a, small), TL_OK);
    tl_alloc_leave_step(a);

    void *other = get(a, large), *own = get(a, 1000);
    cr_assert(other != step && own != small, "a graph still names those blocks");
    cr_assert_eq(tl_alloc_put(a, other), TL_OK);
    cr_assert_eq(tl_alloc_put(a, own), TL_OK);
    size_t held = s.held;
    tl_alloc_trim(a);
    cr_assert_eq(held - s.held, large + 1024, "the trim returns what no graph names, and that all");

    tl_alloc_enter_step(a);
    void *other_small = get(a, 2000), *next = get(a, large / 3);
    cr_assert_neq(other_small, step, "a small block of another size is no large one");
    cr_assert_eq(next, step, "the next step has the same memory, and less of it");
    tl_alloc_leave_step(a);
    cr_assert_eq(tl_alloc_put(a, next), TL_OK);
    cr_assert_eq(tl_alloc_put(a, other_small), TL_OK);
    tl_alloc_trim(a);
    cr_assert_eq(s.held, large + 1024 + 2048, "what a graph names stays");
    tl_alloc_release(a);
    close_alloc(a, &s);
}

Test(alloc, wrong_pointers_are_refused_and_change_nothing) {
    source s, other;
    tl_alloc *a = open_alloc(&s, SIZE_MAX), *b = open_alloc(&other, SIZE_MAX);
    char *block = get(a, 3000), *foreign = get(b, 3000);
    int local;
    cr_assert_eq(tl_alloc_put(a, NULL), TL_OK);
    tl_alloc_stats before = tl_alloc_read_stats(a);
    cr_assert_eq(tl_alloc_put(a, foreign), TL_EINVAL);
    cr_assert_eq(tl_alloc_put(a, block + 256), TL_EINVAL);
    cr_assert_eq(tl_alloc_put(a, &local), TL_EINVAL);
    tl_alloc_stats after = tl_alloc_read_stats(a);
    cr_assert_eq(memcmp(&before, &after, sizeof before), 0);

    cr_assert_eq(tl_alloc_put(a, block), TL_OK);
    before = tl_alloc_read_stats(a);
    cr_assert_eq(tl_alloc_put(a, block), TL_EINVAL);
    cr_assert(strstr(tl_error(), "twice"), "%s", tl_error());
    after = tl_alloc_read_stats(a);
    cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
    /* Had the second put entered the free list again, two callers would share one block. */
    void *one = get(a, 3000), *two = get(a, 3000);
    cr_assert_neq(one, two);
    tl_alloc_put(a, one);
    tl_alloc_put(a, two);
    tl_alloc_put(b, foreign);
    close_alloc(a, &s);
    close_alloc(b, &other);
}

Test(alloc, exhausted_source_is_asked_again_after_a_trim) {
    source s;
    tl_alloc *a = open_alloc(&s, 10240);
    cr_assert_eq(tl_alloc_put(a, get(a, 8192)), TL_OK);
    void *block = get(a, 4096); /* fits only once the cached 8,192 bytes are back */
    cr_assert_eq(s.gets, 3);
    cr_assert_eq(tl_alloc_read_stats(a).source_calls, 3);
    cr_assert_eq(tl_alloc_read_stats(a).held_bytes, 4096);
    tl_alloc_put(a, block);
    close_alloc(a, &s);
}

Test(alloc, out_of_memory_names_sizes_and_changes_nothing) {
    source s;
    tl_alloc *a = open_alloc(&s, 8192);
    void *live = get(a, 4096), *block = &s;
    cr_assert_eq(tl_alloc_get(a, &block, 6144), TL_ENOMEM);
    cr_assert_null(block);
    cr_assert(strstr(tl_error(), "6144") && strstr(tl_error(), "4096"), "%s", tl_error());
    cr_assert_eq(s.gets, 2, "without cached blocks a second try is useless");
    cr_assert_eq(tl_alloc_read_stats(a).live_blocks, 1);
    cr_assert_eq(tl_alloc_read_stats(a).live_bytes, 4096);
    size_t huge[] = {SIZE_MAX, SIZE_MAX - 255, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX};
    for (int i = 0; i < 4; i++) cr_assert_eq(tl_alloc_get(a, &block, huge[i]), TL_ENOMEM);
    cr_assert_eq(tl_alloc_put(a, live), TL_OK);
    close_alloc(a, &s);
}

Test(alloc, a_source_that_breaks_its_alignment_is_an_error) {
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    s.shift = 64;
    void *block;
    cr_assert_eq(tl_alloc_get(a, &block, 100), TL_EDEVICE);
    cr_assert_null(block);
    close_alloc(a, &s);
}

/* Ten thousand random requests against a plain list of what is live. */
Test(alloc, random_traffic_keeps_blocks_apart_and_books_right) {
    enum { SLOTS = 200, ROUNDS = 10000 };
    source s;
    tl_alloc *a = open_alloc(&s, SIZE_MAX);
    unsigned char *block[SLOTS] = {NULL};
    size_t bytes[SLOTS], blocks = 0;
    uint32_t random = 12345;
    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        int slot = (int)(random >> 16) % SLOTS;
        if (block[slot] == NULL) {
            bytes[slot] = random >> 8 & 8191;
            block[slot] = get(a, bytes[slot]);
            memset(block[slot], slot, bytes[slot]);
            blocks++;
        } else {
            for (size_t i = 0; i < bytes[slot]; i++) cr_assert_eq(block[slot][i], slot);
            cr_assert_eq(tl_alloc_put(a, block[slot]), TL_OK);
            block[slot] = NULL;
            blocks--;
        }
        if (round % 1000 == 999) tl_alloc_trim(a);
        tl_alloc_stats now = tl_alloc_read_stats(a);
        cr_assert(now.live_blocks == blocks && now.held_bytes == s.held &&
                  now.source_calls == s.gets && now.peak_bytes >= now.live_bytes);
    }
    for (int slot = 0; slot < SLOTS; slot++) cr_assert_eq(tl_alloc_put(a, block[slot]), TL_OK);
    close_alloc(a, &s);
}

/* For a source that looks at what lies behind its blocks. */
Test(alloc, exact_blocks_are_as_long_as_asked_for_and_not_kept) {
    source s;
    tl_alloc *a = open_alloc(&s, 1000);
    tl_alloc_set_exact(a);
    void *block = get(a, 13), *other = get(a, 987);
    cr_assert_eq(s.held, 1000);
    cr_assert_eq(tl_alloc_read_stats(a).live_bytes, 1000);
    cr_assert_eq(tl_alloc_put(a, block), TL_OK);
    cr_assert_eq(s.held, 987);
    cr_assert_eq(tl_alloc_read_stats(a).held_bytes, 987);
    cr_assert_eq(tl_alloc_put(a, other), TL_OK);
    cr_assert_eq(s.puts, 2);
    close_alloc(a, &s);
}
