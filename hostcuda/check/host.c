/* host.c: what a student's host code may touch while an operation of theirs is called: its own
 * stack, its file's variables, and page-locked or managed memory; reading alone, what a program
 * has of constants and variables, and the stack above. Counters, the arrays of the call and all
 * else of the process are no business of its: an access to them ends the program.
 *
 * Hooks see the accesses of the code itself; range() in hooks.c those of memcpy and its kin;
 * copy.c and memory.c ask for what the runtime writes in the name of its caller. */
#define _GNU_SOURCE
#include "check.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IMAGES = 64, PAGE = 4096, STACK_MOST = 256 << 20 };
static struct {
    uintptr_t frame; /* of who called the operation: what lies above is not the student's */
    uintptr_t stack_low, stack_end; /* of this thread */
    struct {
        uintptr_t from, to;
    } image[IMAGES];
    int images;
} host;

/* objcopy gives these names to the .data and .bss of what is compiled with hooks. */
extern char __start_hc_host_data[] __attribute__((weak, visibility("hidden")));
extern char __stop_hc_host_data[] __attribute__((weak, visibility("hidden")));
extern char __start_hc_host_bss[] __attribute__((weak, visibility("hidden")));
extern char __stop_hc_host_bss[] __attribute__((weak, visibility("hidden")));

static int note_image(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum && host.images < IMAGES; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type != PT_LOAD) continue;
        host.image[host.images].from = info->dlpi_addr + h->p_vaddr;
        host.image[host.images++].to = info->dlpi_addr + h->p_vaddr + h->p_memsz;
    }
    return 0;
}

/* The first thread's stack ends behind the name of its program, as the kernel lays it out; the C
 * library would read /proc, which a worker in a tree of its own has not. */
static void set_up(void) {
    struct rlimit limit;
    const char *name = (const char *)getauxval(AT_EXECFN);
    if (getpid() == gettid() && name && getrlimit(RLIMIT_STACK, &limit) == 0) {
        size_t bytes = limit.rlim_cur < STACK_MOST ? limit.rlim_cur : STACK_MOST;
        host.stack_end = ((uintptr_t)name + strlen(name) + PAGE) / PAGE * PAGE;
        host.stack_low = host.stack_end - bytes;
    } else {
        pthread_attr_t about;
        void *low;
        size_t bytes;
        if (pthread_getattr_np(pthread_self(), &about) != 0 ||
            pthread_attr_getstack(&about, &low, &bytes) != 0)
            abort();
        pthread_attr_destroy(&about);
        host.stack_low = (uintptr_t)low;
        host.stack_end = (uintptr_t)low + bytes;
    }
    dl_iterate_phdr(note_image, NULL);
}

void hc_check_guard(const void *frame) {
    if (frame && !host.images) set_up();
    host.frame = (uintptr_t)frame;
    hc_check.guarded = frame != NULL;
}

static bool inside(uintptr_t p, size_t n, uintptr_t from, uintptr_t to) {
    return p >= from && p <= to && n <= to - p;
}

static bool between(uintptr_t p, size_t n, const char *from, const char *to) {
    return from && inside(p, n, (uintptr_t)from, (uintptr_t)to);
}

/* Variables of the device lie in an image, too. (A GPU's are elsewhere.) */
static bool in_image(uintptr_t p, size_t n) {
    if (hc_space_of((void *)p, NULL) != HC_HOST ||
        hc_space_of((void *)(p + n - 1), NULL) != HC_HOST)
        return false;
    for (int i = 0; i < host.images; i++)
        if (inside(p, n, host.image[i].from, host.image[i].to)) return true;
    return false;
}

static bool may(uintptr_t p, size_t n, unsigned kind, uintptr_t frames) {
    bool writes = kind & (ACCESS_WRITE | ACCESS_ATOMIC);
    if (inside(p, n, frames, writes ? host.frame : host.stack_end)) return true;
    if (between(p, n, __start_hc_host_data, __stop_hc_host_data) ||
        between(p, n, __start_hc_host_bss, __stop_hc_host_bss))
        return true;
    hc_buffer *b;
    hc_space space = hc_space_of((void *)p, &b);
    if ((space == HC_PINNED || space == HC_MANAGED) && b && !b->freed)
        return between(p, n, b->start, b->start + b->bytes);
    return !writes && in_image(p, n);
}

static __attribute__((noreturn)) void end(hc_text *t, uintptr_t p, size_t n, unsigned kind) {
    hc_add(t, "host code %s %zu bytes at %p, which are none of its own",
           kind & (ACCESS_WRITE | ACCESS_ATOMIC) ? "writes" : "reads", n, (void *)p);
    hc_report_likely(t, "a pointer that was never set, or an index outside of a local array; an "
                        "operation reads and writes its arrays in kernels, and on the host only "
                        "its own variables");
    hc_report_end(t);
    abort();
}

/* (the access of closed device memory or of a null pointer faults by itself: fault.c) */
void hc_check_host(uintptr_t p, size_t n, unsigned kind, uintptr_t pc, uintptr_t frames) {
    bool faults = p < 1 << 16 || (hc_arena_holds((void *)p) && !hc_arena_is_open());
    if (n == 0 || may(p, n, kind, frames) || faults) return;
    hc_text t;
    hc_check_message_begin(&t, "host-access", pc);
    end(&t, p, n, kind);
}

void hc_check_host_call(const void *p, size_t bytes, bool writes, hc_site at) {
    unsigned kind = writes ? ACCESS_WRITE : ACCESS_READ;
    if (!hc_check.guarded || !bytes || may((uintptr_t)p, bytes, kind, hc_check_frame())) return;
    hc_text t;
    hc_report_begin(&t, "host-access", at.file, at.line);
    end(&t, (uintptr_t)p, bytes, kind);
}

/* (so a copy that comes later than the function whose variable it was to fill is told) */
bool hc_check_guarded_stack(const void *p) {
    return hc_check.guarded && inside((uintptr_t)p, 1, host.stack_low, host.stack_end);
}
bool hc_check_guarded_still(const void *p) {
    return hc_check.guarded && (uintptr_t)p >= hc_check_frame();
}
