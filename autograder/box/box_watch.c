/* box_watch.c: who stands outside of a build: keeps what it says, counts what it costs.
 *
 * A compiler can be made to say gigabytes, and to work as long as it may: once more for each build
 * of a file, and for each file. So messages end at a limit, where they are written, and time adds
 * up in a list (spent=), which is the submission's: a line for each build, its milliseconds,
 * whether it failed, and of what it was. What somebody outside has ended has not failed. */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Of what is said the first and the last bytes are kept; the rest is left out, a flood ends it. */
enum { FIRST = 192 << 10, LAST = 16 << 10, FLOOD = 4 << 20 };
/* A failure that took longer than SLOW is not waited for again in the file's other builds. */
enum { WALL_S = 300, SLOW_MS = 5000, BUDGET_MS = 120000 };

typedef struct said {
    size_t all;
    char last[LAST]; /* a ring: byte n at n % LAST */
} said;

static void put(const char *text, size_t length) {
    for (ssize_t n; length && (n = write(2, text, length)) > 0; text += n) length -= (size_t)n;
}

static void keep(said *s, const char *text, size_t length) {
    size_t now = s->all < FIRST ? FIRST - s->all : 0;
    if (now > length) now = length;
    put(text, now);
    for (size_t i = now; i < length; i++) s->last[(s->all + i) % LAST] = text[i];
    s->all += length;
}

/* What keep() has held back: whole lines, as far as they are at the end. */
static void put_last(const said *s) {
    static char line[LAST + 64];
    size_t left = s->all - FIRST, from = left > LAST ? s->all - LAST : FIRST;
    if (s->all <= FIRST) return;
    while (left > LAST && from < s->all && s->last[from % LAST] != '\n') from++;
    if (from > FIRST) {
        int n = snprintf(line, sizeof line, "\n... (%zu more bytes of messages are left out)",
                         from - FIRST);
        put(line, (size_t)n);
    }
    for (left = 0; from < s->all; from++) line[left++] = s->last[from % LAST];
    put(line, left);
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Until all that could say something has ended; false if that took too long, or was too much. */
static bool listen_to(int end) {
    static said s;
    static char text[1 << 16];
    struct pollfd wait = {.fd = end, .events = POLLIN};
    double until = now_s() + WALL_S;
    ssize_t n = 1;
    double left = WALL_S;
    for (; n != 0 && s.all <= FLOOD && left > 0; left = until - now_s()) {
        if (poll(&wait, 1, (int)(left * 1e3) + 1) <= 0) continue;
        n = read(end, text, sizeof text);
        if (n > 0) keep(&s, text, (size_t)n);
    }
    put_last(&s);
    if (s.all > FLOOD)
        dprintf(2, "\nbox: error: stopped, for it had said more than %d MB\n", FLOOD >> 20);
    else if (n != 0)
        dprintf(2, "\nbox: error: stopped after %d s\n", WALL_S);
    return n == 0;
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Why another build is too much, or NULL. */
static const char *too_much(const box_job *job) {
    static char why[200];
    FILE *list = fopen(job->spent, "re");
    char of[1000];
    long ms, sum = 0;
    int failed;
    if (!list) box_fail("%s cannot be read: %s", job->spent, strerror(errno));
    why[0] = '\0';
    while (fscanf(list, "%ld %d %999[^\n]", &ms, &failed, of) == 3) {
        sum += ms;
        if (failed && ms > SLOW_MS && strcmp(of, job->of) == 0)
            snprintf(why, sizeof why,
                     "not tried again, for another build of it has failed after %ld s of a "
                     "compiler's time",
                     ms / 1000);
    }
    fclose(list);
    if (sum > BUDGET_MS)
        snprintf(why, sizeof why,
                 "not tried, for the files of this submission have taken %ld s of a compiler's "
                 "time together, and %d s are theirs",
                 sum / 1000, BUDGET_MS / 1000);
    return why[0] ? why : NULL;
}

static void note(const box_job *job, bool failed) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    long ms = 1000 * (long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
              (long)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
    int list = open(job->spent, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (list < 0 || dprintf(list, "%ld %d %s\n", ms, failed, job->of) < 0)
        box_fail("%s cannot be written: %s", job->spent, strerror(errno));
    close(list);
}

/* What `box` ends with. 128 + 9 is left to whoever ends `box` itself (mk/workers.mk). */
static int how_it_ended(int status, bool by_itself) {
    if (!by_itself) return 128 + SIGTERM;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) == BOX_ENDED) {
        fputs("box: SIGKILL came from outside, not from what was built, and at no limit\n", stderr);
        return BOX_ENDED;
    }
    return WEXITSTATUS(status) == 128 + SIGKILL ? 1 : WEXITSTATUS(status);
}

int box_watch(const box_job *job, int (*run)(const box_job *)) {
    int ends[2], status = 0;
    const char *why = job->spent ? too_much(job) : NULL;
    if (why) {
        fprintf(stderr, "box: error: %s\n", why);
        return 1;
    }
    /* what nobody waits for comes to us, and its time is counted */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (pipe2(ends, O_CLOEXEC) != 0) box_fail("no pipe: %s", strerror(errno));
    pid_t parent = getpid(), child = fork();
    if (child < 0) box_fail("no process: %s", strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(BOX_FAILED);
        dup2(ends[1], 2);
        close(ends[0]);
        _exit(run(job));
    }
    close(ends[1]);
    bool ends_itself = listen_to(ends[0]);
    for (; waitpid(child, &status, ends_itself ? 0 : WNOHANG) != child; usleep(10000))
        if (!ends_itself) kill(child, SIGTERM);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
    }
    status = how_it_ended(status, ends_itself);
    if (job->spent) note(job, status != 0 && status != BOX_ENDED);
    return status;
}
