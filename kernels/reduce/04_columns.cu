/* 04_columns.cu: rung 4 of reduce: where sums lie side by side, so do their threads.
 *
 * Idea: in [rows, cols] the terms of a column are `cols` apart, but those of 32 columns that stand
 *   in one row are neighbours. So lane j of a warp adds column j, the warps of a block take every
 *   LANES-th row, and what they have of a column is added in shared memory in the order of the
 *   warps.
 * Before: a block for each column; its threads read a number of each row and threw seven eighths of
 *   every sector away. Blocks of the other columns fetched them again.
 * What is wrong: one load a thread on its way; a matrix of few columns is few blocks.
 * Bound: latency.
 * Banks: a warp writes a row of `part` and reads a row: no conflict.
 * Shapes: all. Columns are sums whose terms lie in groups of less than NEAR: a sector holds 8
 *   floats. Others, whose terms lie side by side, are rung 3's. */
#include "kernels/reduce/walk.h"
#include "kernels/reduce/warp.h"

enum { NEAR = 8, LANES = 16, MOST = 1024 };

static __global__ void add_columns(sums s) {
    __shared__ tl_real part[LANES][WARP];
    size_t k = (size_t)blockIdx.x * WARP + threadIdx.x;
    tl_real mine = 0;
    if (k < s.kept)
        for (walk w(s, k, threadIdx.y, LANES); w.o < s.outer; w.step(s)) mine += *w.at(s);
    part[threadIdx.y][threadIdx.x] = mine;
    __syncthreads(); /* reached by threads beyond the last column as well */
    if (threadIdx.y > 0 || k >= s.kept) return;
    tl_real sum = 0;
    for (int lane = 0; lane < LANES; lane++) sum += part[lane][threadIdx.x];
    sums_put(&s, k, sum);
}

static __global__ void add_rows(sums s) {
    size_t k = blockIdx.x;
    tl_real mine = 0;
    for (walk w(s, k, threadIdx.x, blockDim.x); w.o < s.outer; w.step(s)) mine += *w.at(s);
    tl_real sum = block_sum(mine);
    if (threadIdx.x == 0) sums_put(&s, k, sum);
}

static tl_status launch(tl_ctx *ctx, const sums *s) {
    if (s->inner < NEAR && s->kept > 1) {
        unsigned blocks = (unsigned)((s->kept - 1) / WARP + 1);
        add_columns<<<blocks, dim3(WARP, LANES), 0, tl_stream(ctx)>>>(*s);
    } else {
        unsigned threads = sums_threads(sums_terms(s), MOST);
        add_rows<<<(unsigned)s->kept, threads, 0, tl_stream(ctx)>>>(*s);
    }
    TL_LAUNCHED();
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_columns, launch)
