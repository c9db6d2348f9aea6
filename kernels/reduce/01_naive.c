/* 01_naive.c: rung 1 of reduce on cpu: one number after the other.
 *
 * Idea: the formula. Pieces of PIECE terms are added, and then their sums: one chain would lose a
 *   digit of float with every factor of ten (tl/reduce.h).
 * What is wrong: each addition waits for the one before, four cycles, while a core could begin two
 *   vectors of them in every cycle. Compilers may not help: another order gives other bits. And the
 *   sums of columns go down one column after the other, a cache line for each number.
 * Bound: the latency of an addition: a quarter of the clock, in numbers a second.
 * Shapes: all. One thread. */
#include "kernels/reduce/sums.h"

enum { PIECE = 1024 };

static tl_status add_naively(tl_ctx *ctx, const sums *s) {
    (void)ctx;
    for (size_t k = 0; k < s->kept; k++) {
        tl_real total = 0, piece = 0;
        int count = 0;
        for (size_t o = 0; o < s->outer; o++) {
            const tl_real *x = s->x + (o * s->kept + k) * s->inner;
            for (size_t i = 0; i < s->inner; i++) {
                piece += x[i];
                if (++count < PIECE) continue;
                total += piece;
                piece = 0;
                count = 0;
            }
        }
        sums_put(s, k, total + piece);
    }
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_naive, add_naively)
