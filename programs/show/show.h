/* show.h: what a lab has come to, to look at: made with a student's own files of that lab.
 *
 * Each lab's program runs its operations through the dispatch table, prints what came out as text,
 * and writes the same numbers as JSON lines, of which report/show.py makes a picture. */
#ifndef GRADLAB_SHOW_H
#define GRADLAB_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/jsonl.h"
#include "tl/context.h"

enum { SHOW_BLOCKS = 64 };

typedef struct show {
    tl_ctx *ctx;
    const char *out, *resume; /* resume: NULL if not given */
    const char *device;       /* as asked for */
    long threads;
    uint64_t seed;
    jsonl *j; /* the line of origin is written; each lab adds lines of its own */
    void *block[SHOW_BLOCKS];
    int blocks;
} show;

typedef tl_status (*show_fn)(show *s);
tl_status show_lab1(show *s); /* your matrix product beside the naive one and BLAS */
tl_status show_lab2(show *s); /* a picture through your convolution */
tl_status show_lab3(show *s); /* a net chained by hand, whose loss falls */
tl_status show_lab4(show *s); /* two spirals, learned by your tape */
tl_status show_lab5(show *s); /* your net's answers, filters and mistakes */

/* ---- arrays on the device, given back when the program ends ---- */

/* n numbers, copied from host, or zero where that is NULL. */
tl_status show_array(show *s, tl_real **array, size_t n, const tl_real *host);
tl_status show_bytes(show *s, void **block, size_t bytes, const void *host);
/* Copies between them and the host; they wait for what is queued. */
tl_status show_put(const show *s, tl_real *array, const tl_real *host, size_t n);
tl_status show_get(const show *s, tl_real *host, const tl_real *array, size_t n);
void show_release(show *s);
/* Whether the device's work is done by a processor that plays a GPU: its times mean nothing. */
bool show_emulated(const show *s);
/* A number from -1 to 1: the i-th of a stream. */
double show_draw(const show *s, uint32_t stream, uint64_t i);

/* ---- text (text.c) ---- */

typedef struct show_picture {
    const char *name;
    int h, w;
    const double *value; /* [h,w], 0 is dark and 1 is bright; what lies outside is cut */
} show_picture;

/* Pictures beside each other, their names above: a character for two rows of a column. */
void show_pictures(const show_picture *picture, int count);
/* A bar of # for each name, the longest for the largest value. */
void show_bars(const char *const name[], const double value[], int count, const char *unit);
/* A curve over its index, with the largest and the smallest value at the left. */
void show_curve(const double value[], int count, const char *below);

/* A line {"kind": "picture", …}. */
tl_status show_write_picture(show *s, const show_picture *p);

#endif
