/* report.c: messages. Each is one block of text, written at once, whose first line starts with
 * file:line so that editors jump there:
 *
 *     lab1.cu:17: hostcuda [out-of-bounds]: writes 4 bytes past the end of a buffer
 *         kernel   add<<<(4,1,1), (256,1,1)>>>, launched at lab1.cu:41
 *         ...
 */
#define _GNU_SOURCE
#include "internal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REPORTS_MAX = 50 };

static bool telling;
static int printed;
static char seen[REPORTS_MAX][120];

void hc_add(hc_text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof t->text - t->used;
    int n = vsnprintf(t->text + t->used, room, format, arguments);
    va_end(arguments);
    if (n > 0) t->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* A path below the working directory is shown from there. */
const char *hc_report_shorten(const char *file) {
    static char here[1000];
    if (!here[0] && !getcwd(here, sizeof here)) here[0] = '?';
    size_t n = strlen(here);
    return strncmp(file, here, n) == 0 && file[n] == '/' ? file + n + 1 : file;
}

void hc_report_begin(hc_text *t, const char *kind, const char *file, int line) {
    t->used = 0;
    hc_add(t, "%s:%d: hostcuda [%s]: ", file ? hc_report_shorten(file) : "?", line, kind);
}

void hc_report_thread(hc_text *t) {
    const hc_worker *w = hc_self;
    if (!w || !w->launch) return;
    const hc_launch *l = w->launch;
    hc_add(t, "\n    kernel   %s<<<(%u,%u,%u), (%u,%u,%u)>>>, launched at %s:%d", l->kernel,
           l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z,
           hc_report_shorten(l->site.file), l->site.line);
    hc_add(t, "\n    thread   block (%u,%u,%u), thread (%u,%u,%u)", blockIdx.x, blockIdx.y,
           blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}

void hc_report_likely(hc_text *t, const char *mistake) {
    if (*mistake) hc_add(t, "\n    likely   %s", mistake);
}

void hc_add_element(hc_text *t, const char *name, int name_length, size_t element, size_t row,
                    long offset, size_t bytes) {
    if (!element) return;
    long unit = (long)element, at = offset >= 0 ? offset / unit : -((unit - 1 - offset) / unit);
    long in_row = row > element && row < bytes ? (long)(row / element) : 0;
    hc_add(t, ": %.*s", name_length, name);
    if (in_row && at >= 0)
        hc_add(t, "[%ld][%ld] of %zu times %ld", at / in_row, at % in_row, bytes / row, in_row);
    else
        hc_add(t, "[%ld] of %zu", at, bytes / element);
}

/* The name is what stands first in the call: cudaMalloc((void **)&x, n) has made x. */
void hc_add_buffer_element(hc_text *t, const hc_buffer *b, long offset) {
    const char *name = b->named ? b->named : "";
    if (*name == '(' && strchr(name, ')')) name = strchr(name, ')') + 1;
    name += strspn(name, " &");
    int length = (int)strcspn(name, ",");
    bool plain = length > 0 && length < 40 && !memchr(name, '(', (size_t)length);
    hc_add_element(t, plain ? name : "buffer", plain ? length : 6, b->element, 0, offset, b->bytes);
}

static void put_line(int file, const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(file, text, bytes);
        if (n <= 0) return;
        text += n;
        bytes -= (size_t)n;
    }
}

/* The log gets the first line alone: it is for programs, stderr for people. */
static void put_log(const hc_text *t) {
    if (!hc_options_get()->log) return;
    const char *log = hc_options_get()->log;
    int file = strncmp(log, "fd:", 3) == 0
                   ? fcntl(atoi(log + 3), F_DUPFD_CLOEXEC, 0)
                   : open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return;
    const char *end = memchr(t->text, '\n', t->used);
    char line[1000];
    int n =
        snprintf(line, sizeof line, "%.*s\n", (int)(end ? end - t->text : (long)t->used), t->text);
    put_line(file, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    close(file);
}

/* True if the same mistake at the same place was reported, or enough were. */
static bool is_told(const hc_text *t) {
    char head[120];
    const char *stop = strstr(t->text, "]: ");
    snprintf(head, sizeof head, "%.*s", (int)(stop ? stop - t->text : 100), t->text);
    for (int i = 0; i < printed; i++)
        if (strcmp(seen[i], head) == 0) return true;
    if (printed == REPORTS_MAX) return true;
    strcpy(seen[printed++], head);
    return false;
}

/* Two workers may find the same mistake at the same moment, in a signal handler, where a mutex must
 * not be waited for. Nor for ever: whoever faults while it reports would wait for itself. */
static void begin_telling(void) {
    for (int ms = 0; ms < 1000 && __atomic_test_and_set(&telling, __ATOMIC_ACQUIRE); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void hc_report_end(hc_text *t) {
    begin_telling();
    if (!is_told(t)) {
        hc_add(t, "\n    again    HOSTCUDA_SEED=%llu repeats this run\n",
               (unsigned long long)hc_options_get()->seed);
        put_line(STDERR_FILENO, t->text, t->used);
        put_log(t);
    }
    __atomic_clear(&telling, __ATOMIC_RELEASE);
}

void hc_complain(const char *kind, const char *file, int line, const char *likely,
                 const char *format, ...) {
    hc_text t;
    char what[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    hc_report_begin(&t, kind, file, line);
    hc_add(&t, "%s", what);
    hc_report_likely(&t, likely);
    hc_report_end(&t);
}
