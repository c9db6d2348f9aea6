/* hostcuda/switch.h: the switch between the stacks of two CUDA threads, in x86-64's instructions.
 *
 * Of the runtime, and inline in a kernel where it waits: every barrier then has a jump of its own,
 * which a processor foresees, for those that wait there came from one place. A `ret` out of the
 * runtime would be foreseen by the calls before it, and those were another thread's. Of the
 * registers the compiler saves what it needs, for all of them are named as lost. */
#ifndef HOSTCUDA_SWITCH_H
#define HOSTCUDA_SWITCH_H
#ifdef __x86_64__

/* What a suspended thread resumes with; it lies in the frame of hc_switch's caller, next to what
 * the compiler saves there: every cache line that a switch touches is touched by 1,024 threads. */
typedef struct hc_frame {
    void *resume, *base, *stack;
} hc_frame;

#ifdef __AVX512F__
#define HC_LOST_512                                                                                \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",    \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",  \
        "k7"
#else
#define HC_LOST_512
#endif

/* Saves this context in *from and continues `to`, which finds its own frame in rsi. */
static inline __attribute__((always_inline)) void hc_switch(void **from, void *to) {
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
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15" HC_LOST_512, "memory", "cc");
}

#endif
#endif
