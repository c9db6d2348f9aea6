/* calls.c: whither a student's file goes. Whoever has an address can call it, and what lies on the
 * stack above a local array is where its function returns to: no hook at an access sees either. So
 * a compiler that can (g++ for x86-64) leaves both jumps to functions of ours, as it does against
 * Spectre: -mindirect-branch=thunk-extern, -mfunction-return=thunk-extern.
 *
 * A call by an address has to lead to a function that was compiled as the file itself was: with
 * endbr64 at its beginning (-fcf-protection=branch; the runtime has none), and in the module's
 * table for unwinding, for two numbers of one instruction can read as endbr64, too. A return has to
 * lead whither __tsan_func_entry() was told; who calls no hook has written nothing and called
 * nobody. */
#define _GNU_SOURCE
#include "check.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEPTH = 256, HOST_DEPTH = 1 << 16 }; /* calls within calls: a thread's, the host's */

typedef struct call {
    uintptr_t back, frame; /* where it returns to; where its frame begins */
} call;
typedef struct way {
    size_t depth;
    call calls[];
} way;
static way **of_stack; /* a thread's is that of the stack it runs on */
static int stack_count;
static __thread way *of_host;

static way *way_of(int stack) {
    if (stack >= stack_count) {
        int count = hc_self->stacks.count;
        of_stack = realloc(of_stack, (size_t)count * sizeof *of_stack);
        if (!of_stack) abort();
        while (stack_count < count) of_stack[stack_count++] = NULL;
    }
    if (!of_stack[stack]) of_stack[stack] = calloc(1, sizeof(way) + DEPTH * sizeof(call));
    if (!of_stack[stack]) abort();
    return of_stack[stack];
}

void hc_check_way_begins(void) { way_of(hc_self->current_stack)->depth = 0; }

static way *here(size_t *most) {
    *most = hc_self ? DEPTH : HOST_DEPTH;
    if (hc_self) return way_of(hc_self->current_stack);
    if (!of_host) {
        of_host = mmap(NULL, sizeof *of_host + HOST_DEPTH * sizeof(call), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (of_host == MAP_FAILED) abort(); /* (as the runtime does without memory of its own) */
    }
    return of_host;
}

static __attribute__((noreturn)) void end(uintptr_t pc, const char *what, uintptr_t whither,
                                          const char *likely) {
    hc_text t;
    hc_check_message_begin(&t, "foreign-call", pc);
    hc_add(&t, what, (void *)whither);
    hc_report_likely(&t, likely);
    hc_report_end(&t);
    abort();
}

/* Where functions begin that may be called by an address. */
__attribute__((visibility("hidden"))) uintptr_t *hc_check_begins, *hc_check_begins_end;

/* .eh_frame_hdr, as ld writes it: where each function begins and its entry of .eh_frame. */
typedef struct unwind_table {
    unsigned char version, frame_form, count_form, form;
    int32_t frame;
    uint32_t count;
    struct {
        int32_t begin, entry; /* from the table on */
    } of[];
} unwind_table;

static void note_begins(const unwind_table *t) {
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (t->version != 1 || t->count_form != 0x03 || t->form != 0x3b) abort();
    hc_check_begins = hc_check_begins_end = malloc((t->count + 1) * sizeof *hc_check_begins);
    if (!hc_check_begins) abort();
    for (uint32_t i = 0; i < t->count; i++) {
        uintptr_t begin = (uintptr_t)t + (uintptr_t)(intptr_t)t->of[i].begin;
        if (memcmp((const void *)begin, endbr64, sizeof endbr64) == 0)
            *hc_check_begins_end++ = begin;
    }
}

static int note_module(struct dl_phdr_info *info, size_t size, void *inside) {
    uintptr_t table = 0;
    bool ours = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        ours |= h->p_type == PT_LOAD && (uintptr_t)inside - from < h->p_memsz;
        if (h->p_type == PT_GNU_EH_FRAME) table = from;
    }
    if (ours && table) note_begins((const unwind_table *)table);
    return ours;
}

void hc_check_enters(uintptr_t back, uintptr_t frame, uintptr_t pc) {
    size_t most;
    if (!hc_check_begins) dl_iterate_phdr(note_module, (void *)pc);
    way *w = here(&most);
    /* (one that is aligned to more than a page may lie beyond the guard below the stack) */
    if (hc_self && frame - hc_check.stack >= STACK_BYTES)
        end(pc, "the frame of a function begins at %p, outside of the thread's stack", frame,
            "a local variable that is aligned to more than a page");
    if (w->depth == most)
        end(pc, "more calls stand in each other than can be followed", 0,
            "a recursion that does not end");
    w->calls[w->depth++] = (call){back, frame};
}

uintptr_t hc_check_frame(void) {
    return of_host && of_host->depth ? of_host->calls[of_host->depth - 1].frame : UINTPTR_MAX;
}

/* 0: not known, for its function has called no hook. */
__attribute__((visibility("hidden"))) __thread uintptr_t hc_check_back;
void hc_check_leaves(void) {
    size_t most;
    way *w = here(&most);
    hc_check_back = w->depth ? w->calls[--w->depth].back : 0;
}

#ifdef __x86_64__
/* What the jumps below have found; their own frames are gone. */
__attribute__((used, visibility("hidden"), noreturn)) void hc_check_call_ends(uintptr_t whither,
                                                                              uintptr_t pc);
__attribute__((used, visibility("hidden"), noreturn)) void hc_check_return_ends(uintptr_t whither,
                                                                                uintptr_t pc);
void hc_check_call_ends(uintptr_t whither, uintptr_t pc) {
    end(pc, "a call goes to %p, where no function of this file begins", whither,
        "a pointer to a function that was made of a number, or written over");
}
void hc_check_return_ends(uintptr_t whither, uintptr_t pc) {
    end(pc, "a function returns to %p, and was called from elsewhere", whither,
        "an index outside of a local array has written over its frame");
}

/* Every register but the flags, r10 and r11 of a return is as before. */
__asm__(".text\n"
        "hc_check_goes:\n" /* the stack: target, return address */
        "    xchg %rax, (%rsp)\n"
        "    push %rdx\n"
        "    mov hc_check_begins(%rip), %rdx\n"
        "4:  cmp hc_check_begins_end(%rip), %rdx\n"
        "    jae 1f\n"
        "    cmp (%rdx), %rax\n"
        "    lea 8(%rdx), %rdx\n"
        "    jne 4b\n"
        "    pop %rdx\n"
        "    xchg %rax, (%rsp)\n"
        "    ret\n"
        "1:  mov %rax, %rdi\n"
        "    mov 16(%rsp), %rsi\n"
        "    and $-16, %rsp\n"
        "    call hc_check_call_ends\n"
        ".irp r, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
        ".globl __x86_indirect_thunk_\\r\n"
        ".hidden __x86_indirect_thunk_\\r\n"
        "__x86_indirect_thunk_\\r:\n"
        "    push %\\r\n"
        "    jmp hc_check_goes\n"
        ".endr\n"
        ".globl __x86_return_thunk\n"
        ".hidden __x86_return_thunk\n"
        "__x86_return_thunk:\n"
        "    mov hc_check_back@gottpoff(%rip), %r11\n"
        "    mov %fs:(%r11), %r10\n"
        "    test %r10, %r10\n"
        "    je 2f\n"
        "    movq $0, %fs:(%r11)\n"
        "    cmp %r10, (%rsp)\n"
        "    jne 3f\n"
        "2:  ret\n"
        "3:  mov (%rsp), %rdi\n"
        "    mov %r10, %rsi\n"
        "    and $-16, %rsp\n"
        "    call hc_check_return_ends\n");
#endif
