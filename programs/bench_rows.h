/* bench_rows.h: operations of the dispatch table run for their time alone, by their rows in
 * tl/ops.def.
 *
 * What is timed is called by its row, "gemm", or by what its rows begin with: "conv2d" is
 * conv2d_fwd and then every conv2d_bwd…. Arrays go by the names of their arguments, so that
 * forward's y is backward's y. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "tl/backend.h"

enum { BENCH_ROWS = 8, BENCH_ARGUMENTS = 12, BENCH_ARRAYS = 24, BENCH_NUMBERS = 24 };

typedef enum bench_use {
    BENCH_INPUT,   /* read before any row has written it: its values come from elsewhere */
    BENCH_RESULT,  /* written, or added to: then it begins with zeros */
    BENCH_SCRATCH, /* a workspace */
} bench_use;

typedef enum bench_element {
    BENCH_OTHER,
    BENCH_REAL,
    BENCH_INT32,
    BENCH_BYTE,
    BENCH_SUMS
} bench_element;

typedef struct bench_array {
    const char *name;
    bench_use use;
    bool added; /* a gradient */
    bench_element element;
    size_t bytes;
    void *block; /* memory of the device */
} bench_array;

/* One row: its function, and its arguments in their order, as pointers. */
typedef struct bench_row {
    tl_status (*run)(tl_ctx *ctx, void *const *argument);
    void *argument[BENCH_ARGUMENTS];
    bool backward;
    double flops, bytes; /* what it must at least compute, read and write (tl/ops.def) */
} bench_row;

typedef struct bench {
    tl_ctx *ctx;
    bench_row row[BENCH_ROWS];
    bench_array array[BENCH_ARRAYS];
    int rows, arrays;
    int number[BENCH_NUMBERS]; /* sizes, as they were asked for */
    int numbers;
    /* geometry of each row, and its other values: as many bytes as the largest struct takes */
    max_align_t value[BENCH_ROWS][BENCH_ARGUMENTS][16];
} bench;

/* Memory for everything that `name` needs with these numbers: those of its rows' geometry, field by
 * field up to what its check fills in (tl/geometry.h), or of its VALUE arguments; a bool is true
 * (`relu`, and `fresh`: as planned nets call). TL_EINVAL where there is no such operation, or its
 * geometry is more than whole numbers. A device may lack a fused row: then b is not to be run. */
tl_status bench_set(bench *b, const char *name, const int *number, int numbers);

/* Whether the device has the row, which of the fused ones it may lack, and with b's geometry. */
bool bench_there(const bench *b);

/* Queues forward; with `both` also every gradient, from zeros on. */
tl_status bench_run(const bench *b, bool both);

void bench_clear(bench *b);

#endif
