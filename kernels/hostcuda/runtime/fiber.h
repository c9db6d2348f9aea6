/* fiber.h: the switch between the stacks of two CUDA threads.
 *
 * Inline on x86-64: `call` and `ret` stay paired, so a switch costs no mispredicted return. The
 * compiler saves what it needs, because every register is named as lost; only the frame pointer and
 * the resume address go to the stack. Other machines use ucontext, about 20 times slower. */
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

/* Saves this context in *from and continues `to`. The red zone (128 bytes) is stepped over. */
static inline void hc_switch(void **from, void *to) {
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "movq %%rsp, (%%rdi)\n\t"
                     "movq %%rsi, %%rsp\n\t"
                     "popq %%rax\n\t"
                     "jmpq *%%rax\n"
                     "1:\tpopq %%rbp\n\t"
                     "leaq 128(%%rsp), %%rsp\n\t"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
                       "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
                       "memory", "cc");
}

/* A context that enters `run` on the stack [low, low + bytes). It must never return. `colour` moves
 * the top by whole cache lines: stacks at equal page offsets would all compete for the same sets.
 */
static inline void *hc_context(char *low, unsigned long bytes, int colour, void (*run)(void)) {
    void **top = (void **)(low + bytes - 64 * (unsigned long)(colour * 9 % 48)) - 1;
    top[0] = 0; /* where `run` would return to: the end of every backtrace; aligned as by a call */
    *--top = (void *)run;
    return top;
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
