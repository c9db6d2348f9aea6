/* call_remote_start.c: starting and ending the process that holds the judged code. */
#define _GNU_SOURCE
#include "call_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a worker hears of the outside. MALLOC_PERTURB_ fills fresh and freed memory, so that a read
 * of it shows; hostcuda's own watchdog names an endless kernel before our deadline does; LLVM's
 * OpenMP may not bind threads to processors in a box, and ends where it tries to. */
static char *const fixed[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                              "LC_ALL=C",
                              "OMP_WAIT_POLICY=passive",
                              "KMP_AFFINITY=disabled",
                              "OPENBLAS_NUM_THREADS=1",
                              "MALLOC_PERTURB_=165",
                              "HOSTCUDA_LOG=fd:5",
                              "HOSTCUDA_TIMEOUT=1",
                              "HOSTCUDA_WORKERS=2",
                              "HOSTCUDA_MEMORY=1073741824",
                              "UBSAN_OPTIONS=exitcode=119"};
enum { FIXED = sizeof fixed / sizeof *fixed };
/* and what a GPU's driver needs */
static const char *const passed[] = {"CUDA_VISIBLE_DEVICES", "CUDA_CACHE_PATH", "HOME",
                                     "LD_LIBRARY_PATH"};
enum { PASSED = sizeof passed / sizeof *passed };
/* what a run's own build is for: "0" names no races (execute.py) */
#define RACES "HOSTCUDA_RACES"

/* Room for the strings that outlive the fork: the child may not allocate. */
static char *environment[FIXED + PASSED + 4];
static void make_environment(int number, const char *device, bool gpu) {
    int count = FIXED;
    memcpy(environment, fixed, sizeof fixed);
    for (int i = 0; gpu && i < PASSED; i++) {
        const char *value = getenv(passed[i]);
        char *text = value ? malloc(strlen(passed[i]) + strlen(value) + 2) : NULL;
        if (!text) continue;
        sprintf(text, "%s=%s", passed[i], value);
        environment[count++] = text;
    }
    static char races[] = RACES "=1";
    const char *asked = getenv(RACES);
    if (asked && strcmp(asked, "0") == 0) races[sizeof races - 2] = '0';
    environment[count++] = races;
    /* A local that is used after its function has returned is looked for on the cpu alone: ASan
     * then keeps locals outside of the stack, and hostcuda takes a kernel's arguments there for a
     * wild pointer. */
    static char address[] = "ASAN_OPTIONS=exitcode=119:detect_stack_use_after_return=1";
    address[sizeof address - 2] = strcmp(device, "cpu") == 0 ? '1' : '0';
    environment[count++] = address;
    /* by which hostcuda draws the order of blocks and threads: a sum by atomics has other bits */
    static char seed[32];
    snprintf(seed, sizeof seed, "HOSTCUDA_SEED=%d", number + 1);
    environment[count++] = seed;
    environment[count] = NULL;
}

/* A fork into a process namespace where the machine allows one: all that the code starts dies with
 * it, and it cannot name, kill or trace anybody outside. Not under a sanitizer, which looks itself
 * up in /proc by number, nor for a GPU's driver, which may. `as_root`: who leaves the namespace of
 * users is nobody, and it is root who makes a box of tier C. */
static pid_t fork_alone(bool *alone, bool as_root) {
    static const unsigned long ways[] = {CLONE_NEWPID, CLONE_NEWUSER | CLONE_NEWPID};
    for (int i = 0; *alone && i < (as_root ? 1 : 2); i++) {
        long pid = syscall(SYS_clone, ways[i] | SIGCHLD, 0, 0, 0, 0);
        if (pid >= 0) return (pid_t)pid;
    }
    *alone = false;
    return fork();
}

static void limit(int what, rlim_t most) {
    setrlimit(what, &(struct rlimit){.rlim_cur = most, .rlim_max = most});
}

/* In the child, between fork and exec: system calls alone. `sandbox`: a program that starts the
 * worker in a sandbox, or NULL. */
static void become_worker(const char *path, const char *sandbox, const int file[5], bool limited) {
    int high[5];
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a grader that is killed leaves nobody behind */
    setsid();
    for (int i = 0; i < 5; i++) high[i] = fcntl(file[i], F_DUPFD, 10);
    for (int i = 0; i < 5; i++) dup2(high[i], i == 0 ? 0 : i + 1);
    dup2(2, 1);
    syscall(SYS_close_range, 6, ~0U, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, REMOTE_FILE);
    if (limited) limit(RLIMIT_DATA, remote_data_bytes);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    const char *program = sandbox ? sandbox : path;
    char *arguments[] = {(char *)(uintptr_t)program, sandbox ? (char *)(uintptr_t)path : NULL,
                         NULL};
    execve(program, arguments, environment);
    _exit(WORKER_NOT_STARTED);
}

static void close_all(int *file, int count) {
    for (int i = 0; i < count; i++)
        if (file[i] >= 0) close(file[i]);
}

/* file: ends of the worker (0 nothing, 1 output, 2 requests, 3 replies, 4 lines), then ours */
static bool open_files(int file[8]) {
    int output[2] = {-1, -1}, requests[2] = {-1, -1}, replies[2] = {-1, -1};
    bool good = pipe2(output, O_CLOEXEC) == 0 && pipe2(requests, O_CLOEXEC) == 0 &&
                pipe2(replies, O_CLOEXEC) == 0;
    const int all[8] = {open("/dev/null", O_RDWR | O_CLOEXEC), output[1], requests[0], replies[1],
                        memfd_create("lines", MFD_CLOEXEC),    output[0], requests[1], replies[0]};
    memcpy(file, all, sizeof all);
    for (int i = 0; i < 8; i++) good = good && file[i] >= 0;
    if (!good) {
        close_all(file, 8);
        return false;
    }
    fcntl(file[4], F_SETFL, O_APPEND); /* hostcuda and the crash handler both write to it */
    for (int i = 5; i < 8; i++) {      /* ours never block; room for most frames in one piece */
        fcntl(file[i], F_SETFL, O_NONBLOCK);
        fcntl(file[i], F_SETPIPE_SZ, 1 << 20);
    }
    return true;
}

bool remote_start(remote_worker *w, int number, const char *device, char error[CALL_TEXT]) {
    const char *path = getenv("GRADLAB_WORKER");
    int file[8];
    *w = (remote_worker){.pid = -1, .to = -1, .from = -1, .lines = -1, .output = -1, .keeper = -1};
    if (!path || access(path, X_OK) != 0) {
        snprintf(error, CALL_TEXT, "GRADLAB_WORKER=%s: cannot be started: %s", path ? path : "",
                 path ? strerror(errno) : "it is not set");
        return false;
    }
    bool gpu = strcmp(device, "cuda") == 0;
    make_environment(number, device, gpu);
    if (!open_files(file)) {
        snprintf(error, CALL_TEXT, "no pipes for a worker: %s", strerror(errno));
        return false;
    }
    bool alone = !remote_sanitized() && !gpu;
    const char *sandbox = alone ? getenv("GRADLAB_SANDBOX") : NULL;
    const char *tier = getenv("GRADLAB_TIER");
    /* (bubblewrap, of tiers A and B, makes this namespace itself, and looks its child up in a /proc
     * that has to be of the one that it is started in) */
    if (sandbox && tier && *tier != 'C') alone = false;
    pid_t pid = fork_alone(&alone, sandbox && tier && *tier == 'C');
    if (pid == 0) become_worker(path, sandbox, file, !remote_sanitized() && !gpu);
    int reason = errno;
    close_all(file, 4);
    *w = (remote_worker){.pid = pid,
                         .to = file[6],
                         .from = file[7],
                         .lines = file[4],
                         .output = file[5],
                         .keeper = -1,
                         .alone = alone,
                         .walled = sandbox != NULL};
    if (pid > 0) return true;
    snprintf(error, CALL_TEXT, "no process for a worker: %s", strerror(reason));
    close_all(&file[4], 4);
    return false;
}

bool remote_ends_within(const remote_worker *w, double seconds) {
    double until = remote_now() + seconds;
    do {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    } while (remote_now() < until);
    return false;
}

int remote_stop(remote_worker *w, double *cpu_s) {
    int status = 0;
    struct rusage used = {.ru_utime = {0, 0}};
    int file[] = {w->to, w->from, w->lines, w->output};
    if (w->pid > 0) {
        kill(w->pid, SIGKILL); /* without effect on its status if it has ended */
        if (!w->alone) kill(-w->pid, SIGKILL);
        while (wait4(w->pid, &status, 0, &used) < 0 && errno == EINTR) {
        }
    }
    close_all(file, 4);
    w->pid = w->to = w->from = w->lines = w->output = -1;
    /* What stands around the worker is out of its reach, and keeps this status to itself. (If it
     * was killed here, nobody asks.) */
    w->disturbed = w->walled && (WIFSIGNALED(status) || WEXITSTATUS(status) == WORKER_ENDED);
    /* a sandbox ends as a shell does: 128 and the signal that ended what it held */
    if (w->walled && WIFEXITED(status) && WEXITSTATUS(status) > 128)
        status = W_EXITCODE(0, WEXITSTATUS(status) - 128);
    if (cpu_s)
        *cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return status;
}

/* ---- handing a worker over: its number and its four files in one message ---- */

enum { HANDED = 4 };

bool remote_send(int socket, const remote_worker *w) {
    union {
        char bytes[CMSG_SPACE(HANDED * sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec piece = {(void *)(uintptr_t)&w->pid, sizeof w->pid};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(HANDED * sizeof(int));
    memcpy(CMSG_DATA(head), (const int[]){w->to, w->from, w->lines, w->output},
           HANDED * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof w->pid;
}

bool remote_receive(int socket, remote_worker *w) {
    union {
        char bytes[CMSG_SPACE(HANDED * sizeof(int))];
        struct cmsghdr align;
    } control;
    int file[HANDED];
    *w = (remote_worker){.pid = -1, .keeper = socket};
    struct iovec piece = {&w->pid, sizeof w->pid};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof w->pid) return false;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_len != CMSG_LEN(sizeof file)) return false;
    memcpy(file, CMSG_DATA(head), sizeof file);
    w->to = file[0], w->from = file[1], w->lines = file[2], w->output = file[3];
    return true;
}
