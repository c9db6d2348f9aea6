/* show.h: what a ladder found, as rows of a table and as lines of results. */
#ifndef BENCH_SHOW_H
#define BENCH_SHOW_H

#include "ladder.h"
#include "programs/jsonl.h"

typedef struct shown {
    const bench_case *which;
    const bench_shape *shape;
    uint64_t seed;
    double base[CACHES];                   /* the medians of rung 0, of the plain path ... */
    double library[TL_PRECISIONS][CACHES]; /* ... and of those by the vendor's library; 0: none */
    jsonl *out;
} shown;

/* What is timed, and the columns. */
void show_heading(const ladder *l, const shown *s);
/* A row, and a line, for each rung that took part, warm and cold. */
tl_status show_rungs(const ladder *l, const shown *s);

#endif
