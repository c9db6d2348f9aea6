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

tl_status tl_dropout_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_step *step,
                         const tl_dropout_geom *g) {
    TL_NEED(ctx && y && x && step && g, TL_EINVAL,
            "tl_dropout_fwd: ctx, y, x, step or the geometry is NULL");
    TL_TRY(check(g));
    /* TODO(lab 3): Extra credit. A kernel and its launch: y[i] = x[i] / (1-p) where
     * tl_rng_keep(step->seed, step->index, layer, i, threshold) says so (tl/rng.h), else 0; trap:
     * infinity times 0. step lies in device memory: only the kernel may read it. One call of Philox
     * gives the words of four elements: what could one thread do with them? */
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_dropout_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_step *step,
                         const tl_dropout_geom *g) {
    TL_NEED(ctx && dx && dy && step && g, TL_EINVAL,
            "tl_dropout_bwd: ctx, dx, dy, step or the geometry is NULL");
    TL_TRY(check(g));
    /* TODO(lab 3): Extra credit. dx[i] += dy[i] / (1-p) where element i was kept: the same draws
     * again, no mask lives from forward to backward. */
    return TL_NOT_IMPLEMENTED();
}
