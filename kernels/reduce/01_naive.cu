/* 01_naive.cu: rung 1 of reduce: a thread for each sum, as one first writes it down.
 *
 * Idea: thread k adds the terms of sum k, one after the other.
 * Digits: not in one chain. n equal numbers added one by one lose a digit of float with every
 *   factor of ten: so pieces of PIECE terms are added, and then their sums. (tl/reduce.h)
 * What is wrong: a sum is one thread's. tl_sum is one thread of the whole GPU. And where the terms
 *   of a sum lie side by side, the 32 threads of a warp read 32 places far apart: a sector of 32
 *   bytes for each number of 4.
 * Bound: latency. A thread has a few loads on their way and waits some hundred cycles for them.
 * Shapes: all. */
#include "kernels/reduce/sums.h"
#include "tl/cuda.h"

enum { PIECE = 1024 };

static __global__ void add_naively(sums s) {
    for (size_t k = tl_thread(); k < s.kept; k += tl_threads()) {
        tl_real total = 0, piece = 0;
        int count = 0;
        for (size_t o = 0; o < s.outer; o++) {
            const tl_real *x = s.x + (o * s.kept + k) * s.inner;
            for (size_t i = 0; i < s.inner; i++) {
                piece += x[i];
                if (++count < PIECE) continue;
                total += piece;
                piece = 0;
                count = 0;
            }
        }
        sums_put(&s, k, total + piece);
    }
}

static tl_status launch(tl_ctx *ctx, const sums *s) {
    add_naively<<<tl_blocks(s->kept, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(*s);
    TL_LAUNCHED();
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_naive, launch)
