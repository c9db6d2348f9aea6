/* text.c: pictures, bars and curves as characters (show.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show.h"

/* From dark to bright, as on a dark terminal. */
static const char ramp[] = " .:-=+*#%@";
enum { LEVELS = sizeof ramp - 1, BAR = 60, CURVE_ROWS = 10, CURVE_COLUMNS = 60 };

static char shade(double value) {
    if (!(value > 0)) return ramp[0]; /* NaN, too */
    int level = (int)(value * LEVELS);
    return ramp[level < LEVELS ? level : LEVELS - 1];
}

/* A character is about twice as high as wide. */
static char pair(const show_picture *p, int row, int column) {
    double upper = p->value[2 * row * p->w + column];
    double lower = 2 * row + 1 < p->h ? p->value[(2 * row + 1) * p->w + column] : upper;
    return shade((upper + lower) / 2);
}

void show_pictures(const show_picture *picture, int count) {
    int rows = 0;
    for (int i = 0; i < count; i++) {
        printf("%-*s%s", picture[i].w, picture[i].name, i < count - 1 ? "  " : "\n");
        if ((picture[i].h + 1) / 2 > rows) rows = (picture[i].h + 1) / 2;
    }
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < count; i++) {
            for (int c = 0; c < picture[i].w; c++)
                putchar(2 * row < picture[i].h ? pair(&picture[i], row, c) : ' ');
            fputs(i < count - 1 ? "  " : "\n", stdout);
        }
}

void show_bars(const char *const name[], const double value[], int count, const char *unit) {
    double most = 0;
    int width = 0;
    for (int i = 0; i < count; i++) {
        if (value[i] > most) most = value[i];
        if ((int)strlen(name[i]) > width) width = (int)strlen(name[i]);
    }
    for (int i = 0; i < count; i++) {
        int length = most > 0 ? (int)lround(BAR * value[i] / most) : 0;
        printf("  %-*s |", width, name[i]);
        for (int k = 0; k < length; k++) putchar('#');
        printf(" %.3g %s\n", value[i], unit);
    }
}

void show_curve(const double value[], int count, const char *below) {
    double least = INFINITY, most = -INFINITY;
    int columns = count < CURVE_COLUMNS ? count : CURVE_COLUMNS, at[CURVE_COLUMNS];
    for (int i = 0; i < count; i++) {
        if (value[i] < least) least = value[i];
        if (value[i] > most) most = value[i];
    }
    double span = most > least ? most - least : 1;
    for (int c = 0; c < columns; c++) {
        double y = value[columns > 1 ? c * (count - 1) / (columns - 1) : 0];
        /* what is no number has no place */
        at[c] = isfinite(y) ? (int)lround((most - y) / span * (CURVE_ROWS - 1)) : -1;
    }
    for (int row = 0; row < CURVE_ROWS; row++) {
        if (row == 0 || row == CURVE_ROWS - 1)
            printf("  %8.3f |", row == 0 ? most : least);
        else
            printf("  %8s |", "");
        for (int c = 0; c < columns; c++) putchar(at[c] == row ? '*' : ' ');
        putchar('\n');
    }
    printf("  %8s +", "");
    for (int c = 0; c < columns; c++) putchar('-');
    printf("\n  %8s  %s\n", "", below);
}

tl_status show_write_picture(show *s, const show_picture *p) {
    jsonl_begin(s->j);
    jsonl_text(s->j, "kind", "picture");
    jsonl_text(s->j, "name", p->name);
    jsonl_whole(s->j, "h", (uint64_t)p->h);
    jsonl_whole(s->j, "w", (uint64_t)p->w);
    jsonl_numbers(s->j, "value", p->value, p->h * p->w);
    return jsonl_end(s->j);
}
