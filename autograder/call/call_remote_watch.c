/* call_remote_watch.c: is a call slow, stuck, or kept waiting by the machine? Read from /proc,
 * which the judged code cannot write. */
#include "call_remote.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double remote_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* stands still while a laptop sleeps */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool remote_sanitized(void) {
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return getenv("GRADLAB_SANITIZED") != NULL;
#endif
}

double remote_factor(void) {
    const char *text = getenv("GRADLAB_CPU_FACTOR");
    double factor = text ? strtod(text, NULL) : 1;
    if (remote_sanitized()) factor *= 10;
    return factor >= 0.1 ? factor : 1;
}

/* One process or thread. */
typedef struct task {
    pid_t pid, parent;
    char state;
    double cpu_s;
} task;

/* The name in /proc/…/stat may hold blanks and brackets: fields count from the last bracket. */
static bool read_task(const char *path, task *t) {
    char text[1024];
    FILE *file = fopen(path, "r");
    if (!file) return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    long user, kernel, child_user, child_kernel;
    t->pid = atoi(text);
    if (!end || sscanf(end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld",
                       &t->state, &t->parent, &user, &kernel, &child_user, &child_kernel) != 6)
        return false;
    t->cpu_s = (double)(user + kernel + child_user + child_kernel) / (double)sysconf(_SC_CLK_TCK);
    return true;
}

/* The numeric entries of a folder of /proc, as tasks; returns how many, at most `most`. */
static int read_tasks(const char *folder, task *tasks, int most) {
    int count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && count < most && (entry = readdir(list));) {
        char path[64];
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        snprintf(path, sizeof path, "%s/%.16s/stat", folder, entry->d_name);
        count += read_task(path, &tasks[count]);
    }
    if (list) closedir(list);
    return count;
}

/* The worker and whatever descends from it: it may stand behind a sandbox's process, and may have
 * left its work to a child. Returns CPU seconds; *wants says whether any thread wants to run. */
enum { PROCESSES = 4096, THREADS = 256 };
static double look_at_family(pid_t root, bool *wants) {
    static task process[PROCESSES], thread[THREADS];
    static bool family[PROCESSES];
    int count = read_tasks("/proc", process, PROCESSES);
    double cpu_s = 0;
    *wants = false;
    memset(family, 0, sizeof family);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < count; i++) {
            bool in = process[i].pid == root;
            for (int j = 0; j < count && !in; j++)
                in = family[j] && process[i].parent == process[j].pid;
            if (!in || family[i]) continue;
            family[i] = more = true;
            cpu_s += process[i].cpu_s;
            char folder[48];
            snprintf(folder, sizeof folder, "/proc/%d/task", (int)process[i].pid);
            int threads = read_tasks(folder, thread, THREADS);
            for (int k = 0; k < threads; k++)
                *wants |= thread[k].state == 'R' || thread[k].state == 'D';
        }
    }
    return cpu_s;
}

remote_watch remote_watch_begin(bool opens_device) {
    double now = remote_now(), factor = remote_factor();
    double more = opens_device ? REMOTE_OPEN_S : 0;
    return (remote_watch){.began = now,
                          .still_since = now,
                          .cpu_first = -1,
                          .cpu_limit = (REMOTE_CALL_S + more) * factor,
                          .claim_limit = REMOTE_CLAIM_S * factor,
                          .still_limit = REMOTE_STILL_S * (factor > 1 ? factor : 1) + more};
}

/* Looks are 0.05 s apart, unless the machine keeps the grader waiting, too. */
#define WATCHED_EVERY_S 0.5

remote_event remote_watch_look(remote_watch *watch, const remote_worker *w) {
    bool wants;
    double now = remote_now(), cpu_s = look_at_family(w->pid, &wants);
    if (watch->cpu_first < 0) watch->cpu_first = watch->cpu_seen = cpu_s;
    /* Who waits for a core is not still; and while nobody looked, nobody knows. */
    if (cpu_s > watch->cpu_seen || wants || now - watch->looked > WATCHED_EVERY_S)
        watch->still_since = now;
    watch->cpu_seen = cpu_s;
    watch->looked = now;
    if (cpu_s - watch->cpu_first > watch->cpu_limit) return REMOTE_TIMEOUT;
    /* a worker that serves one claim has spent it all on that claim */
    if (w->keeper < 0 && cpu_s > watch->claim_limit) return REMOTE_TIMEOUT;
    if (now - watch->still_since > watch->still_limit) return REMOTE_STUCK;
    if (now - watch->began > REMOTE_MACHINE_S + watch->cpu_limit) return REMOTE_STARVED;
    return REMOTE_READY;
}
