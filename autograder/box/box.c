/* box.c: the program `box`.
 *
 *   box tier [SECRET]                      which tier holds on this machine: one line, or why none
 *   box run PROFILE [see=PATH]… [make=FOLDER] [tree=FOLDER] [in=FOLDER]
 *           [spent=FILE of=NAME]             -- PROGRAM [ARGUMENT]…
 *
 * PROFILE is worker or build. GRADLAB_TIER=A, B or C asks for one tier; else it is the first that
 * holds. Exit status: that of the program, 128 + n if signal n ended it, 125 if there is no box,
 * 126 if somebody outside has ended the program (box_end.c). */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = -1;
void box_failures_to(int file) { failures = file; }

void box_fail(const char *format, ...) {
    char text[1000];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    fprintf(stderr, "box: %s\n", text);
    if (failures >= 0 && write(failures, "!", 1) != 1) fputs("box: nobody is told\n", stderr);
    _exit(BOX_FAILED);
}

static _Noreturn void usage(void) {
    fputs("usage: box tier [SECRET] | box run worker|build [see=PATH] [make=FOLDER] [tree=FOLDER] "
          "[in=FOLDER] [spent=FILE of=NAME] -- PROGRAM [ARGUMENT]…\n",
          stderr);
    exit(2);
}

static box_profile profile_of(const char *word) {
    if (strcmp(word, "worker") == 0) return BOX_WORKER;
    if (strcmp(word, "build") == 0) return BOX_BUILD;
    usage();
}

static int run(const box_job *job) {
    bool root = geteuid() == 0;
    if (!root && job->tier != BOX_B) box_fail("tier %s needs root", box_tier_names[job->tier]);
    if (job->tier == BOX_C) return box_by_user(job, box_take_user());
    return box_by_bubblewrap(job, job->tier == BOX_A ? box_take_user() : 0);
}

/* Within bubblewrap, as the first process there: nobody inside can end it, or write to `tell`. */
static _Noreturn void be_first(const box_inner *inner, int tell) {
    box_end end = box_start(inner);
    if (write(tell, &end, sizeof end) != sizeof end)
        box_fail("its end cannot be told: %s", strerror(errno));
    _exit(0);
}

/* ---- which tier ------------------------------------------------------------------------------ */

/* This program as a file that everybody may start, wherever it lies: a box's user may not pass the
 * folders above it, where the clone is below /root, say. */
static char *program_for_all(void) {
    static char path[64];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create("box", MFD_CLOEXEC);
    if (from < 0) box_fail("/proc is not mounted");
    ssize_t sent = to < 0 ? -1 : 1;
    while (sent > 0) sent = sendfile(to, from, NULL, 1 << 20);
    if (sent < 0) box_fail("no file in memory: %s", strerror(errno));
    close(from);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    return path;
}

/* Why a tier does not hold, on one line; empty if it does. The program of the test is this one. */
static void try_tier(box_tier tier, box_profile profile, const char *secret, char why[500]) {
    int ends[2], status = -1;
    size_t length = 0;
    if (pipe(ends) != 0) box_fail("no pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        char *program = tier == BOX_C ? program_for_all() : "/box";
        char *const command[] = {program, "walls", profile == BOX_WORKER ? "worker" : "build",
                                 (char *)(uintptr_t)secret, NULL};
        const box_job job = {.tier = tier, .profile = profile, .command = command};
        _exit(run(&job));
    }
    close(ends[1]);
    for (ssize_t n; length < 499 && (n = read(ends[0], why + length, 499 - length)) > 0;)
        length += (size_t)n;
    close(ends[0]);
    if (child > 0) waitpid(child, &status, 0);
    why[length] = '\0';
    why[strcspn(why, "\n")] = '\0';
    if (status == 0 && strcmp(why, BOX_HELD) == 0) /* (0 alone would be bubblewrap's word for it) */
        why[0] = '\0';
    else if (!why[0] || status == 0)
        snprintf(why, 500, "the self-test did not run (status %d)", status);
}

/* The first tier that holds; BOX_TIERS if none does, and `why` says why not, tier by tier. */
static box_tier find_tier(const char *secret, char why[2000]) {
    const char *asked = getenv("GRADLAB_TIER");
    why[0] = '\0';
    if (asked && *asked && (strlen(asked) != 1 || !strchr("ABC", *asked)))
        box_fail("GRADLAB_TIER=%s: it is A, B or C", asked);
    for (int tier = BOX_A; tier < BOX_TIERS; tier++) {
        if (asked && *asked && *asked != box_tier_names[tier][0]) continue;
        char one[500] = "";
        for (int p = 0; !one[0] && p < BOX_PROFILES; p++)
            try_tier((box_tier)tier, (box_profile)p, secret, one);
        if (!one[0]) return (box_tier)tier;
        size_t length = strlen(why);
        const char *said = strncmp(one, "box: ", 5) == 0 ? one + 5 : one;
        snprintf(why + length, 2000 - length, "%s%c: %s", length ? "; " : "",
                 box_tier_names[tier][0], said);
    }
    return BOX_TIERS;
}

static int say_tier(const char *secret) {
    char why[2000];
    box_tier tier = find_tier(secret, why);
    puts(tier < BOX_TIERS ? box_tier_names[tier] : why);
    return tier < BOX_TIERS ? 0 : 1;
}

/* ---- the command line ------------------------------------------------------------------------ */

static int run_command(char **word) {
    box_job job = {.tier = BOX_TIERS};
    const char *asked = getenv("GRADLAB_TIER");
    if (!*word) usage();
    job.profile = profile_of(*word++);
    for (; *word && strcmp(*word, "--") != 0; word++) {
        if (strncmp(*word, "see=", 4) == 0 && job.sees < BOX_SEES)
            job.see[job.sees++] = *word + 4;
        else if (strncmp(*word, "make=", 5) == 0)
            job.make = *word + 5;
        else if (strncmp(*word, "tree=", 5) == 0)
            job.tree = *word + 5;
        else if (strncmp(*word, "in=", 3) == 0)
            job.folder = *word + 3;
        else if (strncmp(*word, "spent=", 6) == 0)
            job.spent = *word + 6;
        else if (strncmp(*word, "of=", 3) == 0)
            job.of = *word + 3;
        else
            usage();
    }
    if (!*word || !word[1] || !job.spent != !job.of) usage();
    job.command = word + 1;
    if (!asked || strlen(asked) != 1 || !strchr("ABC", *asked))
        box_fail("GRADLAB_TIER says which tier: A, B or C (box tier)");
    job.tier = (box_tier)(*asked - 'A');
    return job.profile == BOX_BUILD ? box_watch(&job, run) : run(&job);
}

int main(int count, char **word) {
    if (count >= 2 && count <= 3 && strcmp(word[1], "tier") == 0)
        return say_tier(count == 3 ? word[2] : word[0]);
    if (count >= 3 && strcmp(word[1], "run") == 0) return run_command(word + 2);
    if (count == 4 && strcmp(word[1], "walls") == 0)
        return box_try_walls(profile_of(word[2]), word[3]) ? BOX_FAILED : puts(BOX_HELD) == EOF;
    if (count >= 6 && strcmp(word[1], "inner") == 0)
        be_first(&(box_inner){.profile = profile_of(word[2]),
                              .user = (uid_t)atol(word[3]),
                              .command = word + 5},
                 atoi(word[4]));
    usage();
}
