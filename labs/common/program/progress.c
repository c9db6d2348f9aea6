/* progress.c: the growing line (progress.h). */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(progress *p, size_t done) {
    const char *terminal = getenv("TERM");
    p->terminal = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    p->begin = p->drawn = now_seconds();
    p->before = done;
}

void progress_show(progress *p, long epoch, long epochs, size_t done, size_t total) {
    double now = now_seconds();
    if (!p->terminal || now - p->drawn < 0.1) return;
    p->drawn = now;
    char bar[BAR + 1];
    int filled = (int)((double)BAR * (double)done / (double)total);
    for (int i = 0; i < BAR; i++) bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    bar[BAR] = '\0';
    double rate = (double)(done - p->before) / (now - p->begin);
    fprintf(stderr, "\repoch %ld/%ld [%s] %zu/%zu  %.0f images/s  %.0f s left \033[K", epoch,
            epochs, bar, done, total, rate, (double)(total - done) / rate);
}

void progress_clear(progress *p) {
    if (p->terminal) fputs("\r\033[K", stderr);
}
