/* symbolize.c: from an address of code to file and line of the student's source.
 *
 * Asks addr2line, which comes with every compiler; where it is missing or may not be started (a
 * sandbox), a message gives module and offset instead, and says how to look them up. */
#define _GNU_SOURCE
#include "internal.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char **environ;

enum { FRAMES_MAX = 24 };

/* As C++ writes `type::operator=(type const&)` and `type::type(type&&)`: a struct's copy, whose
 * line is the struct's. */
static bool is_a_copy(const char *function) {
    const char *arguments = strchr(function, '('), *type = function, *name = NULL;
    for (const char *c = function; arguments && c + 1 < arguments; c++)
        if (c[0] == ':' && c[1] == ':') {
            if (name) type = name;
            name = c + 2;
        }
    if (!name) return false;
    size_t length = (size_t)(name - 2 - function), letters = (size_t)(arguments - name);
    const char *rest = arguments + 1 + length;
    return (strncmp(name, "operator=(", 10) == 0 || strncmp(name, type, letters) == 0) &&
           strncmp(arguments + 1, function, length) == 0 &&
           (strncmp(rest, " const&)", 8) == 0 || strncmp(rest, "&&)", 3) == 0);
}

/* Is it the student's code: none of the runtime's or the system's headers, and written out? */
bool hc_source_is_students(const char *function, const char *file) {
    return file[0] != '?' && !strstr(file, "hostcuda/include/") &&
           !strstr(file, "hostcuda/runtime/") && !strstr(file, "hostcuda/check/") &&
           strncmp(file, "/usr/", 5) != 0 && !is_a_copy(function);
}

/* Reads addr2line's pairs of lines: function, file:line. */
static bool read_answer(FILE *answer, hc_source *source) {
    char function[1000], place[1000];
    while (fgets(function, sizeof function, answer) && fgets(place, sizeof place, answer)) {
        char *colon = strrchr(place, ':');
        if (!colon || !hc_source_is_students(function, place)) continue;
        if (atoi(colon + 1) == 0) {
            source->vague = true;
            continue;
        }
        *colon = '\0';
        function[strcspn(function, "\n")] = '\0';
        snprintf(source->function, sizeof source->function, "%.*s",
                 (int)sizeof source->function - 1, function);
        snprintf(source->file, sizeof source->file, "%.*s", (int)sizeof source->file - 1, place);
        source->line = atoi(colon + 1);
        return true;
    }
    return false;
}

FILE *hc_addr2line(char **arguments, int questions, pid_t *child) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (questions >= 0) posix_spawn_file_actions_adddup2(&actions, questions, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int started = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *answer = started == 0 ? fdopen(ends[0], "r") : NULL;
    if (!answer) close(ends[0]);
    return answer;
}

static bool ask(char **arguments, hc_source *source) {
    pid_t child;
    FILE *answer = hc_addr2line(arguments, -1, &child);
    if (!answer) return false;
    bool found = read_answer(answer, source);
    fclose(answer);
    waitpid(child, NULL, 0);
    return found;
}

bool hc_source_of(void *const *pcs, int count, hc_source *source) {
    Dl_info own, module;
    char texts[FRAMES_MAX][24], *arguments[FRAMES_MAX + 8];
    if (!dladdr((void *)hc_source_of, &own)) return false;
    /* A position-independent module counts from its base, a fixed one from 0. */
    const Elf64_Ehdr *head = own.dli_fbase;
    size_t base = head->e_type == ET_EXEC ? 0 : (size_t)own.dli_fbase;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (length <= 0) snprintf(path, sizeof path, "%s", (const char *)getauxval(AT_EXECFN));
    source->vague = false;
    bool is_library = strstr(own.dli_fname, ".so") != NULL;
    int n = 0;
    arguments[n++] = (char *)"addr2line";
    arguments[n++] = (char *)"-f";
    arguments[n++] = (char *)"-i";
    arguments[n++] = (char *)"-C";
    arguments[n++] = (char *)"-e";
    arguments[n++] = is_library || !path[0] ? (char *)own.dli_fname : path;
    int first = n;
    for (int i = 0; i < count && i < FRAMES_MAX; i++) {
        if (!dladdr(pcs[i], &module) || module.dli_fbase != own.dli_fbase) continue;
        size_t offset = (size_t)pcs[i] - base - (i > 0); /* a return address is one past its call */
        snprintf(texts[i], sizeof texts[i], "0x%zx", offset);
        arguments[n++] = texts[i];
    }
    arguments[n] = NULL;
    if (n == first) return false;
    if (ask(arguments, source)) return true;
    snprintf(source->function, sizeof source->function, "%.80s", arguments[first]);
    snprintf(source->file, sizeof source->file, "%.380s", own.dli_fname);
    source->line = 0;
    return false;
}
