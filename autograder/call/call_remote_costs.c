/* call_remote_costs.c: from what a worker says that single instructions cost to lines of the
 * student's files. Like a trace it words a verdict alone: a worker may forge it. */
#define _GNU_SOURCE
#include "call_remote.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef struct line_list {
    call_cost line[CALL_SITES];
    int count;
} line_list;

static const char *base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Given code is nobody's to make quicker. */
static bool is_students(const char *place) {
    return place[0] != '?' && !strstr(place, "/include/") && !strstr(place, "hostcuda/runtime") &&
           !strstr(place, "hostcuda/check") && !strstr(place, "/tl/") &&
           strncmp(place, "tl/", 3) != 0;
}

static void add(line_list *list, const char *file, int line, const call_site *site) {
    int i = 0;
    while (i < list->count &&
           !(list->line[i].line == line && strcmp(list->line[i].file, file) == 0))
        i++;
    call_cost *cost = &list->line[i];
    if (i == list->count) {
        *cost = (call_cost){.line = line};
        snprintf(cost->file, sizeof cost->file, "%s", file);
        list->count++;
    }
    cost->sectors += site->sectors;
    cost->shared_requests += site->shared_requests;
    cost->conflicts += site->conflicts;
}

/* The answer to each offset is a line with it, then pairs of function and "path:line (…)" of its
 * frames, innermost first; the first one of the student's counts. */
static void read_answer(FILE *answer, const call_sites *sites, line_list *list) {
    char text[1000], place[1000];
    int site = -1, placed = -1;
    while (fgets(text, sizeof text, answer)) {
        if (strncmp(text, "0x", 2) == 0) {
            site++;
            continue;
        }
        if (!fgets(place, sizeof place, answer) || site < 0 || site >= sites->count) return;
        place[strcspn(place, "\n ")] = '\0';
        char *colon = strrchr(place, ':');
        int line = colon ? atoi(colon + 1) : 0;
        if (placed == site || line <= 0 || !is_students(place)) continue;
        *colon = '\0';
        char file[sizeof list->line[0].file];
        snprintf(file, sizeof file, "%.60s", base(place));
        add(list, file, line, &sites->site[site]);
        placed = site;
    }
}

static int dearest_first(const void *a, const void *b) {
    const call_cost *left = a, *right = b;
    int64_t more = right->sectors - left->sectors;
    if (more == 0) more = right->conflicts - left->conflicts;
    if (more == 0) more = right->shared_requests - left->shared_requests;
    return more ? (more > 0) - (more < 0) : left->line - right->line;
}

int remote_costs(call_cost out[CALL_COSTS], const call_sites *sites) {
    static remote_offset offset[CALL_SITES];
    char module[sizeof sites->module];
    line_list list = {.count = 0};
    pid_t child;
    if (sites->count <= 0 || sites->count > CALL_SITES) return 0;
    snprintf(module, sizeof module, "%.*s", (int)sizeof module - 1, sites->module);
    for (int i = 0; i < sites->count; i++)
        snprintf(offset[i], sizeof offset[i], "0x%llx", (unsigned long long)sites->site[i].offset);
    FILE *answer = remote_ask_lines(module, "-afiC", offset, sites->count, &child);
    if (!answer) return 0;
    read_answer(answer, sites, &list);
    fclose(answer);
    waitpid(child, NULL, 0);
    qsort(list.line, (size_t)list.count, sizeof *list.line, dearest_first);
    int count = list.count < CALL_COSTS ? list.count : CALL_COSTS;
    memcpy(out, list.line, (size_t)count * sizeof *out);
    return count;
}
