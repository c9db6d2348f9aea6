/* fiber.h: the switch between the stacks of two CUDA threads.
 *
 * On x86-64 it is inline (hostcuda/switch.h). Others use ucontext, about 20 times slower. */
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

#include "hostcuda/switch.h"

/* A barrier leads back to its kernel, which switches there; told of it are a sanitizer and CHECK=1,
 * and those are told here. */
#if defined(HC_ASAN) || defined(HOSTCUDA_CHECK)
enum { SWITCH_IN_KERNEL = 0 };
#else
enum { SWITCH_IN_KERNEL = 1 };
#endif

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

enum { SWITCH_IN_KERNEL = 0 };

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
