/* progress.c: the growing line (progress.h). */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_BAR = 30, SHORTEST_BAR = 6, COLUMNS = 80 };
/* The parts of the line beside its bar, as they are printed. */
enum { EPOCH, COUNT, RATE, LEFT, PARTS };

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

/* Asked at each redraw: a window changes its size. A terminal that does not know says 0. */
static int columns(void) {
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : COLUMNS;
}

/* Empties the parts that do not fit into `room`, those that say least first; returns what is left
 * of it. */
static int fit(char part[PARTS][48], int room) {
    static const int by_worth[PARTS] = {EPOCH, LEFT, COUNT, RATE};
    for (int i = 0; i < PARTS; i++) {
        char *text = part[by_worth[i]];
        int length = (int)strlen(text);
        if (length > room) text[0] = '\0';
        room -= (int)strlen(text);
    }
    return room;
}

/* " [=====>    ]" of at most `room` columns, or nothing. */
static void draw_bar(char text[LONGEST_BAR + 4], int room, double share) {
    int length = room - 3 < LONGEST_BAR ? room - 3 : LONGEST_BAR;
    text[0] = '\0';
    if (length < SHORTEST_BAR) return;
    char bar[LONGEST_BAR + 1];
    int filled = (int)(length * share);
    for (int i = 0; i < length; i++) bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    bar[length] = '\0';
    snprintf(text, LONGEST_BAR + 4, " [%s]", bar);
}

void progress_show(progress *p, long epoch, long epochs, size_t done, size_t total) {
    double now = now_seconds();
    if (!p->terminal || now - p->drawn < 0.1) return;
    p->drawn = now;
    double rate = (double)(done - p->before) / (now - p->begin);
    char part[PARTS][48], bar[LONGEST_BAR + 4];
    snprintf(part[EPOCH], sizeof part[EPOCH], "epoch %ld/%ld", epoch, epochs);
    snprintf(part[COUNT], sizeof part[COUNT], " %zu/%zu", done, total);
    snprintf(part[RATE], sizeof part[RATE], "  %.0f images/s", rate);
    snprintf(part[LEFT], sizeof part[LEFT], "  %.0f s left", (double)(total - done) / rate);
    /* the last column stays free: behind it the cursor would be in the next row */
    int room = fit(part, columns() - 1);
    draw_bar(bar, room, (double)done / (double)total);
    fprintf(stderr, "\r%s%s%s%s%s\033[K", part[EPOCH], bar, part[COUNT], part[RATE], part[LEFT]);
}

void progress_clear(progress *p) {
    if (p->terminal) fputs("\r\033[K", stderr);
}
