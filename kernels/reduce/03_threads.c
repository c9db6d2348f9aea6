/* 03_threads.c: rung 3 of reduce on cpu: pieces that the geometry makes, for threads to share.
 *
 * Idea: strips of columns, rows, or the pieces of one long row: a thread takes what comes next, and
 *   each leaves its result in a place of its own. What is left of a long row is added in the order
 *   of the pieces, whichever thread has made them. An OpenMP `reduction` would add one sum for each
 *   thread, and so give other bits with another number of threads.
 * Before: one core. Now all of them, where there are terms enough to wake them for.
 * Bound: the bandwidth of memory, or of the shared cache.
 * Shapes: all. Below PARALLEL_FROM terms in all, one thread: the same pieces, the same bits. */
#include "kernels/reduce/lanes.h"

enum { PIECES = 64, PARALLEL_FROM = 1 << 15 };

/* One row by many: pieces of at least SUM_PIECE terms. (inner is all of it: one image) */
static tl_real add_long_row(const tl_ctx *ctx, const tl_real *x, size_t n) {
    tl_real partial[PIECES], sum = 0;
    size_t length = (n - 1) / PIECES + 1;
    if (length < SUM_PIECE) length = SUM_PIECE;
    size_t pieces = (n - 1) / length + 1;
#pragma omp parallel for num_threads(ctx->threads) if (n >= PARALLEL_FROM)
    for (size_t p = 0; p < pieces; p++) {
        size_t first = p * length;
        const sums piece = {NULL, x + first, 1, 1, n - first < length ? n - first : length, false};
        partial[p] = add_row(&piece, 0);
    }
    for (size_t p = 0; p < pieces; p++) sum += partial[p];
    return sum;
}

static tl_status add_by_threads(tl_ctx *ctx, const sums *s) {
    bool many = sums_terms(s) * s->kept >= PARALLEL_FROM;
    if (s->kept == 1) {
        sums_put(s, 0, add_long_row(ctx, s->x, s->inner));
    } else if (s->inner == 1) {
#pragma omp parallel for num_threads(ctx->threads) if (many)
        for (size_t k = 0; k < s->kept; k += COLUMNS)
            add_columns(s, k, s->kept - k < COLUMNS ? s->kept - k : COLUMNS);
    } else {
#pragma omp parallel for num_threads(ctx->threads) if (many)
        for (size_t k = 0; k < s->kept; k++) sums_put(s, k, add_row(s, k));
    }
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_threads, add_by_threads)
