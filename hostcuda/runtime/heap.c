/* heap.c: memory that kernels allocate for themselves: buffers like others, each with its guard. No
 * call of the host may use or free them. */
#define _GNU_SOURCE /* a recursive mutex without a constructor */
#include "internal.h"

/* Blocks run on several workers; whoever reads the table of buffers meanwhile takes it, too. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static size_t limit = 8 << 20, used;

void hc_heap_lock(void) { pthread_mutex_lock(&lock); }
void hc_heap_unlock(void) { pthread_mutex_unlock(&lock); }
void hc_heap_set_limit(size_t bytes) { limit = bytes; }
size_t hc_heap_limit(void) { return limit; }
void hc_heap_released(const hc_buffer *b) { used -= b->bytes; }

/* NULL where the heap is full, as on a GPU. */
void *hc_heap_allocate(size_t bytes, const char *file, int line) {
    void *p = NULL;
    hc_heap_lock();
    bool fits = bytes > 0 && bytes <= limit && used <= limit - bytes;
    if (fits && hc_arena_allocate(HC_DEVICE, bytes, (hc_site){file, line}, &p) == cudaSuccess) {
        hc_arena_find(p)->heap = true;
        used += bytes;
    }
    hc_heap_unlock();
    return p;
}

static void fail(const char *kind, const char *likely, const void *p, const hc_buffer *b,
                 const char *what, hc_site at) {
    hc_text t;
    hc_report_begin(&t, kind, at.file, at.line);
    hc_add(&t, "%p: %s", p, what);
    if (b) hc_add(&t, ", allocated at %s:%d", b->allocated.file, b->allocated.line);
    hc_report_thread(&t);
    hc_report_likely(&t, likely);
    hc_report_end(&t);
    hc_heap_unlock();
    hc_kernel_fail(cudaErrorIllegalAddress);
}

void hc_heap_release(void *p, const char *file, int line) {
    hc_site at = {file, line};
    if (!p) return;
    hc_heap_lock();
    hc_buffer *b = hc_arena_holds(p) ? hc_arena_find(p) : NULL;
    if (!b || !b->heap)
        fail("bad-free", "a kernel frees what a kernel has allocated; cudaMalloc's is cudaFree's",
             p, b, "not memory of malloc or new in a kernel", at);
    if (b->freed)
        fail("double-free", "two threads or two owners free it: let one of them do it", p, b,
             "this was already freed", at);
    if (p != b->start)
        fail("bad-free", "free the pointer that malloc or new gave, not one that was moved on", p,
             b, "not the start of what was allocated", at);
    hc_check_canaries(b, "when it was freed");
    hc_arena_release(b, at);
    hc_heap_unlock();
}
