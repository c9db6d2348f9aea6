/* shared.c: __shared__ memory. Each worker has one arena that ends at a guard page:
 *
 *     | static arrays, each followed by canary bytes |  ...  | dynamic array | guard page |
 *
 * A __shared__ variable gets its offset when a launch first meets it. The used part is filled with
 * 0xff (NaN as a float) before each block, so that reading before writing shows. */
#define _GNU_SOURCE
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARENA = 256 * 1024, PAGE = 4096, ARRAYS_MAX = 64, CANARY = 0xc5, FRESH = 0xff };

__thread char *hc_shared_base;
__thread uint64_t hc_shared_launch;

/* The arrays of the running launch; one launch runs at a time. */
static hc_shared_array arrays[ARRAYS_MAX]; /* SHARED_GAP canary bytes follow each */
static int array_count;
static size_t static_used, dynamic_used;
static uint64_t laid_out; /* launch number << 24 that the table belongs to */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    const void *entry;
    size_t limit;
} limits[1024];
static int limit_count;

/* What cudaFuncSetAttribute granted to this kernel, else the usual 48 KB. */
static size_t limit_of(const void *entry) {
    for (int i = 0; i < limit_count; i++)
        if (limits[i].entry == entry) return limits[i].limit;
    return SHARED_STATIC_MAX;
}

/* Which kernel a deduced launch reaches, its caller does not know: what any was granted will do. */
static size_t room_of(const hc_launch *launch) {
    size_t room = limit_of(launch->entry);
    for (int i = 0; i < limit_count && launch->deduced; i++)
        if (limits[i].limit > room) room = limits[i].limit;
    return room;
}

cudaError_t hc_shared_limit(const hc_launch *launch) {
    return launch->dynamic_shared <= room_of(launch) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t hc_FuncSetAttributeOf(const void *kernel, enum cudaFuncAttribute attribute, int value,
                                  const char *file, int line) {
    if (!kernel) return hc_fail(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > SHARED_MAX) {
        hc_complain("shared-too-large", file, line, "use smaller tiles",
                    "%d bytes of dynamic shared memory asked for; a block has at most %d", value,
                    SHARED_MAX);
        return hc_fail(cudaErrorInvalidValue);
    }
    int i = 0;
    while (i < limit_count && limits[i].entry != kernel) i++;
    if (i == (int)(sizeof limits / sizeof *limits)) return hc_fail(cudaErrorLaunchOutOfResources);
    if (i == limit_count) limit_count++;
    limits[i].entry = kernel;
    limits[i].limit = (size_t)(value > SHARED_STATIC_MAX ? value : SHARED_STATIC_MAX);
    return cudaSuccess;
}

cudaError_t hc_FuncGetAttributesOf(cudaFuncAttributes *attributes, const void *kernel,
                                   const char *file, int line) {
    (void)file, (void)line;
    if (!kernel || !attributes) return hc_fail(cudaErrorInvalidDeviceFunction);
    *attributes = (cudaFuncAttributes){.maxThreadsPerBlock = THREADS_MAX,
                                       .numRegs = 32,
                                       .ptxVersion = 75,
                                       .binaryVersion = 75,
                                       .maxDynamicSharedSizeBytes = (int)limit_of(kernel)};
    return cudaSuccess;
}

void hc_shared_prepare(hc_worker *w, hc_launch *launch, uint64_t number) {
    if (!w->shared) {
        char *base =
            mmap(NULL, ARENA + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED || mprotect(base + ARENA, PAGE, PROT_NONE) != 0) {
            fprintf(stderr, "hostcuda: no memory for __shared__\n");
            abort();
        }
        memset(base, CANARY, ARENA);
        w->shared = base;
    }
    hc_check_shared_arena(w->shared);
    hc_shared_base = w->shared;
    hc_shared_launch = number << 24;
    pthread_mutex_lock(&lock);
    if (laid_out != hc_shared_launch) {
        laid_out = hc_shared_launch;
        array_count = 0;
        static_used = 0;
    }
    dynamic_used = launch->dynamic_shared;
    pthread_mutex_unlock(&lock);
    w->shared_used = 0;
}

void *hc_dynamic_shared(void) {
    return hc_shared_base ? hc_shared_base + ARENA - (dynamic_used + 15) / 16 * 16 : NULL;
}

static void too_large(hc_shared_site *site, const char *name, size_t bytes) {
    (void)site;
    hc_worker *w = hc_self;
    hc_text t;
    hc_report_begin(&t, "shared-too-large", w->launch->site.file, w->launch->site.line);
    hc_add(&t,
           "__shared__ %s needs %zu bytes; with it the kernel has more than %d bytes of static "
           "shared memory",
           name, bytes, SHARED_STATIC_MAX);
    hc_report_thread(&t);
    hc_report_likely(&t, "nvcc refuses this; use a smaller tile, or extern __shared__ with "
                         "cudaFuncSetAttribute");
    hc_report_end(&t);
    pthread_mutex_unlock(&lock);
    hc_kernel_fail(cudaErrorInvalidValue);
}

/* Each alone would do. */
static void too_large_together(const hc_launch *l, const char *name, size_t bytes) {
    hc_text t;
    hc_report_begin(&t, "shared-too-large", l->site.file, l->site.line);
    hc_add(&t,
           "%zu bytes of static shared memory (the last of it is %s) and %zu of dynamic: together "
           "more than the kernel's %zu",
           bytes, name, dynamic_used, room_of(l));
    hc_report_thread(&t);
    hc_report_likely(&t, "use smaller tiles, or ask for more with cudaFuncSetAttribute(kernel, "
                         "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)");
    hc_report_end(&t);
    pthread_mutex_unlock(&lock);
    hc_kernel_fail(cudaErrorInvalidValue);
}

void *hc_shared_place(hc_shared_site *site, size_t bytes, size_t align, const char *name) {
    hc_worker *w = hc_self;
    if (!w || !w->in_kernel)
        abort(); /* host code called a __device__ function that has __shared__ */
    pthread_mutex_lock(&lock);
    uint64_t place = __atomic_load_n(&site->place, __ATOMIC_RELAXED);
    if ((place ^ hc_shared_launch) >> 24 != 0) {
        size_t unit = align > 16 ? align : 16, at = (static_used + unit - 1) / unit * unit;
        size_t data = at + bytes - SHARED_GAP * (size_t)array_count;
        if (data > SHARED_STATIC_MAX || array_count == ARRAYS_MAX) too_large(site, name, bytes);
        if (data + dynamic_used > room_of(w->launch)) too_large_together(w->launch, name, data);
        static_used = at + bytes + SHARED_GAP;
        arrays[array_count++] =
            (hc_shared_array){at, at + bytes, name, site->element, site->row};
        place = hc_shared_launch | at;
        __atomic_store_n(&site->place, place, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    /* Another worker may have placed it: this worker's bytes are still to be made fresh. */
    if (w->shared_used < static_used) hc_shared_fill(w);
    return hc_shared_base + (place & 0xffffff);
}

bool hc_shared_array_at(size_t offset, hc_shared_array *array) {
    size_t dynamic_start = ARENA - (dynamic_used + 15) / 16 * 16;
    *array = (hc_shared_array){0};
    if (dynamic_used)
        *array =
            (hc_shared_array){dynamic_start, dynamic_start + dynamic_used, HC_DYNAMIC_NAME, 0, 0};
    if (offset < dynamic_start || !dynamic_used) {
        for (int i = 0; i < array_count; i++)
            if (offset >= arrays[i].start || i == 0) *array = arrays[i];
    }
    return array->name && offset >= array->start && offset < array->end;
}

void hc_shared_extent(size_t *static_end, size_t *dynamic_start) {
    *static_end = static_used;
    *dynamic_start = ARENA - (dynamic_used + 15) / 16 * 16;
}

void *hc_shared_find(hc_shared_site *site, size_t bytes, size_t align, const char *name) {
    if ((site->place ^ hc_shared_launch) >> 24 == 0)
        return hc_shared_base + (site->place & 0xffffff);
    return hc_shared_place(site, bytes, align, name);
}

/* Fresh bytes in the arrays, canaries between them. In a launch's first block an array appears in
 * mid-run: then only what lies beyond the arrays known so far is filled. */
void hc_shared_fill(hc_worker *w) {
    bool midway = w->in_kernel;
    if (!hc_options_get()->checks) {
        w->shared_used = static_used;
        return;
    }
    if (!midway && dynamic_used) {
        size_t space = (dynamic_used + 15) / 16 * 16;
        memset(w->shared + ARENA - space, FRESH, space);
    }
    if (static_used == 0) return;
    pthread_mutex_lock(&lock);
    size_t from = midway ? w->shared_used : 0;
    memset(w->shared + from, FRESH, static_used - from);
    for (int i = 0; i < array_count; i++)
        if (arrays[i].end >= from) memset(w->shared + arrays[i].end, CANARY, SHARED_GAP);
    w->shared_used = static_used;
    pthread_mutex_unlock(&lock);
}

typedef struct saved {
    size_t static_bytes, dynamic_start;
    char bytes[];
} saved;

void *hc_shared_save(const hc_worker *w) {
    size_t fixed = static_used, dynamic_start = ARENA - (dynamic_used + 15) / 16 * 16;
    saved *s = malloc(sizeof *s + fixed + ARENA - dynamic_start);
    if (!s) abort();
    s->static_bytes = fixed, s->dynamic_start = dynamic_start;
    memcpy(s->bytes, w->shared, fixed);
    memcpy(s->bytes + fixed, w->shared + dynamic_start, ARENA - dynamic_start);
    return s;
}

/* Arrays that other blocks have named meanwhile are fresh for this one. */
void hc_shared_restore(hc_worker *w, const void *from) {
    const saved *s = from;
    hc_shared_fill(w);
    memcpy(w->shared, s->bytes, s->static_bytes);
    memcpy(w->shared + s->dynamic_start, s->bytes + s->static_bytes, ARENA - s->dynamic_start);
}

/* After a block: is every canary alive? */
bool hc_shared_check(hc_worker *w) {
    if (!hc_options_get()->checks) return true;
    char intact[SHARED_GAP];
    memset(intact, CANARY, sizeof intact);
    for (int i = 0; i < array_count && arrays[i].end < w->shared_used; i++) {
        if (memcmp(w->shared + arrays[i].end, intact, SHARED_GAP) == 0) continue;
        hc_text t;
        hc_report_begin(&t, "out-of-bounds", w->launch->site.file, w->launch->site.line);
        hc_add(&t, "the block wrote past the end of its __shared__ array %s", arrays[i].name);
        hc_report_thread(&t);
        hc_report_likely(&t, "an index that reaches the array's length, such as [threadIdx.x + 1] "
                             "in an array of blockDim.x elements");
        hc_report_end(&t);
        return false;
    }
    return true;
}

bool hc_shared_guard_hit(const hc_worker *w, const void *address) {
    const char *p = address;
    return w->shared && p >= w->shared + ARENA && p < w->shared + ARENA + PAGE;
}
