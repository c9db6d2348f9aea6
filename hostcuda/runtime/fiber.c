/* fiber.c: stacks of CUDA threads, each with guard pages below it.
 *
 * A thread gets a stack only when it waits (block.c), so most kernels use one. Pages are touched
 * lazily: 1,024 threads at a barrier take 4 to 8 KB each, not 128. */
#define _GNU_SOURCE
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A function with a large frame touches each page of it on x86, but one in 64 KB on arm64 (see
 * -fstack-clash-protection), which must not lead over the guard. */
#ifdef __aarch64__
enum { GUARD = 17 * 4096 };
#else
enum { GUARD = 4096 };
#endif
enum { SPACING = STACK_BYTES + GUARD, CHUNK = 32 };

/* Maps CHUNK more stacks. Their spacing is an odd number of pages, so that they spread over the
 * sets of the second-level cache too. */
static void add_stacks(hc_stacks *s) {
    char *base = mmap(NULL, (size_t)CHUNK * SPACING, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    s->all = realloc(s->all, (size_t)(s->count + CHUNK) * sizeof *s->all);
    s->idle = realloc(s->idle, (size_t)(s->count + CHUNK) * sizeof *s->idle);
    if (base == MAP_FAILED || !s->all || !s->idle) {
        fprintf(stderr, "hostcuda: no memory for the stacks of %d threads\n", s->count + CHUNK);
        abort();
    }
    for (int i = CHUNK - 1; i >= 0; i--) {
        char *guard = base + (size_t)i * SPACING;
        if (mprotect(guard, GUARD, PROT_NONE) != 0) abort();
        s->all[s->count + i].low = guard + GUARD;
        s->idle[s->idle_count++] = s->count + i;
    }
    s->count += CHUNK;
}

int hc_stack_take(hc_stacks *s) {
    if (s->idle_count == 0) add_stacks(s);
    return s->idle[--s->idle_count];
}

void hc_stack_give(hc_stacks *s, int stack) { s->idle[s->idle_count++] = stack; }

/* After a failed kernel: its threads never return, so all stacks are free. */
void hc_stacks_reset(hc_stacks *s) {
    s->idle_count = 0;
    for (int i = s->count - 1; i >= 0; i--) s->idle[s->idle_count++] = i;
}

bool hc_stack_guard_hit(const hc_stacks *s, const void *address) {
    const char *p = address;
    for (int i = 0; i < s->count; i++)
        if (p < s->all[i].low && p >= s->all[i].low - GUARD) return true;
    return false;
}
