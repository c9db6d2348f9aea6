/* box_end.c: runs a program within a box's walls, and says how it came to its end: by itself, by a
 * limit, or by somebody outside, which costs nobody a point.
 *
 * Here stands who sends SIGKILL. Nobody in the box can: box_filter.c has no call for it, and what a
 * process does to itself by other ways (a limit of its own time, the signal by which a file or a
 * child tells of itself) is refused there, too. The box's limits do not: that of processor time
 * ends with SIGXCPU, that of files with SIGXFSZ, memory is refused. So SIGKILL came from outside:
 * an operator, a batch system, the machine that has no memory left. That one may have been
 * provoked: whoever took much, or left processes behind, is not believed.
 *
 * The kernel tells how a process ended to who has started it, and to who traces it; 128 + 9 as an
 * exit code is any program's to choose. A worker is our own child. Of a build the shell is, and
 * compilers are the shell's: so a build is traced, its births and deaths and nothing else. */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Who has had more memory than this at once may have brought the end upon itself. */
enum { MUCH_KIB = 512 << 10 };

static bool took_little(const box_inner *inner, const struct rusage *used) {
    struct rlimit hard;
    rlim_t seconds = (rlim_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec + 1);
    /* (whoever started us may have set a hard limit, which ends with SIGKILL) */
    return used->ru_maxrss < MUCH_KIB && getrlimit(RLIMIT_CPU, &hard) == 0 &&
           seconds < hard.rlim_max && seconds < box_cpu_s(inner->profile);
}

static volatile sig_atomic_t asked;
static void ask(int signal) { asked = signal; }

void box_end_when_asked(void) { sigaction(SIGTERM, &(struct sigaction){.sa_handler = ask}, NULL); }

/* Until the program has ended. A worker's is all that counts; of a build any process is ours to
 * blame somebody for. */
static void wait_for(const box_inner *inner, pid_t program, box_end *end) {
    const bool build = inner->profile == BOX_BUILD;
    bool killed = false, alone = true;
    int status;
    struct rusage used;
    for (pid_t pid = 0; pid != program;) {
        pid = wait4(-1, &status, __WALL, &used);
        if (pid < 0 && errno != EINTR) box_fail("the program is lost: %s", strerror(errno));
        if (asked) kill(program, SIGKILL);
        if (pid < 0) continue;
        if (WIFSTOPPED(status)) { /* traced; a stop by an event is no signal of its own */
            ptrace(PTRACE_CONT, pid, NULL, status >> 16 ? 0 : WSTOPSIG(status));
            pid = 0;
            continue;
        }
        if (pid == program) end->status = status;
        if (pid == program || build)
            killed |=
                WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && took_little(inner, &used);
        else
            alone = false;
    }
    alone = alone && waitpid(-1, NULL, WNOHANG | __WALL) < 0;
    end->outside = asked || (killed && (alone || build) && status != 0);
}

/* In the child. Reads one byte first: then it is traced, and its parent out of its reach. */
static _Noreturn void be_the_program(const box_inner *inner, pid_t parent, int go, int failed) {
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(BOX_FAILED);
    box_failures_to(failed);
    if (read(go, &byte, 1) != 1) box_fail("its starter has gone");
    box_enter(inner);
}

box_end box_start(const box_inner *inner) {
    box_end end = {.failed = false};
    int go[2], failed[2];
    char byte = 'g';
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0)
        box_fail("no pipe: %s", strerror(errno));
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* whom it leaves behind come to us */
    pid_t self = getpid(), program = fork();
    if (program < 0) box_fail("no process: %s", strerror(errno));
    if (program == 0) {
        close(go[1]);
        be_the_program(inner, self, go[0], failed[1]);
    }
    /* (where nobody may trace, a compiler's end is what the shell says of it) */
    if (inner->profile == BOX_BUILD)
        ptrace(PTRACE_SEIZE, program, NULL,
               PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL);
    prctl(PR_SET_DUMPABLE, 0); /* the same user may be in there (tier B) */
    close(failed[1]);
    if (write(go[1], &byte, 1) != 1) box_fail("the program is lost: %s", strerror(errno));
    wait_for(inner, program, &end);
    end.failed = read(failed[0], &byte, 1) == 1;
    return end;
}

int box_status(const box_end *end) {
    if (end->failed) return BOX_FAILED;
    if (end->outside) return BOX_ENDED;
    if (WIFSIGNALED(end->status)) return 128 + WTERMSIG(end->status);
    int code = WEXITSTATUS(end->status);
    return code == BOX_FAILED || code == BOX_ENDED ? BOX_ENDED + 1 : code;
}
