/* box_filter.c: which system calls there are within a box (seccomp(2)).
 *
 * What is not in the table fails with EPERM, as if the user were not allowed to: programs of the
 * system take that as an answer. clone3 fails with ENOSYS, for its flags lie in memory where no
 * filter sees them; libc then takes clone. SIGKILL is nobody's to send (box_end.c): there is no
 * kill, and tgkill, which abort() needs, is answered with SIGSYS where it would send SIGKILL, so
 * that a worker names the line. The filter is BPF, written here: the table is the whole of it, and
 * a machine that grades needs no further library. */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define WORKER (1 << BOX_WORKER)
#define BUILD  (1 << BOX_BUILD)
#define BOTH   (WORKER | BUILD)

static const struct {
    short number, profiles;
} allowed[] = {
    /* bytes, and files that are seen */
    {SYS_read, BOTH},
    {SYS_write, BOTH},
    {SYS_readv, BOTH},
    {SYS_writev, BOTH},
    {SYS_pread64, BOTH},
    {SYS_lseek, BOTH},
    {SYS_close, BOTH},
    {SYS_close_range, BOTH}, /* glibc's posix_spawn, which else looks into /proc */
    {SYS_openat, BOTH},
    {SYS_fstat, BOTH},
    {SYS_newfstatat, BOTH},
    {SYS_statx, BOTH},
    {SYS_readlinkat, BOTH},
    {SYS_faccessat, BOTH},
    {SYS_faccessat2, BOTH},
    {SYS_getdents64, BOTH},
    {SYS_getcwd, BOTH},
    {SYS_dup, BOTH},
    {SYS_poll, BOTH},
    {SYS_ppoll, BOTH},
    {SYS_pselect6, BOTH},
    /* memory */
    {SYS_brk, BOTH},
    {SYS_mmap, BOTH},
    {SYS_munmap, BOTH},
    {SYS_mremap, BOTH},
    {SYS_mprotect, BOTH},
    {SYS_madvise, BOTH},
    {SYS_memfd_create, BOTH}, /* the device memory that the host may not touch */
    {SYS_ftruncate, BOTH},
    /* threads, time, signals to oneself */
    {SYS_futex, BOTH},
    {SYS_exit, BOTH},
    {SYS_exit_group, BOTH},
    {SYS_set_tid_address, BOTH},
    {SYS_set_robust_list, BOTH},
    {SYS_rseq, BOTH},
    {SYS_gettid, BOTH},
    {SYS_getpid, BOTH},
    {SYS_getppid, BOTH},
    {SYS_sched_yield, BOTH},
    {SYS_sched_getaffinity, BOTH},
    {SYS_getcpu, BOTH},
    {SYS_clock_gettime, BOTH},
    {SYS_clock_getres, BOTH},
    {SYS_gettimeofday, BOTH},
    {SYS_clock_nanosleep, BOTH},
    {SYS_nanosleep, BOTH},
    {SYS_rt_sigaction, BOTH},
    {SYS_rt_sigprocmask, BOTH},
    {SYS_rt_sigreturn, BOTH},
    {SYS_sigaltstack, BOTH},
    {SYS_restart_syscall, BOTH},
    /* what one is, and may */
    {SYS_getuid, BOTH},
    {SYS_geteuid, BOTH},
    {SYS_getgid, BOTH},
    {SYS_getegid, BOTH},
    {SYS_uname, BOTH},
    {SYS_getrusage, BOTH},
    {SYS_sysinfo, BOTH},
    {SYS_getrandom, BOTH},
    /* the program itself (a worker's empty tree holds no other) */
    {SYS_execve, BOTH},
    /* Other programs: a compiler's, and the addr2line that words a finding of hostcuda's. They end
     * with their box. */
    {SYS_vfork, BOTH},
    {SYS_wait4, BOTH},
    {SYS_waitid, BOTH},
    {SYS_pipe2, BOTH},
    {SYS_dup3, BOTH},
    /* and what they pass on in files */
    {SYS_fallocate, BUILD},
    {SYS_pwrite64, BUILD},
    {SYS_unlinkat, BUILD},
    {SYS_mkdirat, BUILD},
    {SYS_renameat, BUILD},
    {SYS_renameat2, BUILD},
    {SYS_fchmod, BUILD},
    {SYS_fchmodat, BUILD},
    {SYS_umask, BUILD},
    {SYS_fchown, BUILD}, /* sed -i carries owner and attributes over */
    {SYS_getxattr, BUILD},
    {SYS_lgetxattr, BUILD},
    {SYS_fgetxattr, BUILD},
    {SYS_listxattr, BUILD},
    {SYS_llistxattr, BUILD},
    {SYS_flistxattr, BUILD},
    {SYS_fsetxattr, BUILD},
    {SYS_utimensat, BUILD},
    {SYS_fadvise64, BUILD},
    {SYS_copy_file_range, BUILD},
    {SYS_sendfile, BUILD},
    {SYS_fstatfs, BUILD},
    {SYS_statfs, BUILD},
    {SYS_getpgrp, BUILD},
    {SYS_getpgid, BUILD},
    {SYS_getgroups, BUILD},
#ifdef __x86_64__ /* the older names of these, which libc and shells still use */
    {SYS_open, BOTH},
    {SYS_stat, BOTH},
    {SYS_lstat, BOTH},
    {SYS_access, BOTH},
    {SYS_readlink, BOTH},
    {SYS_arch_prctl, BOTH},
    {SYS_pause, BOTH},
    {SYS_select, BOTH},
    {SYS_time, BOTH},
    {SYS_pipe, BOTH},
    {SYS_dup2, BOTH},
    {SYS_unlink, BUILD},
    {SYS_rename, BUILD},
    {SYS_mkdir, BUILD},
    {SYS_rmdir, BUILD},
    {SYS_chmod, BUILD},
    {SYS_fork, BOTH},
    {SYS_chdir, BUILD},
#endif
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

#ifdef __x86_64__
enum { ARCHITECTURE = AUDIT_ARCH_X86_64, FOREIGN = 0x40000000 }; /* x32's numbers begin there */
#elif defined __aarch64__
enum { ARCHITECTURE = AUDIT_ARCH_AARCH64, FOREIGN = 0x40000000 };
#else
#error "box_filter.c: which architecture is this?"
#endif

enum {
    NAMESPACES = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                 CLONE_NEWUTS | CLONE_NEWCGROUP
};

#define LOAD(field)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(test, k, t, f) BPF_JUMP(BPF_JMP | test | BPF_K, k, t, f)
#define ANSWER(what)      BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW             ANSWER(SECCOMP_RET_ALLOW)
#define FAIL(error)       ANSWER(SECCOMP_RET_ERRNO | (error))
#define LOW(n)            args[n] /* its lower half: both architectures are little-endian */
#define HIGH(n)           (offsetof(struct seccomp_data, args[n]) + 4)
#define LOAD_HIGH(n)      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, HIGH(n))

/* (jumps are counted from the next instruction) */
static const struct sock_filter head[] = {
    LOAD(arch),
    IF(BPF_JEQ, ARCHITECTURE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    IF(BPF_JGE, FOREIGN, 0, 1),
    FAIL(ENOSYS),
    IF(BPF_JEQ, SYS_clone3, 0, 1),
    FAIL(ENOSYS),
    /* nothing here is a terminal */
    IF(BPF_JEQ, SYS_ioctl, 0, 1),
    FAIL(ENOTTY),
    /* threads and processes, no namespaces; their end is told by SIGCHLD, or by nothing */
    IF(BPF_JEQ, SYS_clone, 0, 7),
    LOAD(LOW(0)),
    IF(BPF_JSET, NAMESPACES, 4, 0),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, CSIGNAL),
    IF(BPF_JEQ, 0, 1, 0),
    IF(BPF_JEQ, SIGCHLD, 0, 1),
    ALLOW,
    FAIL(EPERM),
    /* signals to threads of one's own */
    IF(BPF_JEQ, SYS_tgkill, 0, 4),
    LOAD(LOW(2)),
    IF(BPF_JEQ, SIGKILL, 0, 1),
    ANSWER(SECCOMP_RET_TRAP),
    ALLOW,
    /* files tell by SIGIO, if they do */
    IF(BPF_JEQ, SYS_fcntl, 0, 4),
    LOAD(LOW(1)),
    IF(BPF_JEQ, F_SETSIG, 0, 1),
    FAIL(EPERM),
    ALLOW,
    /* limits are read, and one's own are set, but for those whose hard one ends with SIGKILL */
    IF(BPF_JEQ, SYS_prlimit64, 0, 11),
    LOAD(LOW(2)),
    IF(BPF_JEQ, 0, 0, 2),
    LOAD_HIGH(2),
    IF(BPF_JEQ, 0, 5, 0),
    LOAD(LOW(0)),
    IF(BPF_JEQ, 0, 0, 4),
    LOAD(LOW(1)),
    IF(BPF_JEQ, RLIMIT_CPU, 2, 0),
    IF(BPF_JEQ, RLIMIT_RTTIME, 1, 0),
    ALLOW,
    FAIL(EPERM),
    /* a thread may have a name */
    IF(BPF_JEQ, SYS_prctl, 0, 4),
    LOAD(LOW(0)),
    IF(BPF_JEQ, PR_SET_NAME, 0, 1),
    ALLOW,
    FAIL(EPERM),
};
enum { MOST = sizeof head / sizeof *head + 2 * ALLOWED + 16 };
typedef struct filter {
    struct sock_filter line[MOST];
    unsigned short lines;
} filter;

static void add(filter *f, const struct sock_filter *lines, size_t count) {
    for (size_t i = 0; i < count; i++) f->line[f->lines++] = lines[i];
}
#define ADD(lines) add(&f, lines, sizeof lines / sizeof *lines)

bool box_filter(box_profile profile) {
    static filter f;
    f.lines = 0;
    ADD(head);
    for (int i = 0; i < ALLOWED; i++) {
        if (!(allowed[i].profiles & (1 << profile))) continue;
        const struct sock_filter one[] = {IF(BPF_JEQ, (unsigned)allowed[i].number, 0, 1), ALLOW};
        ADD(one);
    }
    const struct sock_filter last[] = {FAIL(EPERM)};
    ADD(last);
    struct sock_fprog program = {.len = f.lines, .filter = f.line};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
