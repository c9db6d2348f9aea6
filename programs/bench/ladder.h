/* ladder.h: the rungs of a device, each in a context of its own, timed in turns at one shape of one
 * operation. */
#ifndef BENCH_LADDER_H
#define BENCH_LADDER_H

#include "programs/ceilings.h"
#include "question.h"

enum { RUNGS_MOST = 48, RUNG_NAME = 32, SAMPLES_MOST = 1000 };

typedef struct bench_shape {
    const char *family, *name;
    bool gpu_alone; /* a cpu would take minutes */
    int number[BENCH_NUMBERS];
    int numbers;
} bench_shape;
extern const bench_shape bench_shapes[]; /* cases.c; a name of NULL ends them */

/* Caches as they are after a run of the same, and after other memory has gone through them. */
typedef enum bench_cache { WARM, COLD, CACHES } bench_cache;
extern const char *const bench_cache_names[CACHES];

typedef struct quartiles {
    double low, median, high;
} quartiles;

typedef struct bench_rung {
    char name[RUNG_NAME]; /* "0": the plain path; "conv2d:3"; "mine" */
    bool library;         /* "0" of another precision than float's: the vendor's library */
    bool stored;          /* its operands are stored in its precision (stored_gemm) */
    tl_ctx *ctx;
    bench b;
    bool taking_part; /* it replaces the operation at hand, and was right */
    bool wrong;
    double error_of_bound;
    double sample[CACHES][SAMPLES_MOST];
    quartiles time[CACHES];
    uint64_t launches, sectors, conflicts; /* on hostcuda, of one run */
} bench_rung;

typedef struct ladder {
    bench_rung rung[RUNGS_MOST];
    int rungs, samples;
    bool counts;       /* hostcuda: its times are not speeds, so memory traffic is counted */
    size_t cold_bytes; /* written between two samples of COLD */
    void *cold_block;
    ceilings most[TL_PRECISIONS]; /* .flops is 0: not measured */
} ladder;

/* Opens rung 0 and those wanted ("all", or a list of numbers and names) on the device, for each
 * other precision than float's that they compute in the library's rung 0, and measures ceilings,
 * float's unless `known` has them. A program without rungs is one of a student's files: its plain
 * path is the rung `mine`. */
tl_status ladder_open(ladder *l, const char *device, int threads, const char *wanted,
                      const ceilings *known);
void ladder_close(ladder *l);
bool ladder_wants(const char *list, const char *name); /* whether a list of RUNG= has the name */

/* Makes the operation's arrays on every rung that replaces it. Rung 0 takes part where the plain
 * path has the operation: a fused one it has not. */
tl_status ladder_set(ladder *l, const bench_case *which, const bench_shape *shape);
/* Asks every rung that takes part; one that is wrong is named on stderr and leaves. */
tl_status ladder_ask(ladder *l, const bench_case *which, const bench_shape *shape, uint64_t seed,
                     bool *all_right);
/* Times, or on hostcuda counts, those that take part: one sample of each in turn. */
tl_status ladder_time(ladder *l);
void ladder_clear(ladder *l);

/* The least seconds that the ceilings of its precision leave for what b must compute and move; 0:
 * they were not measured. */
double ladder_floor(const ladder *l, const bench *b);

#endif
