/* fiber.h: the switch between the stacks of two CUDA threads.
 *
 * Inline on x86-64: `call` and `ret` stay paired, so a switch costs no mispredicted return. The
 * compiler saves what it needs, because every register is named as lost. Other machines use
 * ucontext, about 20 times slower. */
#ifndef HOSTCUDA_FIBER_H
#define HOSTCUDA_FIBER_H

#if defined(__SANITIZE_ADDRESS__)
#define HC_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HC_ASAN 1
#endif
#endif

#if defined(__x86_64__) && !defined(HOSTCUDA_UCONTEXT)

/* What a suspended thread resumes with; it lies in the frame of hc_switch's caller, next to what
 * the compiler saves there: every cache line that a switch touches is touched by 1,024 threads. */
typedef struct hc_frame {
    void *resume, *base, *stack;
} hc_frame;

/* Saves this context in *from and continues `to`, which finds its own frame in rsi. */
static inline void hc_switch(void **from, void *to) {
    hc_frame here, *frame = &here;
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rax, (%%rcx)\n\t"
                     "movq %%rbp, 8(%%rcx)\n\t"
                     "movq %%rsp, 16(%%rcx)\n\t"
                     "movq %%rcx, (%%rdi)\n\t"
                     "movq 16(%%rsi), %%rsp\n\t"
                     "jmpq *(%%rsi)\n"
                     "1:\tmovq 8(%%rsi), %%rbp\n\t"
                     : "+D"(from), "+S"(to), "+c"(frame)
                     :
                     : "rax", "rbx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory",
                       "cc");
}

/* A context that enters `run` on the stack [low, low + bytes). It must never return. `colour` moves
 * the top by whole cache lines: stacks at equal page offsets would all compete for the same sets.
 */
static inline void *hc_context(char *low, unsigned long bytes, int colour, void (*run)(void)) {
    char *top = low + bytes - 64 * (unsigned long)(colour * 9 % 48) - sizeof(hc_frame);
    hc_frame *frame = (hc_frame *)top;
    void **stack = (void **)(((unsigned long)top & ~15ul) - 8); /* aligned as by a call */
    *stack = 0; /* where `run` would return to: the end of every backtrace */
    *frame = (hc_frame){(void *)run, 0, stack};
    return frame;
}

#else
#include <stdlib.h>
#include <ucontext.h>

static inline void hc_switch(void **from, void *to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, (ucontext_t *)to);
}

static inline void *hc_context(char *low, unsigned long bytes, int colour, void (*run)(void)) {
    (void)colour;
    ucontext_t *context = (ucontext_t *)low; /* the stack's lowest bytes hold its first context */
    unsigned long head = (sizeof *context + 63) / 64 * 64;
    getcontext(context);
    context->uc_stack.ss_sp = low + head;
    context->uc_stack.ss_size = bytes - head;
    context->uc_link = 0;
    makecontext(context, run, 0);
    return context;
}
#endif
#endif
