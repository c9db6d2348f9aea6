/* worker_crash.c: what a crash leaves behind: its signal, and raw addresses of the calls that led
 * there. The grader looks them up; a broken process should do as little as it can. */
#define _GNU_SOURCE
#include "worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "autograder/call/message.h"

#ifndef __SANITIZE_ADDRESS__ /* ASan tells more, and wants these signals itself */

enum { STACK_BYTES = 1 << 16, FRAMES = 64 };

/* A full stack cannot hold its own handler. */
static char handler_stack[STACK_BYTES];

static size_t program_counter(const ucontext_t *u) {
#if defined(__x86_64__)
    return (size_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (size_t)u->uc_mcontext.pc;
#else
    (void)u;
    return 0;
#endif
}

static size_t stack_pointer(const ucontext_t *u) {
#if defined(__x86_64__)
    return (size_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (size_t)u->uc_mcontext.sp;
#else
    (void)u;
    return 0;
#endif
}

/* vsnprintf of whole numbers and strings allocates nothing in glibc. */
__attribute__((format(printf, 1, 2))) static void leave(const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ssize_t written = write(MESSAGE_LINES, text, (size_t)length);
    (void)written; /* there is nobody else to tell */
}

/* Megabytes of writable memory: the sixth number of statm, in pages. */
static size_t data_megabytes(void) {
    char text[200];
    size_t pages = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = '\0';
    if (sscanf(text, "%*u %*u %*u %*u %*u %zu", &pages) != 1) return 0;
    return pages * (size_t)sysconf(_SC_PAGESIZE) >> 20;
}

/* Addresses of the program itself are known without asking the loader, whose lists may be what the
 * crash has damaged. */
extern const char __executable_start[], etext[];

/* `back`: 1 for a return address, which may be the first of the next line. */
static void leave_frame(size_t address, size_t back) {
    Dl_info module = {.dli_fname = program_invocation_short_name,
                      .dli_fbase = (void *)(uintptr_t)__executable_start};
    bool own = address >= (size_t)__executable_start && address < (size_t)etext;
    if (!own && (!dladdr((void *)address, &module) || !module.dli_fname)) return;
    const char *slash = strrchr(module.dli_fname, '/');
    leave("frame %.60s 0x%zx\n", slash ? slash + 1 : module.dli_fname,
          address - (size_t)module.dli_fbase - back);
}

static void on_crash(int number, siginfo_t *info, void *context) {
    const ucontext_t *u = context;
    size_t at = program_counter(u);
    leave("crash %d 0x%zx 0x%zx %zu\n", number, (size_t)info->si_addr, stack_pointer(u),
          data_megabytes());
    leave_frame(at, 0); /* before the unwinder, which a damaged stack may lead astray */
    void *frame[FRAMES];
    int count = backtrace(frame, FRAMES), from = 0;
    for (int i = 0; i < count; i++)
        if ((size_t)frame[i] == at) from = i + 1;
    for (int i = from; i < count; i++) leave_frame((size_t)frame[i], 1);
    _exit(WORKER_CRASHED);
}

void worker_watch_crashes(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP, SIGTERM};
    void *frame;
    backtrace(&frame, 1); /* loads the unwinder now: in a handler it would be too late */
    sigaltstack(&(stack_t){.ss_sp = handler_stack, .ss_size = STACK_BYTES}, NULL);
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &action, NULL);
}

#else
void worker_watch_crashes(void) {}
#endif
