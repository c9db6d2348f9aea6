/* shadow.c: which bytes of device memory exist and were written: global and shared memory, device
 * variables. Shadow is reserved for the whole arena at once and touched only where buffers are. */
#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SHARED_ARENA = 256 * 1024, GUARD = 4096, CELL = 4, CELL_BYTES = sizeof(hc_cell) };

hc_check_state hc_check = {.unused = STACK_BYTES};

/* ---- ready bits ---- */

/* Sets or clears the bits of [from, to), offsets within the region. */
static void mark(const hc_region *r, size_t from, size_t to, bool ready) {
    while (from < to && from % 8) {
        unsigned char bit = (unsigned char)(1u << from % 8);
        r->ready[from / 8] =
            (unsigned char)(ready ? r->ready[from / 8] | bit : r->ready[from / 8] & ~bit);
        from++;
    }
    if (to - from >= 8) {
        memset(r->ready + from / 8, ready ? 0xff : 0, (to - from) / 8);
        from = to / 8 * 8;
    }
    for (; from < to; from++) {
        unsigned char bit = (unsigned char)(1u << from % 8);
        r->ready[from / 8] =
            (unsigned char)(ready ? r->ready[from / 8] | bit : r->ready[from / 8] & ~bit);
    }
}

static bool is_ready(const hc_region *r, size_t at) { return r->ready[at / 8] >> at % 8 & 1; }

static size_t offset_in(const hc_region *r, const void *p) { return (uintptr_t)p - r->base; }

/* Shared, because a limit on data (RLIMIT_DATA) counts every private writable page of addresses,
 * touched or not; nobody forks to share it with. */
static void *reserve(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p != MAP_FAILED) return p;
    fprintf(stderr, "hostcuda: cannot reserve %zu MB of addresses for shadow memory\n",
            bytes >> 20);
    exit(2);
}

static void make_region(hc_region *r, const void *base, size_t bytes) {
    r->base = (uintptr_t)base;
    r->bytes = bytes;
    r->cells = reserve(bytes / CELL * CELL_BYTES + CELL_BYTES);
    r->ready = reserve(bytes / 8 + 16);
}

extern char __start_hc_device_data[] __attribute__((weak, visibility("hidden")));
extern char __stop_hc_device_data[] __attribute__((weak, visibility("hidden")));

void hc_check_arena(const char *base, size_t bytes) {
    make_region(&hc_check.region[REGION_GLOBAL], base, bytes);
}

void hc_check_symbols(void) {
    hc_region *symbols = &hc_check.region[REGION_SYMBOL];
    if (!__start_hc_device_data || symbols->base) return;
    make_region(symbols, __start_hc_device_data,
                (size_t)(__stop_hc_device_data - __start_hc_device_data));
    mark(symbols, 0, symbols->bytes, true); /* a device variable starts as 0 */
}

void hc_check_shared_arena(const char *base) {
    if (hc_check.region[REGION_SHARED].base == (uintptr_t)base) return;
    make_region(&hc_check.region[REGION_SHARED], base, SHARED_ARENA + GUARD);
}

/* Host code may write managed memory unseen, so all of it counts as written. */
void hc_check_allocated(const hc_buffer *b) {
    if (b->space != HC_MANAGED) return;
    const hc_region *r = &hc_check.region[REGION_GLOBAL];
    mark(r, offset_in(r, b->start), offset_in(r, b->start) + b->bytes, true);
}

static void give_pages(void *from, size_t bytes) {
    uintptr_t low = ((uintptr_t)from + 4095) / 4096 * 4096;
    uintptr_t high = ((uintptr_t)from + bytes) / 4096 * 4096;
    if (high > low) madvise((void *)low, high - low, MADV_DONTNEED);
}

/* Its addresses may be given out again: nothing of it may be left. */
void hc_check_freed(const hc_buffer *b) {
    if (b->space == HC_PINNED) return;
    const hc_region *r = &hc_check.region[REGION_GLOBAL];
    size_t at = offset_in(r, b->pages);
    mark(r, at, at + b->page_bytes, false);
    give_pages(r->cells + at / CELL, b->page_bytes / CELL * CELL_BYTES);
}

void hc_check_forget_accesses(void) {
    for (int i = 0; i < REGIONS; i++) {
        const hc_region *r = &hc_check.region[i];
        if (r->cells) madvise(r->cells, r->bytes / CELL * CELL_BYTES, MADV_DONTNEED);
    }
}

/* ---- what the host's calls write ---- */

static bool in_global(const void *p) {
    return offset_in(&hc_check.region[REGION_GLOBAL], p) < hc_check.region[REGION_GLOBAL].bytes;
}

void hc_check_written(const void *p, size_t bytes) {
    const hc_region *r = &hc_check.region[REGION_GLOBAL];
    if (bytes && in_global(p)) mark(r, offset_in(r, p), offset_in(r, p) + bytes, true);
}

void hc_check_unwritten(const void *p, size_t bytes) {
    const hc_region *r = &hc_check.region[REGION_GLOBAL];
    mark(r, offset_in(r, p), offset_in(r, p) + bytes, false);
}

void hc_check_set(const void *p, size_t bytes) {
    hc_check_written(p, bytes);
    hc_check_work_set(p, bytes);
}

/* A copy within the device copies what is unwritten too. */
void hc_check_copied(const void *to, const void *from, size_t bytes) {
    const hc_region *r = &hc_check.region[REGION_GLOBAL];
    hc_check_work_copied(to, from, bytes);
    if (!bytes || !in_global(to)) return;
    if (!in_global(from)) {
        hc_check_written(to, bytes);
        return;
    }
    size_t out = offset_in(r, to), in = offset_in(r, from);
    if (out % 8 == 0 && in % 8 == 0) {
        memmove(r->ready + out / 8, r->ready + in / 8, bytes / 8);
        out += bytes / 8 * 8, in += bytes / 8 * 8, bytes %= 8;
    }
    for (size_t i = 0; i < bytes; i++) mark(r, out + i, out + i + 1, is_ready(r, in + i));
}

/* (Single bytes that nothing has written may be a struct's padding or a row's end.) */
bool hc_check_brings_nothing(const void *to, const void *from, size_t pitch, size_t width,
                             size_t height) {
    const hc_region *r = &hc_check.region[REGION_GLOBAL];
    if (!hc_check.races || in_global(to) || !in_global(from)) return false;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            if (is_ready(r, offset_in(r, from) + y * pitch + x)) return false;
    return true;
}

/* ---- a block's shared memory is fresh ---- */

void hc_check_shared_fresh(void) {
    hc_region *r = &hc_check.region[REGION_SHARED];
    static size_t highest; /* static arrays of any launch so far end there */
    size_t static_end, dynamic_start;
    hc_shared_extent(&static_end, &dynamic_start);
    if (static_end > highest) highest = static_end;
    memset(r->ready, 0, (highest + 7) / 8);
    memset(r->ready + dynamic_start / 8, 0, (SHARED_ARENA - dynamic_start) / 8);
}

typedef struct extent {
    size_t static_end, dynamic_start;
} extent;

size_t hc_check_shared_save(unsigned char *to) {
    const hc_region *r = &hc_check.region[REGION_SHARED];
    extent e;
    hc_shared_extent(&e.static_end, &e.dynamic_start);
    size_t fixed = (e.static_end + 7) / 8, dynamic = (SHARED_ARENA - e.dynamic_start) / 8;
    if (to) {
        memcpy(to, &e, sizeof e);
        memcpy(to + sizeof e, r->ready, fixed);
        memcpy(to + sizeof e + fixed, r->ready + e.dynamic_start / 8, dynamic);
    }
    return sizeof e + fixed + dynamic;
}

size_t hc_check_shared_restore(const unsigned char *from) {
    const hc_region *r = &hc_check.region[REGION_SHARED];
    extent e;
    memcpy(&e, from, sizeof e);
    size_t fixed = (e.static_end + 7) / 8, dynamic = (SHARED_ARENA - e.dynamic_start) / 8;
    memcpy(r->ready, from + sizeof e, fixed);
    memcpy(r->ready + e.dynamic_start / 8, from + sizeof e + fixed, dynamic);
    return sizeof e + fixed + dynamic;
}

/* ---- bytes whose ready bits are not all set ---- */

/* What usually leads to this index of an array of so many elements; 0: nobody knows how many. */
static const char *mistake_of(long index, long length) {
    if (length && index < 0)
        return "an index below 0: a border (i - 1, pad) that is not guarded, or a byte with a sign "
               "(char) as an index";
    if (length && index > length && index < 2 * length && hc_self)
        return "threads that should not take part: in a tree of halves only `if (threadIdx.x < "
               "half)` adds [threadIdx.x + half]; or the index counts in something longer than "
               "this array; of an array with rows each row has its own bounds";
    if (length && index > length)
        return "the index counts in something longer than this array, or a product of it is one "
               "factor too many; of an array with rows each row has its own bounds";
    return "a loop that runs one too far, or [threadIdx.x + 1] of the last thread; of an array "
           "with "
           "rows each row has its own bounds";
}

static const char *verb(const hc_access *a) {
    return a->kind & (ACCESS_WRITE | ACCESS_ATOMIC) ? "writes" : "reads";
}

void hc_check_fail_unwritten(const hc_access *a) {
    bool shared = a->region == &hc_check.region[REGION_SHARED];
    hc_text t;
    hc_check_message_begin(&t, "uninitialised", a->pc);
    hc_add(&t, "reads %s memory that nothing has written", shared ? "shared" : "global");
    hc_report_thread(&t);
    hc_check_message_where(&t, a);
    hc_report_likely(
        &t, shared ? "shared memory starts with any values: each element must be written before it "
                     "is read, in this block, with a __syncthreads() between"
                   : "cudaMalloc does not clear: cudaMemset or cudaMemcpy is missing, or the "
                     "kernel that should fill the buffer skips some elements; or it is a result, "
                     "read (as by +=) before it is written");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

static void global_not_ready(const hc_access *a) {
    const char *p = (const char *)a->address;
    const hc_buffer *b = hc_arena_find(p);
    bool alive = b && !b->freed, starts = alive && p >= b->start && p < b->start + b->bytes;
    if (!starts || p + a->bytes > b->start + b->bytes) {
        hc_text t;
        hc_check_tell_early(); /* an index that was read unwritten leads anywhere */
        /* An access that begins inside is reported by its first byte outside. */
        hc_fault_device(&t, starts ? b->start + b->bytes : p, verb(a), (void *)(a->pc - 1));
        hc_report_end(&t);
        hc_kernel_fail(cudaErrorIllegalAddress);
    }
}

static void shared_not_ready(const hc_access *a) {
    hc_shared_array array;
    size_t at = a->address - a->region->base;
    bool found = hc_shared_array_at(at, &array);
    if (!found || at + a->bytes > array.end) {
        hc_text t;
        hc_check_tell_early();
        hc_check_message_begin(&t, "out-of-bounds", a->pc);
        size_t first = found ? array.end : at;
        if (array.name && first == array.end)
            hc_add(&t, "%s right past the end of the __shared__ array %s (%zu bytes)", verb(a),
                   array.name, array.end - array.start);
        else if (array.name && first > array.end)
            hc_add(&t, "%s %zu bytes past the end of the __shared__ array %s (%zu bytes)", verb(a),
                   first - array.end, array.name, array.end - array.start);
        else if (array.name)
            hc_add(&t, "%s %zu bytes before the start of the __shared__ array %s", verb(a),
                   array.start - first, array.name);
        else
            hc_add(&t, "%s shared memory, but the block has none there", verb(a));
        bool dynamic = array.name && strcmp(array.name, HC_DYNAMIC_NAME) == 0;
        long element = (long)(array.name && array.element ? array.element : a->bytes);
        long length = array.name ? (long)(array.end - array.start) / element : 0;
        long index = array.name ? ((long)first - (long)array.start) / element : 0;
        if (array.name && first < array.start) index = -1;
        if (array.name)
            hc_add_element(&t, array.name, dynamic ? 0 : (int)strlen(array.name),
                           array.element ? array.element : a->bytes, array.row,
                           (long)first - (long)array.start, array.end - array.start);
        hc_report_thread(&t);
        hc_report_likely(&t, dynamic ? "the third launch argument is the array's size in bytes: "
                                       "n * sizeof(float)"
                                     : mistake_of(index, length));
        hc_report_end(&t);
        hc_kernel_fail(cudaErrorIllegalAddress);
    }
}

void hc_check_misaligned(const hc_access *a) {
    if (a->address < 1 << 16) return; /* null: fault.c */
    hc_text t;
    hc_check_message_begin(&t, "misaligned-address", a->pc);
    hc_add(&t, "an access of %u bytes at an address that is not a multiple of %u", a->bytes,
           a->bytes);
    hc_report_thread(&t);
    hc_report_likely(&t, "float4 needs a multiple of 16 bytes: 4 floats; an odd row length breaks "
                         "it");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorMisalignedAddress);
}

void hc_check_beyond(hc_site at, const char *type, long index) {
    if (!hc_self && !hc_check.guarded) return;
    hc_text t;
    hc_report_begin(&t, hc_self ? "out-of-bounds" : "host-access", at.file, at.line);
    const char *own = type ? strstr(type, "(aka ") : NULL; /* clang: 'T[9]' (aka 'float[9]') */
    if (own) type = own + 5;
    const char *length = type ? strchr(type, '[') : NULL;
    if (length)
        hc_add(&t, "an index leads out of its array: [%ld] of %d, in one of type %.*s", index,
               atoi(length + 1), (int)(strlen(type) - (own != NULL)), type);
    else
        hc_add(&t, "an index or a pointer leads out of the variable that it began in");
    if (hc_self) hc_report_thread(&t);
    hc_report_likely(&t, mistake_of(index, length ? atoi(length + 1) : 0));
    hc_report_end(&t);
    if (!hc_self) abort();
    hc_kernel_fail(cudaErrorIllegalAddress);
}

/* Some byte of the access is no part of a buffer or was never written. Writing makes it ready. */
void hc_check_not_ready(const hc_access *a) {
    if (a->region == &hc_check.region[REGION_SHARED])
        shared_not_ready(a);
    else
        global_not_ready(a);
    if (!(a->kind & ACCESS_WRITE)) {
        hc_check_early(a);
        return;
    }
    size_t at = a->address - a->region->base;
    mark(a->region, at, at + a->bytes, true);
}

/* ---- memory without shadow ---- */

static bool within(uintptr_t p, const void *from, size_t bytes) {
    return p - (uintptr_t)from < bytes;
}

/* Nothing is mapped there, or only shadow memory. */
static bool is_wild(uintptr_t p) {
    for (int i = 0; i < REGIONS; i++) {
        const hc_region *r = &hc_check.region[i];
        if (within(p, r->cells, r->bytes / CELL * CELL_BYTES) || within(p, r->ready, r->bytes / 8))
            return true;
    }
    unsigned char there;
    return mincore((void *)(p / 4096 * 4096), 1, &there) != 0;
}

/* Static variables of kernels. They have no shadow: their races are not seen. */
static struct {
    const void *start;
    size_t bytes;
} * statics;
static size_t static_count;

static bool is_static(uintptr_t p) {
    for (size_t i = 0; i < static_count; i++)
        if (within(p, statics[i].start, statics[i].bytes)) return true;
    return false;
}

void hc_check_static(const void *variable, size_t bytes) {
    if (is_static((uintptr_t)variable)) return;
    statics = realloc(statics, (static_count + 1) * sizeof *statics);
    if (!statics) abort();
    statics[static_count].start = variable;
    statics[static_count++].bytes = bytes;
}

/* True for what a kernel may touch although it is not device memory: its own stack, its launch's
 * arguments, what the runtime keeps for it, constants of the module, page-locked memory. */
bool hc_check_elsewhere(const hc_access *a) {
    const hc_worker *w = hc_self;
    const hc_launch *l = w->launch;
    uintptr_t p = a->address;
    bool writes = a->kind & (ACCESS_WRITE | ACCESS_ATOMIC);
    if (!writes &&
        (within(p, &threadIdx, sizeof threadIdx) || within(p, &blockIdx, sizeof blockIdx) ||
         within(p, &blockDim, sizeof blockDim) || within(p, &gridDim, sizeof gridDim) ||
         within(p, l->arguments, l->argument_bytes) ||
         within(p, &hc_shared_base, sizeof hc_shared_base) ||
         within(p, &hc_shared_launch, sizeof hc_shared_launch)))
        return true;
    if (hc_check_is_constant(p)) return !writes;
    if (writes) hc_check_work_to_host(a->bytes); /* it can read both */
    if (is_static(p)) return true;
    hc_buffer *b;
    hc_space space = hc_space_of((void *)p, &b);
    if (space == HC_SYMBOL) return true;
    if (space == HC_PINNED && (char *)p + a->bytes <= b->start + b->bytes) return true;
    hc_text t;
    for (int i = 0; i < w->stacks.count; i++) {
        if (!within(p, w->stacks.all[i].low, STACK_BYTES)) continue;
        hc_check_message_begin(&t, "foreign-local", a->pc);
        hc_add(&t, "%s a local variable of another thread", verb(a));
        hc_report_thread(&t);
        hc_report_likely(&t, "a pointer to a local variable was kept in shared or global memory; "
                             "each thread has its own local memory");
        hc_report_end(&t);
        hc_kernel_fail(cudaErrorIllegalAddress);
    }
    hc_check_tell_early();
    if (p < 1 << 16 || space == HC_GUARD) return true; /* the access itself faults: fault.c */
    if (is_wild(p)) {
        hc_check_message_begin(&t, "wild-pointer", a->pc);
        hc_add(&t, "%s at %p, which is no device memory", verb(a), (void *)p);
        hc_report_thread(&t);
        hc_report_likely(&t, "an index far outside (a negative one as a size_t, an int that "
                             "overflowed), or a pointer never set");
        hc_report_end(&t);
        hc_kernel_fail(cudaErrorIllegalAddress);
    }
    hc_check_message_begin(&t, "host-pointer", a->pc);
    hc_add(&t, "%s host memory at %p", verb(a), (void *)p);
    hc_report_thread(&t);
    hc_report_likely(&t, "a host pointer came in a struct or through device memory, or the kernel "
                         "uses a host variable: give it the pointer of cudaMalloc, or make the "
                         "variable __device__ or __constant__");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorIllegalAddress);
}
