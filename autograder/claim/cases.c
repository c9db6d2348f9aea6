/* cases.c: runs a student's cases with each broken version (cases.h). */
#include "cases.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verdict.h"

enum { CASES = 12, VERSIONS = 10, NAME = 40, LINE = 1024 }; /* as autograder/grade/cases.py */

typedef struct one_case {
    const case_kind *kind;
    unsigned long long seed;
    double number[CASES_NUMBERS];
} one_case;

typedef struct case_list {
    char task[VERSIONS][NAME]; /* that each version breaks */
    int versions;
    one_case at[CASES];
    int cases;
} case_list;

/* ---- the file ---- */

static const case_kind *kind_called(const case_kind kinds[], const char *name) {
    while (kinds->name && strcmp(kinds->name, name) != 0) kinds++;
    return kinds->name ? kinds : NULL;
}

/* `KIND SEED NUMBER…` */
static bool read_case(one_case *to, const case_kind kinds[], const char *text) {
    char name[NAME];
    int at = 0, used = 0, count = 0;
    if (sscanf(text, "%39s %llu%n", name, &to->seed, &at) != 2) return false;
    to->kind = kind_called(kinds, name);
    while (count < CASES_NUMBERS && sscanf(text + at, "%lf%n", &to->number[count], &used) == 1) {
        at += used;
        count++;
    }
    return to->kind != NULL;
}

static case_list read_list(claim *c, const case_kind kinds[]) {
    case_list list = {.versions = 0};
    const char *path = getenv("GRADLAB_CASES");
    char line[LINE];
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) claim_fail(c, "GRADLAB_CASES=%s: %s", path ? path : "", strerror(errno));
    while (fgets(line, sizeof line, file)) {
        bool good = false;
        if (strncmp(line, "version ", 8) == 0 && list.versions < VERSIONS)
            good = sscanf(line + 8, "%39s", list.task[list.versions++]) == 1;
        else if (strncmp(line, "case ", 5) == 0 && list.cases < CASES)
            good = read_case(&list.at[list.cases++], kinds, line + 5);
        if (!good) claim_fail(c, "%s: cannot be read: %s", path, line);
    }
    fclose(file);
    return list;
}

/* A case that says nothing of any version: the claim fails with this line. (finding_take would look
 * for the place of a student's code in it.) */
__attribute__((format(printf, 4, 5))) static void refuse(claim *c, const char *kind, int number,
                                                         const char *format, ...) {
    finding f;
    finding_begin(&f, c, kind);
    int used = snprintf(f.text, sizeof f.text, "case %d, ", number + 1);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f.text + used, sizeof f.text - (size_t)used, format, arguments);
    va_end(arguments);
    claim_take(c, &f, false);
}

static bool all_can_be_made(claim *c, const case_list *list) {
    for (int i = 0; i < list->cases; i++) {
        const one_case *one = &list->at[i];
        if (!one->kind->check || one->kind->check(one->number) == TL_OK) continue;
        const char *why = strstr(tl_error(), ": "); /* the line is ours, and nobody's to look at */
        refuse(c, "no_such_case", i, "%s, cannot be called: %s", one->kind->name,
               why ? why + 2 : tl_error());
        return false;
    }
    return true;
}

/* ---- one version ---- */

/* In the version's own process, which ends with the number of the first case that fails, from 1,
 * or 0. Version 0 is the solution, with nothing broken. */
__attribute__((noreturn)) static void try_version(claim *c, const case_list *list, int version) {
    char path[LINE];
    const call_target *t = claim_targets; /* the first row is the cpu's, with one thread */
    const char *folder = getenv("GRADLAB_BROKEN");
    snprintf(path, sizeof path, "%s/%d", folder ? folder : "", version);
    if (setenv("GRADLAB_WORKER", path, 1) != 0) _exit(CLAIM_AT_FAULT);
    unsetenv("GRADLAB_SANDBOX"); /* what is in it is ours */
    for (int i = 0; i < list->cases; i++) {
        c->trial = i + 1;
        claim_draw_from(c, list->at[i].seed, list->at[i].kind->name);
        list->at[i].kind->run(c, t, list->at[i].number);
        claim_case(c, t, "(after case %d)", i + 1); /* what a case leaves open fails with its end */
    }
    claim_end_of_calls(c);
    _exit(0);
}

/* The number of the first case that notices it; 0: none does. */
static int noticed_by(claim *c, const case_list *list, int version) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) try_version(c, list, version);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) pid = -1;
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == CLAIM_AT_FAULT)
        claim_fail(c, "version %d of the solution could not be tried with the cases", version);
    claim_note(c, 0);
    return WEXITSTATUS(status);
}

/* ---- all of them ---- */

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t room, const char *format,
                                                      ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

/* " im2col 1 of 3, conv2d_bwd 2 of 4": of the tasks with versions that no case has noticed. */
static void add_unnoticed(char *text, size_t room, const case_list *list, const int by[VERSIONS]) {
    for (int v = 0; v < list->versions; v++) {
        int of = 0, missed = 0, first = v;
        for (int u = 0; u < list->versions; u++) {
            if (strcmp(list->task[u], list->task[v]) != 0) continue;
            if (u < first) first = u;
            of++;
            missed += by[u] == 0;
        }
        if (first == v && missed)
            add(text, room, "%s %s %d of %d", *text ? "," : "", list->task[v], missed, of);
    }
}

/* What each case adds to those before it: who writes the next one sees which kind is of use. */
static void add_shares(char *text, size_t room, const case_list *list, const int by[VERSIONS]) {
    for (int i = 0; i < list->cases; i++) {
        int own = 0;
        for (int v = 0; v < list->versions; v++) own += by[v] == i + 1;
        add(text, room, i ? ", %d in %d" : "%d in case %d", own, i + 1);
    }
}

void expect_noticed(claim *c, const case_kind kinds[]) {
    case_list list = read_list(c, kinds);
    int by[VERSIONS] = {0}, noticed = 0;
    char missed[400] = "", shares[160] = "";
    claim_case(c, NULL, "cases.toml, %d case%s", list.cases, list.cases == 1 ? "" : "s");
    if (!all_can_be_made(c, &list)) return;
    int always = noticed_by(c, &list, 0);
    if (always) {
        refuse(c, "fails_always", always - 1, "%s, fails with the solution itself, too",
               list.at[always - 1].kind->name);
        return;
    }
    for (int v = 0; v < list.versions; v++) {
        by[v] = noticed_by(c, &list, v + 1);
        noticed += by[v] != 0;
    }
    add_shares(shares, sizeof shares, &list, by);
    add_unnoticed(missed, sizeof missed, &list, by);
    claim_say(c, "%d of %d broken versions are noticed (new: %s)%s%s", noticed, list.versions,
              shares, *missed ? "; not noticed:" : "", missed);
    if (noticed < CASES_ENOUGH)
        finding_take(
            c, "unnoticed", false,
            "%d of %d broken versions are noticed, and %d have to be (new: %s). Not noticed:%s",
            noticed, list.versions, CASES_ENOUGH, shares, missed);
}
