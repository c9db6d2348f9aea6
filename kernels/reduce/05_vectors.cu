/* 05_vectors.cu: rung 5 of reduce: several numbers with one load, and several loads on their way.
 *
 * Idea: a thread asks for 4 neighbours with one instruction, and for 8 numbers (in double 4) before
 *   it waits for the first. Each of the 4 has a sum of its own, so additions do not wait for each
 *   other either. The loop is add_share of 05_vectors.h.
 * Before: a load, a wait of some hundred cycles, an addition, the next load. An SM has room for
 *   2,048 threads, and with one float each they keep 8 KB on their way; memory wants several times
 *   that. Two divisions, and the steps of a walk, are now paid once for 4 numbers.
 * What is wrong: a sum is one block's. tl_sum is one SM of 132, and so is half of a GPU idle for
 *   the gradient of 64 biases.
 * Bound: what one SM can load, about a hundredth of the GPU's bandwidth a block.
 * Shapes: all. Fours where planes (for columns: nothing) are multiples of four; loaded one by one
 *   where x is not aligned for more, in the same order. */
#include "kernels/reduce/05_vectors.h"

template <int NEAR, int V> static __global__ void add_rows(sums s) {
    size_t k = blockIdx.x;
    tl_real sum = block_sum(add_share<NEAR, V>(s, k, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) sums_put(&s, k, sum);
}

static __global__ void add_columns(sums s) {
    size_t k = (size_t)blockIdx.x * WARP + threadIdx.x;
    tl_real sum;
    if (add_column(s, k, &sum)) sums_put(&s, k, sum);
}

extern "C" tl_status tl_rung_reduce_vectors_launch(tl_ctx *ctx, const sums *s) {
    if (sums_are_columns(s)) {
        unsigned blocks = (unsigned)((s->kept - 1) / WARP + 1);
        add_columns<<<blocks, dim3(WARP, COLUMN_LANES), 0, tl_stream(ctx)>>>(*s);
    } else {
        bool fours = sums_group(s) == GROUP;
        unsigned threads = sums_threads(sums_terms(s) / sums_group(s), ROW_MOST);
        auto singly = fours ? add_rows<GROUP, 1> : add_rows<1, 1>;
        auto kernel =
            fours && rung_aligned(s->x, sizeof(pack<GROUP>)) ? add_rows<GROUP, GROUP> : singly;
        kernel<<<(unsigned)s->kept, threads, 0, tl_stream(ctx)>>>(*s);
    }
    TL_LAUNCHED();
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_vectors, tl_rung_reduce_vectors_launch)
