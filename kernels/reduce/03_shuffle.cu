/* 03_shuffle.cu: rung 3 of reduce: the threads of a warp hand their sums to each other, without
 * shared memory.
 *
 * Idea: __shfl_xor_sync reads a register of another thread of the warp. Five shuffles add up 32
 *   numbers; then one number a warp goes through shared memory, and five more add those. The code
 *   is block_sum of warp.h; the loop over the terms is rung 2's.
 * Before: ten barriers, and three accesses of shared memory for each addition of the tree. Now one
 *   barrier, and none where a sum has up to 32 terms.
 * What is wrong: where a sum's terms lie `kept` apart (sum_rows, the gradient of a linear layer's
 *   bias), neighbours still read numbers far apart: a sector for each.
 * Bound: latency, as in rung 2; sectors for columns.
 * Shapes: all. */
#include "kernels/reduce/walk.h"
#include "kernels/reduce/warp.h"

enum { MOST = 1024 };

static __global__ void add_by_warps(sums s) {
    size_t k = blockIdx.x;
    tl_real mine = 0;
    for (walk w(s, k, threadIdx.x, blockDim.x); w.o < s.outer; w.step(s)) mine += *w.at(s);
    tl_real sum = block_sum(mine);
    if (threadIdx.x == 0) sums_put(&s, k, sum);
}

static tl_status launch(tl_ctx *ctx, const sums *s) {
    unsigned threads = sums_threads(sums_terms(s), MOST);
    add_by_warps<<<(unsigned)s->kept, threads, 0, tl_stream(ctx)>>>(*s);
    TL_LAUNCHED();
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_shuffle, launch)
