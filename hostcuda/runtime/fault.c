/* fault.c: signals. A fault within a kernel is named and ends the kernel, not the program; host
 * code that touches device memory is named and ends as any segmentation fault does. */
#define _GNU_SOURCE
#include "internal.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIGNAL_STACK = 256 * 1024, FRAMES = 24, NULL_PAGES = 1 << 16 };

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, HC_WATCHDOG_SIGNAL};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

static void *program_counter(const ucontext_t *u) {
#if defined(__x86_64__)
    return (void *)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)u->uc_mcontext.pc;
#else
    (void)u;
    return NULL;
#endif
}

static bool is_write(const ucontext_t *u) {
#if defined(__x86_64__)
    return u->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)u;
    return false;
#endif
}

/* The faulting instruction and the calls that led to it. */
static bool source_of(void *pc, hc_source *source) {
    void *frames[FRAMES], *pcs[FRAMES + 1];
    int count = backtrace(frames, FRAMES), from = 0, n = 0;
    for (int i = 0; i < count; i++)
        if (frames[i] == pc) from = i + 1;
    pcs[n++] = pc;
    for (int i = from; i < count; i++) pcs[n++] = frames[i];
    return hc_source_of(pcs, n, source);
}

static void begin(hc_text *t, const char *kind, void *pc) {
    hc_source source = {.file = "?"};
    bool known = source_of(pc, &source);
    hc_report_begin(t, kind, source.file, source.line);
    if (!known)
        hc_add(t, "(no line: compile with -g, or addr2line -e MODULE %s) ", source.function);
}

static void add_buffer(hc_text *t, const hc_buffer *b) {
    hc_add(t, "\n    buffer   %zu bytes, allocated at %s:%d", b->bytes, b->allocated.file,
           b->allocated.line);
    if (b->freed) hc_add(t, ", freed at %s:%d", b->released.file, b->released.line);
}

/* Past the end: a missing guard, if the thread's number in a row of threads is that of the element
 * (or is that but for whole turns of the grid), whatever the size of an element; otherwise an index
 * that is none of this array's is as likely. */
static const char *mistake_past(size_t offset) {
    static const char guard[] =
        "more threads than this array has elements, and this one has none: guard with "
        "`if (i < n)`, n being its length; or the allocation is in elements, not bytes";
    const hc_launch *l = hc_self && hc_self->in_kernel ? hc_self->launch : NULL;
    size_t threads = l ? (size_t)l->grid.x * l->block.x : 0;
    bool in_row = l && l->grid.y * l->grid.z * l->block.y * l->block.z == 1;
    for (size_t element = 4; in_row && element <= 8; element += 4)
        if (offset % element == 0 &&
            offset / element % threads == (size_t)blockIdx.x * l->block.x + threadIdx.x)
            return guard;
    return "an index that is not this array's (another one's, or of the wrong row or length); or a "
           "thread that has no element here: guard with `if`, in each direction; or the allocation "
           "is in elements, not bytes";
}

static void describe_place(hc_text *t, const char *p, const char *verb, void *pc) {
    hc_buffer *b = hc_arena_find(p);
    if (b && b->freed && p < b->pages + b->page_bytes) {
        begin(t, "use-after-free", pc);
        hc_add(t, "%s device memory that was freed", verb);
        hc_report_thread(t);
        add_buffer(t, b);
        hc_report_likely(t,
                         "cudaFree came before the last kernel that uses the buffer, or a copy of "
                         "the pointer was kept");
        return;
    }
    b = hc_arena_nearest(p);
    begin(t, "out-of-bounds", pc);
    if (!b) {
        hc_add(t, "%s device memory where no buffer is", verb);
        hc_report_thread(t);
        return;
    }
    long past = (long)(p - (b->start + b->bytes)),
         distance = past >= 0 ? past : (long)(b->start - p);
    if (distance == 0)
        hc_add(t, "%s right past the end of a buffer", verb);
    else
        hc_add(t, "%s %ld bytes %s of a buffer", verb, distance,
               past > 0 ? "past the end" : "before the start");
    hc_add_buffer_element(t, b, (long)(p - b->start));
    hc_report_thread(t);
    add_buffer(t, b);
    hc_report_likely(t, past >= 0 ? mistake_past((size_t)(p - b->start))
                                  : "an index below 0: a border (i - 1, pad) that is not "
                                    "guarded, or a byte with a sign (char) as an index");
}

/* Where in or beside which buffer, in words; and what usually leads there. */
void hc_fault_device(hc_text *t, const char *p, const char *verb, void *pc) {
    hc_heap_lock(); /* other workers may allocate */
    describe_place(t, p, verb, pc);
    hc_heap_unlock();
}

static cudaError_t kernel_fault(hc_text *t, int number, const siginfo_t *info,
                                const ucontext_t *u) {
    const hc_worker *w = hc_self;
    const char *p = info->si_addr, *verb = is_write(u) ? "writes" : "reads";
    void *pc = program_counter(u);
    if (number == SIGFPE) {
        begin(t, "division-by-zero", pc);
        hc_add(t, "an integer is divided by 0");
        hc_report_thread(t);
        hc_report_likely(t, "a GPU gives no error here but a meaningless number");
        return cudaErrorLaunchFailure;
    }
    if (number == SIGILL) {
        begin(t, "trap", pc);
        hc_add(t, "an illegal instruction (a trap)");
        hc_report_thread(t);
        return cudaErrorIllegalInstruction;
    }
    if (hc_stack_guard_hit(&w->stacks, p)) {
        begin(t, "stack-overflow", pc);
        hc_add(t, "a thread's local variables need more than %d KB", STACK_BYTES / 1024);
        hc_report_thread(t);
        hc_report_likely(t, "a large local array, or a recursion without end");
    } else if (hc_shared_guard_hit(w, p)) {
        begin(t, "out-of-bounds", pc);
        hc_add(t, "%s past the end of the dynamic __shared__ array (%zu bytes)", verb,
               w->launch->dynamic_shared);
        hc_report_thread(t);
        hc_report_likely(
            t, "the third launch argument is the array's size in bytes: n * sizeof(float)");
    } else if (hc_arena_holds(p)) {
        hc_fault_device(t, p, verb, pc);
    } else if ((size_t)p == 0 && info->si_code > 0 && info->si_code == SI_KERNEL) {
        begin(t, "misaligned-address", pc);
        hc_add(
            t,
            "a vector access at an address that is not a multiple of its size, or a wild pointer");
        hc_report_thread(t);
        hc_report_likely(
            t, "float4 needs a multiple of 16 bytes: 4 floats; an odd row length breaks it");
        return cudaErrorMisalignedAddress;
    } else if ((size_t)p < NULL_PAGES) {
        begin(t, "null-pointer", pc);
        hc_add(t, "%s through a null pointer", verb);
        hc_report_thread(t);
        hc_report_likely(t,
                         "the argument is NULL: cudaMalloc failed or was never called for it; or "
                         "it may be NULL, and nobody has asked");
    } else {
        begin(t, "wild-pointer", pc);
        hc_add(t, "%s at %p, which is no device memory", verb, (const void *)p);
        hc_report_thread(t);
        hc_report_likely(t, "an index far outside (a negative one as a size_t, an int that "
                            "overflowed), or a pointer never set");
    }
    return cudaErrorIllegalAddress;
}

static void host_fault(const char *p, const ucontext_t *u) {
    hc_text t;
    hc_buffer *b = hc_arena_nearest(p);
    begin(&t, "host-dereference", program_counter(u));
    hc_add(&t, "host code %s device memory", is_write(u) ? "writes" : "reads");
    if (b) add_buffer(&t, b);
    hc_report_likely(&t, "copy first: cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost)");
    hc_report_end(&t);
}

/* Back to whoever handled this signal before us; the instruction then faults again. */
static void hand_on(int number) {
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == number) sigaction(number, &before[i], NULL);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    hc_worker *w = hc_self;
    const ucontext_t *u = context;
    if (number == HC_WATCHDOG_SIGNAL) {
        if (w && w->in_kernel) hc_watchdog_signal(program_counter(u));
        return;
    }
    if (w && w->in_kernel) {
        if (hc_watchdog_probe(w, info->si_addr, is_write(u))) return;
        hc_text t;
        cudaError_t error = kernel_fault(&t, number, info, u);
        hc_report_end(&t);
        hc_kernel_fail(error);
    }
    bool memory = number == SIGSEGV || number == SIGBUS;
    if (memory && hc_arena_holds(info->si_addr)) host_fault(info->si_addr, u);
    hand_on(number);
}

void hc_fault_thread(void) {
    static __thread bool done;
    if (done) return;
    done = true;
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE) && now.ss_size >= SIGNAL_STACK)
        return;
    void *stack =
        mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack != MAP_FAILED) sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = SIGNAL_STACK}, NULL);
}

void hc_fault_install(void) {
    void *frame;
    backtrace(&frame, 1); /* loads the unwinder now: in a signal handler it would be too late */
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &action, &before[i]);
}

void hc_assert_failed(const char *text, const char *file, int line, const char *function) {
    if (!hc_self || !hc_self->in_kernel) {
        fprintf(stderr, "%s:%d: %s: Assertion `%s' failed.\n", file, line, function, text);
        abort();
    }
    hc_text t;
    hc_report_begin(&t, "assert", file, line);
    hc_add(&t, "%s: assertion `%s` failed", function, text);
    hc_report_thread(&t);
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorAssert);
}

void hc_trap(const char *file, int line) {
    if (!hc_self || !hc_self->in_kernel) abort();
    hc_text t;
    hc_report_begin(&t, "trap", file, line);
    hc_add(&t, "__trap() was called");
    hc_report_thread(&t);
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorIllegalInstruction);
}
