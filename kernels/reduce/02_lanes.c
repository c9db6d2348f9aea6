/* 02_lanes.c: rung 2 of reduce on cpu: many sums side by side, in the lanes of vectors.
 *
 * Idea: lane l of vector v adds every 64th number (8 vectors of 8 floats), and the lanes are added
 *   at the end, always in the same order. Sums of columns are such lanes already: a row is added to
 *   a strip of sums, as memory lies. The loops are add_lanes and add_columns of lanes.h.
 * Before: one chain of additions, four cycles each. Now 64 chains: an addition begins in every half
 *   cycle, and columns read whole cache lines.
 * What is wrong: one core. A core alone cannot use all of the bandwidth of memory.
 * Bound: for numbers that are in a cache, loads: two vectors a cycle. Else memory as one core has
 *   it.
 * Shapes: all. */
#include "kernels/reduce/lanes.h"

static tl_status add_in_lanes(tl_ctx *ctx, const sums *s) {
    (void)ctx;
    if (s->inner == 1 && s->kept > 1)
        for (size_t k = 0; k < s->kept; k += COLUMNS)
            add_columns(s, k, s->kept - k < COLUMNS ? s->kept - k : COLUMNS);
    else
        for (size_t k = 0; k < s->kept; k++) sums_put(s, k, add_row(s, k));
    return TL_OK;
}

SUMS_ENTRIES(tl_rung_reduce_lanes, add_in_lanes)
