/* 02_tree.cu: rung 2 of reduce: a block for each sum, whose threads combine what they have as a
 * tree in shared memory.
 *
 * Idea: thread t adds terms t, t + threads, …; then half of the threads add the other half's sums
 *   to theirs, a quarter, and so on. Which thread adds what follows from sizes alone, so every run
 *   has the same bits; atomics would add in the order in which threads happen to arrive.
 * Before: one thread waited for each number alone. Now up to 1,024 loads are on their way, and
 *   neighbours read neighbours where a sum's terms lie side by side.
 * What is wrong: ten steps with a barrier after each, in the last five of which one warp of 32 has
 *   work; for a sum of few terms that is most of the time.
 * Bound: barriers for short sums. For long ones latency again: a block has one load a thread on its
 *   way, and a sum is one block's.
 * Banks: in each step neighbours touch neighbours: no conflict. (With `t % (2 * half) == 0` in
 *   place of `t < half` they would be 2, 4, 8 … apart, and meet in a bank.)
 * Shapes: all. */
#include "kernels/reduce/walk.h"

enum { MOST = 1024 };

static __global__ void add_by_tree(sums s) {
    __shared__ tl_real part[MOST];
    size_t k = blockIdx.x;
    tl_real mine = 0;
    for (walk w(s, k, threadIdx.x, blockDim.x); w.o < s.outer; w.step(s)) mine += *w.at(s);
    part[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads(); /* the next step reads what other threads have written */
    }
    if (threadIdx.x == 0) sums_put(&s, k, part[0]);
}

static tl_status launch(tl_ctx *ctx, const sums *s) {
    unsigned threads = sums_threads(sums_terms(s), MOST);
    add_by_tree<<<(unsigned)s->kept, threads, 0, tl_stream(ctx)>>>(*s);
    TL_LAUNCHED();
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_tree, launch)
