/* why.c: what is not written yet, and where to write it (why.h). */
#include "why.h"

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tl/status.h"

/* The only path that the pattern finds, in *path; false if there is none, or more than one. */
static bool find_one(char path[PATH_MAX], const char *pattern) {
    glob_t found = {0};
    bool one = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1;
    if (one) snprintf(path, PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    return one;
}

/* The line of a failure names a file without its folder: "matmul.c:12: tl_matmul is not …". (A line
 * that goes on behind these words comes from a program that has added the rest.) */
void say_why(const char *program) {
    const char *line = tl_error(), end[] = " is not implemented yet";
    const size_t length = strlen(line);
    const int name = (int)strcspn(line, ":"), task = (int)strcspn(line, ".");
    char pattern[PATH_MAX], path[PATH_MAX];
    fprintf(stderr, "%s: %s", program, line);
    if (length < strlen(end) || strcmp(line + length - strlen(end), end) != 0) return;
    snprintf(pattern, sizeof pattern, "labs/lab[0-9]/%.*s", name, line);
    if (!find_one(path, pattern)) return;
    const char lab = path[strlen("labs/lab")];
    fprintf(stderr, ": write %s first, then: make grade LAB=%c T=%.*s", path, lab, task, line);
    snprintf(pattern, sizeof pattern, "given/*/float/solution/lab%c", lab);
    if (find_one(path, pattern))
        fprintf(stderr,
                "; or type the same without MINE=1: then the reference of lab %c, which this "
                "handout has, takes its place",
                lab);
}
