/* arena.c: device memory: one reserved range of addresses, in which each buffer ends at a guard
 * page.
 *
 * The whole range is a mapping of an empty file: touching it is SIGBUS whatever its protection. A
 * buffer is anonymous memory mapped over it; freeing maps the file back. So one mprotect over the
 * range closes all buffers while host code runs and opens them for kernels, and guards and freed
 * buffers stay closed. Addresses of freed buffers are taken again only when the range is used up.
 */
#define _GNU_SOURCE
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    GUARD = 64 * 1024,
    HUGE = 2 << 20,
#ifdef HOSTCUDA_CHECK
    ALIGN = 256, /* as cudaMalloc: sectors are counted as on a GPU, and bounds need no guard */
    SHADOW = 6,  /* shadow memory takes five times as many addresses */
#else
    ALIGN = 16,
    SHADOW = 1,
#endif
    FRESH = 0xff,
    CANARY = 0xc5,
    EDGE = 64
};

static char *base;           /* of the reservation */
static size_t reserved, top; /* bytes; everything from base + top on was never used */
static int empty_file = -1;
static hc_buffer *buffers; /* in the order of their addresses */
static int buffer_count, buffer_room;
static size_t live_bytes;
static int open_depth;

/* The sections that the rewriter puts device variables into; absent if there are none. */
extern char __start_hc_device_data[] __attribute__((weak, visibility("hidden")));
extern char __stop_hc_device_data[] __attribute__((weak, visibility("hidden")));
extern char __start_hc_device_const[] __attribute__((weak, visibility("hidden")));
extern char __stop_hc_device_const[] __attribute__((weak, visibility("hidden")));

/* A guard costs addresses alone, so it is as wide as its buffer, within bounds: a row too far shall
 * still hit it, and 30,000 small buffers must fit under an address-space limit. */
static size_t guard_of(size_t page_bytes) { return page_bytes < GUARD ? page_bytes : GUARD; }

/* Each guard costs two of the 65,530 mappings of a process, so from here on buffers stand side by
 * side and only their canaries tell (README.md says so). */
enum { GUARDED_MAX = 12000 };
static int live_count;

static size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

static int make_empty_file(void) {
    int file = memfd_create("hostcuda-guard", MFD_CLOEXEC);
    if (file >= 0) return file;
    char path[] = "/tmp/hostcuda-guard-XXXXXX";
    file = mkstemp(path);
    if (file >= 0) unlink(path);
    return file;
}

/* With the protection of its neighbours, so that the kernel joins the mappings: their number is
 * limited (65,530 a process). */
static void guard(char *from, size_t bytes) {
    int protection = open_depth ? PROT_READ | PROT_WRITE : PROT_NONE;
    void *p = mmap(from, bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, empty_file,
                   (off_t)(from - base));
    if (p == MAP_FAILED) abort();
}

static void reserve(void) {
    struct rlimit limit;
    reserved = ((size_t)64 << 30) / SHADOW / HUGE * HUGE;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        reserved = limit.rlim_cur / 2 / SHADOW / HUGE * HUGE;
    empty_file = make_empty_file();
    /* One huge page more than is used, so that base can be a multiple of its size. */
    char *p = empty_file < 0 ? MAP_FAILED
                             : mmap(NULL, reserved + HUGE, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "hostcuda: cannot reserve %zu MB of addresses for device memory\n",
                reserved >> 20);
        exit(2);
    }
    base = (char *)round_up((size_t)p, HUGE);
    guard(base, reserved);
    hc_check_arena(base, reserved);
    top = GUARD; /* the first buffer has one before it too */
}

/* ---- look-up ---- */

/* Index of the first buffer whose pages start after p. */
static int after(const char *p) {
    int low = 0, high = buffer_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (buffers[middle].pages > p)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool hc_arena_holds(const void *p) {
    return base && (const char *)p >= base && (const char *)p < base + reserved;
}

hc_buffer *hc_arena_find(const void *p) {
    int i = after(p);
    if (i == 0) return NULL;
    hc_buffer *b = &buffers[i - 1];
    return (const char *)p < b->pages + b->page_bytes + guard_of(b->page_bytes) ? b : NULL;
}

hc_buffer *hc_arena_nearest(const void *p) {
    int i = after(p);
    hc_buffer *left = i > 0 ? &buffers[i - 1] : NULL;
    hc_buffer *right = i < buffer_count ? &buffers[i] : NULL;
    if (!left || !right) return left ? left : right;
    if ((const char *)p < left->start) return left; /* on its first page, before its data */
    size_t to_left = (size_t)((const char *)p - left->start - left->bytes);
    return to_left <= (size_t)(right->start - (const char *)p) ? left : right;
}

static bool within(const void *p, const char *from, const char *to) {
    return from && (const char *)p >= from && (const char *)p < to;
}

hc_space hc_space_of(const void *p, hc_buffer **found) {
    if (found) *found = NULL;
    if (hc_arena_holds(p)) {
        hc_buffer *b = hc_arena_find(p);
        if (found) *found = b;
        return b ? b->space : HC_GUARD;
    }
    if (within(p, __start_hc_device_data, __stop_hc_device_data)) return HC_SYMBOL;
    if (within(p, __start_hc_device_const, __stop_hc_device_const)) return HC_SYMBOL;
    hc_buffer *b = hc_arena_find(p); /* page-locked host memory stands in the same table */
    if (b && b->space == HC_PINNED && !b->freed && (const char *)p < b->start + b->bytes) {
        if (found) *found = b;
        return HC_PINNED;
    }
    return HC_HOST;
}

size_t hc_symbol_room(const void *p) {
    bool data = within(p, __start_hc_device_data, __stop_hc_device_data);
    return (size_t)((data ? __stop_hc_device_data : __stop_hc_device_const) - (const char *)p);
}

static void insert(const hc_buffer *b) {
    if (buffer_count == buffer_room) {
        buffer_room = buffer_room ? 2 * buffer_room : 256;
        buffers = realloc(buffers, (size_t)buffer_room * sizeof *buffers);
        if (!buffers) abort();
    }
    int at = after(b->pages);
    memmove(buffers + at + 1, buffers + at, (size_t)(buffer_count - at) * sizeof *buffers);
    buffers[at] = *b;
    buffer_count++;
}

static void forget(int i) {
    memmove(buffers + i, buffers + i + 1, (size_t)(--buffer_count - i) * sizeof *buffers);
}

/* ---- allocation ---- */

/* Addresses for `bytes` and a guard page: beyond all others, else where freed buffers lay. */
static char *take_addresses(size_t bytes) {
    size_t start = round_up(top, bytes >= HUGE ? HUGE : PAGE);
    size_t gap = live_count < GUARDED_MAX ? guard_of(bytes) : 0;
    if (start + bytes + gap <= reserved) {
        top = start + bytes + gap;
        return base + start;
    }
    for (int i = 0; i < buffer_count; i++) {
        if (!buffers[i].freed || !hc_arena_holds(buffers[i].pages)) continue;
        char *from = buffers[i].pages;
        int end = i + 1;
        while (end < buffer_count && buffers[end].freed) end++;
        char *to = end < buffer_count && hc_arena_holds(buffers[end].pages) ? buffers[end].pages
                                                                            : base + top;
        if ((size_t)(to - from) < bytes + guard_of(bytes)) continue;
        while (end-- > i) forget(i);
        return from;
    }
    return NULL;
}

static cudaError_t allocate_pinned(size_t bytes, hc_site at, void **p) {
    size_t pages = round_up(bytes, PAGE);
    if (posix_memalign(p, PAGE, pages) != 0) return cudaErrorMemoryAllocation;
    insert(&(hc_buffer){.start = *p,
                        .pages = *p,
                        .bytes = bytes,
                        .page_bytes = pages,
                        .space = HC_PINNED,
                        .allocated = at});
    return cudaSuccess;
}

/* The data end at the guard page, up to 15 bytes before it so that vector loads stay aligned; those
 * bytes and EDGE bytes before the data are canaries. */
cudaError_t hc_arena_allocate(hc_space space, size_t bytes, hc_site at, void **p) {
    if (space == HC_PINNED) return allocate_pinned(bytes, at, p);
    if (!base) reserve();
    size_t pages = round_up(round_up(bytes, ALIGN), PAGE);
    if (bytes > hc_options_get()->memory || live_bytes + pages > hc_options_get()->memory)
        return cudaErrorMemoryAllocation;
    char *from = take_addresses(pages);
    if (!from) return cudaErrorMemoryAllocation;
    if (mmap(from, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return cudaErrorMemoryAllocation;
    if (pages >= HUGE) madvise(from, pages, MADV_HUGEPAGE); /* makes opening and closing cheap */
    hc_buffer b = {.start = from + pages - round_up(bytes, ALIGN),
                   .pages = from,
                   .bytes = bytes,
                   .page_bytes = pages,
                   .space = space,
                   .allocated = at};
    memset(b.start, FRESH, bytes);
    hc_fill_edges(&b);
    insert(&b);
    hc_check_allocated(&b);
    live_bytes += pages;
    live_count++;
    if (!open_depth && space == HC_DEVICE && hc_options_get()->checks)
        mprotect(from, pages, PROT_NONE);
    *p = b.start;
    return cudaSuccess;
}

void hc_arena_release(hc_buffer *b, hc_site at) {
    b->freed = true;
    b->released = at;
    if (b->space == HC_PINNED) {
        char *start = b->start;
        forget((int)(b - buffers));
        free(start);
        return;
    }
    if (b->heap) hc_heap_released(b);
    live_bytes -= b->page_bytes;
    live_count--;
    guard(b->pages, b->page_bytes);
    hc_check_freed(b);
}

size_t hc_arena_live(size_t *count) {
    *count = 0;
    for (int i = 0; i < buffer_count; i++) *count += !buffers[i].freed;
    return live_bytes;
}

/* ---- opening and closing ---- */

/* Managed memory stays open, for both sides may touch it: at no moment is it closed, since another
 * thread of the host may be in it just now. */
static void protect(int protection) {
    if (!base || top == 0) return;
    char *from = base, *end = base + round_up(top, PAGE);
    for (int i = 0; protection == PROT_NONE && i < buffer_count; i++) {
        if (buffers[i].space != HC_MANAGED || buffers[i].freed) continue;
        if (buffers[i].pages > from) mprotect(from, (size_t)(buffers[i].pages - from), protection);
        from = buffers[i].pages + buffers[i].page_bytes;
    }
    if (end > from) mprotect(from, (size_t)(end - from), protection);
}

void hc_arena_protect(bool closed) { protect(closed ? PROT_NONE : PROT_READ | PROT_WRITE); }

void hc_arena_open(void) {
    if (open_depth++ == 0 && hc_options_get()->checks) protect(PROT_READ | PROT_WRITE);
}

void hc_arena_close(void) {
    if (--open_depth == 0 && hc_options_get()->checks) protect(PROT_NONE);
}

/* One buffer alone, whatever the others are: opening all costs time with every buffer there is. */
void hc_arena_open_one(const hc_buffer *b) {
    if (!open_depth) mprotect(b->pages, b->page_bytes, PROT_READ | PROT_WRITE);
}

void hc_arena_close_one(const hc_buffer *b) {
    bool closes = !open_depth && b->space == HC_DEVICE && hc_options_get()->checks;
    if (closes) mprotect(b->pages, b->page_bytes, PROT_NONE);
}

bool hc_arena_is_open(void) { return open_depth > 0; }

hc_buffer *hc_arena_buffers(int *count) {
    *count = buffer_count;
    return buffers;
}

void hc_arena_release_all(hc_site at) {
    for (int i = buffer_count - 1; i >= 0; i--)
        if (!buffers[i].freed) hc_arena_release(&buffers[i], at);
}
