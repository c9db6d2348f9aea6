/* call_remote_end.c: how a worker came to its end, as a kind and in words for whoever wrote the
 * code.
 */
#define _GNU_SOURCE
#include "call_remote.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void remote_conclude(call_wire *w, const char *kind, const char *format, ...) {
    va_list arguments;
    snprintf(w->kind, sizeof w->kind, "%s", kind);
    va_start(arguments, format);
    vsnprintf(w->ended, sizeof w->ended, format, arguments);
    va_end(arguments);
}

#define BUBBLEWRAP "bwrap: " /* so it begins what it says, and ends with 1, as a worker may */

static void conclude_exit(call_wire *w, int code, const remote_trace *trace, const char *unopened) {
    bool opened = unopened == NULL;
    if (code == WORKER_CRASHED && trace->crashed)
        remote_conclude(w, trace->memory ? "memory" : "crash", "%s%s", trace->text,
                        trace->memory ? " (after taking all the memory it may have)" : "");
    else if (code == WORKER_LOST_PIPE)
        remote_conclude(w, "closed",
                        "your code closed a file that it had not opened (number 3 or 4)");
    else if (code == WORKER_NO_MEMORY)
        remote_conclude(w, "memory", "no memory is left in the process that runs your code");
    else if (code == WORKER_BAD_REQUEST && !opened)
        remote_conclude(w, "grader", "grader and worker are of different builds: run make again");
    else if (code == WORKER_SANITIZED)
        remote_conclude(w, "sanitizer", "a sanitizer stopped it: see what the program printed");
    else if (code == WORKER_NOT_STARTED && !opened)
        remote_conclude(w, "machine", "the worker could not be started");
    else if (code == WORKER_WITHOUT_BOX && !opened)
        remote_conclude(w, "machine", "no box could be built around the worker");
    else if (!opened && strncmp(unopened, BUBBLEWRAP, strlen(BUBBLEWRAP)) == 0)
        remote_conclude(w, "machine",
                        "no box could be built around the worker: bubblewrap says: "
                        "%.*s",
                        (int)strcspn(unopened + strlen(BUBBLEWRAP), "\n"),
                        unopened + strlen(BUBBLEWRAP));
    else
        remote_conclude(w, "exit", "your code ended the whole program with exit(%d)", code);
}

void remote_conclude_disturbed(call_wire *w) {
    remote_conclude(w, "machine",
                    "the process that runs the code was ended from outside (SIGKILL): not by the "
                    "code, and at no limit");
}

void remote_conclude_end(call_wire *w, int status, const remote_trace *trace,
                         const char *unopened) {
    if (WIFEXITED(status))
        conclude_exit(w, WEXITSTATUS(status), trace, unopened);
    else if (WTERMSIG(status) == SIGKILL)
        remote_conclude(w, "crash",
                        "the process was killed (SIGKILL): by itself, or by the machine when "
                        "memory ran out");
    else if (WTERMSIG(status) == SIGXFSZ)
        remote_conclude(w, "flood", "it wrote a file of more than %d MB", REMOTE_FILE >> 20);
    else
        remote_conclude(w, "crash", "%s%s",
                        trace->crashed ? trace->text : strsignal(WTERMSIG(status)),
                        trace->crashed ? "" : " (no line is known)");
}

/* "im2col.cu:7: hostcuda [out-of-bounds]: …" becomes the kind out_of_bounds. */
void remote_conclude_checker(call_wire *w, const char *message) {
    const char *open = strchr(message, '[');
    remote_conclude(w, open ? open + 1 : "checker", "%s", message);
    w->kind[strcspn(w->kind, "]")] = '\0';
    for (char *p = w->kind; *p; p++)
        if (*p == '-') *p = '_';
}
