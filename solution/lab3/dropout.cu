/* dropout.cu: inverted dropout from counter-based draws, on a GPU. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"
#include "tl/rng.h"

static tl_status check(const tl_dropout_geom *g) {
    TL_NEED(g->n >= 1, TL_EINVAL, "dropout n is 0: at least 1 is needed");
    TL_NEED(g->p >= 0 && g->p < 1, TL_EINVAL, "dropout p is %g: needs 0 <= p < 1", g->p);
    TL_NEED(g->layer < 1u << 16, TL_EINVAL, "dropout layer is %u: needs a number below 65536",
            g->layer);
    return TL_OK;
}

//@lab 3:
/* The words that tl_rng_keep compares for elements 4*group .. 4*group+3: one call of Philox gives
 * the words of four elements, so one thread serves four. */
static __device__ tl_philox draw(size_t group, const tl_step *step, uint32_t layer) {
    uint64_t index = (uint64_t)group | (uint64_t)layer << 46;
    return tl_philox_draw(step->seed, index, (uint32_t)step->index, TL_DRAW_DROPOUT);
}
//@end

//@lab 3:
static __global__ void dropout(tl_real *y, const tl_real *x, size_t n, const tl_step *step,
                               uint32_t layer, uint32_t threshold, tl_real scale) {
    for (size_t group = tl_thread(); 4 * group < n; group += tl_threads()) {
        tl_philox word = draw(group, step, layer);
        for (size_t i = 4 * group; i < n && i < 4 * group + 4; i++)
            y[i] = (word.v[i % 4] >= threshold ? x[i] : TL_R(0)) * scale;
    }
}
//@end

tl_status tl_dropout_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_step *step,
                         const tl_dropout_geom *g) {
    TL_NEED(ctx && y && x && step && g, TL_EINVAL,
            "tl_dropout_fwd: ctx, y, x, step or the geometry is NULL");
    TL_TRY(check(g));
    //@lab 3: Extra credit. A kernel and its launch: y[i] = x[i] / (1-p) where
    //@  tl_rng_keep(step->seed, step->index, layer, i, threshold) says so (tl/rng.h), else 0;
    //@  trap: infinity times 0. step lies in device memory: only the kernel may read it. One call
    //@  of Philox gives the words of four elements: what could one thread do with them?
    dropout<<<tl_blocks(g->n, 4 * TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(
        y, x, g->n, step, g->layer, tl_dropout_threshold(g->p), TL_R(1 / (1 - g->p)));
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* The same draws again: no mask has to live from forward to backward. */
static __global__ void dropout_backward(tl_real *dx, const tl_real *dy, size_t n,
                                        const tl_step *step, uint32_t layer, uint32_t threshold,
                                        tl_real scale) {
    for (size_t group = tl_thread(); 4 * group < n; group += tl_threads()) {
        tl_philox word = draw(group, step, layer);
        for (size_t i = 4 * group; i < n && i < 4 * group + 4; i++)
            dx[i] += (word.v[i % 4] >= threshold ? dy[i] : TL_R(0)) * scale;
    }
}
//@end

tl_status tl_dropout_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_step *step,
                         const tl_dropout_geom *g) {
    TL_NEED(ctx && dx && dy && step && g, TL_EINVAL,
            "tl_dropout_bwd: ctx, dx, dy, step or the geometry is NULL");
    TL_TRY(check(g));
    //@lab 3: Extra credit. dx[i] += dy[i] / (1-p) where element i was kept: the same draws again,
    //@  no mask lives from forward to backward.
    dropout_backward<<<tl_blocks(g->n, 4 * TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(
        dx, dy, g->n, step, g->layer, tl_dropout_threshold(g->p), TL_R(1 / (1 - g->p)));
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
