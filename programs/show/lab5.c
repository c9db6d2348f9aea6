/* lab5.c: a net trained by your loop, and what it says of pictures (show.h).
 *
 * `train` and `predict` lie beside this program, made of the same files: they are started as make
 * starts them, and what they write is for report/show.py to print and draw. Where one of them ends
 * because something is not written yet, this program says so as for every lab. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "show.h"
#include "tl/status_internal.h"

enum { WORD = PATH_MAX + 16, WORDS = 12 };

static tl_status beside(char path[PATH_MAX], const char *program) {
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    TL_NEED(length > 0, TL_EIO, "this program does not find itself in /proc");
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    TL_NEED(strlen(own) + strlen(program) + 2 <= PATH_MAX, TL_EIO, "the path %s is too long", own);
    snprintf(path, PATH_MAX, "%.*s/%.*s", PATH_MAX - 32, own, 30, program);
    return TL_OK;
}

/* Passes stderr of the program on, and keeps its last line. */
static void pass_on(FILE *from, const char *program, char last[512]) {
    char line[512];
    size_t name = strlen(program);
    while (fgets(line, sizeof line, from)) {
        line[strcspn(line, "\n")] = '\0';
        bool its_own = strncmp(line, program, name) == 0 && strncmp(line + name, ": ", 2) == 0;
        if (its_own)
            snprintf(last, 512, "%s", line + name + 2);
        else
            fprintf(stderr, "%s\n", line);
    }
}

/* Starts a program beside this one; what it says when it fails becomes this one's failure. */
static tl_status start(const char *program, char word[WORDS][WORD], int words) {
    char path[PATH_MAX], last[512] = "", *argument[WORDS + 2] = {path};
    int pipe_of[2], status = 0;
    TL_TRY(beside(path, program));
    for (int i = 0; i < words; i++) argument[i + 1] = word[i];
    TL_NEED(pipe(pipe_of) == 0, TL_EIO, "no pipe to %s", program);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_of[1], STDERR_FILENO);
        close(pipe_of[0]);
        close(pipe_of[1]);
        execv(path, argument);
        _exit(127);
    }
    close(pipe_of[1]);
    FILE *from = fdopen(pipe_of[0], "r");
    if (from) {
        pass_on(from, program, last);
        fclose(from);
    }
    TL_NEED(child > 0 && waitpid(child, &status, 0) == child, TL_EIO, "no process for %s", program);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TL_OK;
    TL_NEED(last[0], TL_EINVAL, "%s ended without a word", path);
    tl_error_set(last);
    return strstr(last, "is not implemented yet") ? TL_ENOTIMPL : TL_EINVAL;
}

tl_status show_lab5(show *s) {
    char word[WORDS][WORD], checkpoint[PATH_MAX];
    int words = 0;
    snprintf(word[words++], WORD, "DEVICE=%s", s->device);
    snprintf(word[words++], WORD, "THREADS=%ld", s->threads);
    snprintf(word[words++], WORD, "SEED=%llu", (unsigned long long)s->seed);
    snprintf(word[words++], WORD, "OUT=%s", s->out);
    snprintf(word[words++], WORD, "LIMIT=2000");
    if (s->resume) {
        snprintf(checkpoint, sizeof checkpoint, "%s", s->resume);
    } else {
        int common = words;
        snprintf(checkpoint, sizeof checkpoint, "%.4000s/checkpoint", s->out);
        snprintf(word[words++], WORD, "EPOCHS=4");
        TL_TRY(start("train", word, words));
        words = common;
    }
    snprintf(word[words++], WORD, "RESUME=%s", checkpoint);
    return start("predict", word, words);
}
