/* call_remote_trace.c: from what a worker left behind to places in the student's files.
 *
 * The worker writes raw addresses; they are looked up here, out of reach of the
 * judged code. It may forge all of it, so it only ever words a failure. */
#define _GNU_SOURCE
#include "call_remote.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LINES_READ = 64 << 10, FRAMES = 48, ASKED = 64, STACK_MARGIN = 1 << 16 };

off_t remote_lines_size(const remote_worker *w) {
    struct stat about;
    return fstat(w->lines, &about) == 0 ? about.st_size : 0;
}

static const char *base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What a fault means to somebody who wrote C for a year. */
static void describe(remote_trace *trace, int number, size_t address, size_t stack) {
    size_t distance = address > stack ? address - stack : stack - address;
    char where[100] = "";
    const char *what = strsignal(number);
    if (number == SIGSEGV || number == SIGBUS) {
        if (distance < STACK_MARGIN)
            snprintf(where, sizeof where,
                     "the stack is full: a recursion without end, or a large local array");
        else if (address < 4096)
            snprintf(where, sizeof where, "a null pointer was followed");
        else
            snprintf(where, sizeof where, "memory that is not yours was touched, at address 0x%zx",
                     address);
    } else if (number == SIGFPE) {
        snprintf(where, sizeof where, "an integer was divided by 0");
    } else if (number == SIGSYS) { /* by box_filter.c */
        snprintf(where, sizeof where, "it tried to kill its own process (SIGKILL)");
    } else if (number == SIGABRT) {
        snprintf(where, sizeof where, "abort(): an assert, or malloc found its memory damaged");
    }
    trace->crashed = true;
    trace->signal = number;
    snprintf(trace->text, sizeof trace->text, "%.60s%s%s", what ? what : "signal",
             where[0] ? ": " : "", where);
}

/* Modules are the worker itself and the plug-ins beside it; anything else is no name to look up. */
static bool module_path(char path[4096], const char *name) {
    const char *worker = getenv("GRADLAB_WORKER");
    if (!worker || strchr(name, '/')) return false;
    bool itself = strcmp(name, base(worker)) == 0;
    if (!itself && strncmp(name, "libtl_", 6) != 0) return false;
    int folder = (int)(base(worker) - worker);
    return snprintf(path, 4096, "%.*s%s", folder, worker, name) < 4096 && access(path, R_OK) == 0;
}

/* A place below the repository's root, where it was compiled there: who keeps it in a folder like
 * ~/tl or ~/include has lines of his own all the same. */
static char *below_root(char *place) {
    static char root[4096];
    if (!root[0] && !getcwd(root, sizeof root)) return place;
    size_t length = strlen(root);
    return !strncmp(place, root, length) && place[length] == '/' ? place + length + 1 : place;
}

/* One answer of addr2line, "function" and "path:line (…)", becomes a line of the backtrace. The
 * frames of the harness end it; headers and libraries are left out. False at the end. */
static bool add_frame(call_evidence *e, char *function, char *answer) {
    function[strcspn(function, "\n")] = answer[strcspn(answer, "\n ")] = '\0';
    char *place = below_root(answer);
    char *colon = strrchr(place, ':');
    int line = colon ? atoi(colon + 1) : 0;
    if (strstr(place, "autograder/call/") || strstr(place, "autograder/worker/")) return false;
    if (!line || place[0] == '?' || strstr(place, "/include/") ||
        strstr(place, "hostcuda/runtime") || strstr(place, "hostcuda/check"))
        return true;
    *colon = '\0';
    bool given = strstr(place, "tl/") != NULL;
    if (!e->line && !given) {
        snprintf(e->file, sizeof e->file, "%.60s", base(place));
        e->line = line;
    }
    char text[CALL_LINE];
    snprintf(text, sizeof text, "%.100s:%d %.200s", base(place), line, function);
    if (e->frames && !strcmp(e->backtrace[e->frames - 1], text)) return true; /* recursion */
    if (e->frames < CALL_LINES) strcpy(e->backtrace[e->frames++], text);
    return true;
}

FILE *remote_ask_lines(const char *module, const char *flags, remote_offset offset[], int count,
                       pid_t *child) {
    char path[4096], *tool = getenv("GRADLAB_TOOL"); /* starts it in a box */
    char *arguments[ASKED + 8] = {tool, "/usr/bin/addr2line", (char *)flags, "-e", path};
    int ends[2], used = 5;
    if (!module_path(path, module) || pipe2(ends, O_CLOEXEC) != 0) return NULL;
    for (int i = 0; i < count && i < ASKED; i++) arguments[used++] = offset[i];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    char **command = tool ? arguments : &arguments[1];
    int started = posix_spawn(child, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *answer = started == 0 ? fdopen(ends[0], "r") : NULL;
    if (!answer) close(ends[0]);
    if (!answer && started == 0) waitpid(*child, NULL, 0);
    return answer;
}

static void look_up(call_evidence *e, const char *module, remote_offset offset[], int count) {
    char function[1000], place[1000];
    pid_t child;
    FILE *answer = remote_ask_lines(module, "-fiC", offset, count, &child);
    if (!answer) return;
    while (fgets(function, sizeof function, answer) && fgets(place, sizeof place, answer) &&
           add_frame(e, function, place)) {
    }
    fclose(answer);
    waitpid(child, NULL, 0);
}

/* The innermost function at this place and its line, out of the student's hands or not. */
static bool name_place(const char *module, size_t at, char function[1000], char place[1000]) {
    remote_offset offset;
    pid_t child;
    snprintf(offset, sizeof offset, "0x%zx", at);
    FILE *answer = remote_ask_lines(module, "-fiC", &offset, 1, &child);
    if (!answer) return false;
    bool told = fgets(function, 1000, answer) && fgets(place, 1000, answer);
    fclose(answer);
    waitpid(child, NULL, 0);
    function[told ? strcspn(function, "\n") : 0] = place[told ? strcspn(place, "\n ") : 0] = '\0';
    return told && place[0] != '?';
}

static bool is_among(size_t at, const size_t kept[CALL_KEPT]) {
    for (int i = 0; i < CALL_KEPT; i++)
        if (kept[i] == at) return true;
    return false;
}

void call_say_kept(const call_wire *w, const call_wire *good, char text[CALL_TEXT]) {
    char function[1000], place[1000];
    const char *worker = getenv("GRADLAB_WORKER");
    text[0] = '\0';
    for (int i = 0; i < CALL_KEPT && w->kept[i] && worker && !text[0]; i++) {
        if (good && is_among(w->kept[i], good->kept)) continue;
        if (!name_place(base(worker), w->kept[i], function, place)) continue;
        if (strstr(below_root(place), "autograder/") || strstr(below_root(place), "tl/")) continue;
        snprintf(text, CALL_TEXT, ", taken by %.100s (%.90s)", function, base(place));
    }
}

/* "im2col.cu:17: hostcuda [kind]: text" or with a folder in front, which is left out. */
static void add_checker(call_evidence *e, const char *line) {
    if (e->checkers == CALL_LINES) return;
    const char *end = strchr(line, ':');
    const char *from = line;
    for (const char *p = line; end && p < end; p++)
        if (*p == '/') from = p + 1;
    snprintf(e->checker[e->checkers++], CALL_LINE, "%.*s", CALL_LINE - 1, from);
    int number = end ? atoi(end + 1) : 0;
    if (e->line || number <= 0) return;
    snprintf(e->file, sizeof e->file, "%.*s", (int)(end - from) < 60 ? (int)(end - from) : 60,
             from);
    e->line = number;
}

void remote_read_lines(const remote_worker *w, off_t from, remote_trace *trace,
                       call_evidence *evidence) {
    static char text[LINES_READ + 1];
    static remote_offset offset[FRAMES];
    char module[64] = "", name[64];
    int frames = 0;
    ssize_t length = pread(w->lines, text, LINES_READ, from);
    text[length > 0 ? length : 0] = '\0';
    *trace = (remote_trace){.crashed = false};
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        int number;
        size_t address, stack, data, at;
        if (sscanf(line, "crash %d %zx %zx %zu", &number, &address, &stack, &data) == 4) {
            describe(trace, number, address, stack);
            trace->memory = data > (remote_data_bytes >> 20) * 9 / 10;
        } else if (sscanf(line, "frame %63s %zx", name, &at) == 2) {
            /* one module: the one of the innermost frame that can be looked up */
            char path[4096];
            if (!module[0] && module_path(path, name)) strcpy(module, name);
            if (frames < FRAMES && strcmp(module, name) == 0)
                snprintf(offset[frames++], sizeof offset[0], "0x%zx", at);
        } else if (strstr(line, ": hostcuda [")) {
            add_checker(evidence, line);
        }
    }
    if (frames) look_up(evidence, module, offset, frames);
}
