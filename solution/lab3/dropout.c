/* dropout.c: inverted dropout from counter-based draws. (tl/layers.h) */
#include "tl/layers.h"
#include "tl/rng.h"

//@lab 3:
/* Elements drawn and applied at a time: small enough for the first-level cache, divisible by the
 * four words of a draw. Below a few blocks a call is over before other threads have started. */
enum { BLOCK = 1024, PARALLEL_FROM = 4 * BLOCK };
//@end

static tl_status check(const tl_dropout_geom *g) {
    TL_NEED(g->n >= 1, TL_EINVAL, "dropout n is 0: at least 1 is needed");
    TL_NEED(g->p >= 0 && g->p < 1, TL_EINVAL, "dropout p is %g: needs 0 <= p < 1", g->p);
    TL_NEED(g->layer < 1u << 16, TL_EINVAL, "dropout layer is %u: needs a number below 65536",
            g->layer);
    return TL_OK;
}

//@lab 3:
/* The words that tl_rng_keep compares for elements from .. from+BLOCK-1, from divisible by 4. One
 * call of Philox gives the words of four elements; tl_rng_keep would make that call four times. */
static void draw(uint32_t word[BLOCK], size_t from, const tl_step *step, uint32_t layer) {
    uint64_t group = (uint64_t)from >> 2 | (uint64_t)layer << 46;
    for (int i = 0; i < BLOCK / 4; i++) {
        tl_philox r =
            tl_philox_draw(step->seed, group + (uint64_t)i, (uint32_t)step->index, TL_DRAW_DROPOUT);
        for (int lane = 0; lane < 4; lane++) word[4 * i + lane] = r.v[lane];
    }
}
//@end

tl_status tl_dropout_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_step *step,
                         const tl_dropout_geom *g) {
    TL_NEED(ctx && y && x && step && g, TL_EINVAL,
            "tl_dropout_fwd: ctx, y, x, step or the geometry is NULL");
    TL_TRY(check(g));
    //@lab 3: Extra credit. y[i] = x[i] / (1-p) where tl_rng_keep(step->seed, step->index, layer,
    //@  i, threshold) says so (tl/rng.h), else 0. The draw belongs to the element, so any thread
    //@  may make it. Trap: infinity times 0 is NaN: a dropped element is 0, whatever it was. One
    //@  call of Philox gives the words of four elements; tl_rng_keep makes that call for each.
    uint32_t threshold = tl_dropout_threshold(g->p);
    tl_real scale = TL_R(1 / (1 - g->p));

#pragma omp parallel for num_threads(ctx->threads) if (g->n >= PARALLEL_FROM)
    for (size_t from = 0; from < g->n; from += BLOCK) {
        uint32_t word[BLOCK];
        size_t count = g->n - from < BLOCK ? g->n - from : BLOCK;
        draw(word, from, step, g->layer);
        for (size_t i = 0; i < count; i++) {
            tl_real kept = word[i] >= threshold ? x[from + i] : 0; /* a select, not a branch */
            y[from + i] = kept * scale;
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

/* The same draws again: no mask has to live from forward to backward. */
tl_status tl_dropout_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_step *step,
                         const tl_dropout_geom *g) {
    TL_NEED(ctx && dx && dy && step && g, TL_EINVAL,
            "tl_dropout_bwd: ctx, dx, dy, step or the geometry is NULL");
    TL_TRY(check(g));
    //@lab 3: Extra credit. dx[i] += dy[i] / (1-p) where element i was kept, by the same draws
    //@  again.
    uint32_t threshold = tl_dropout_threshold(g->p);
    tl_real scale = TL_R(1 / (1 - g->p));

#pragma omp parallel for num_threads(ctx->threads) if (g->n >= PARALLEL_FROM)
    for (size_t from = 0; from < g->n; from += BLOCK) {
        uint32_t word[BLOCK];
        size_t count = g->n - from < BLOCK ? g->n - from : BLOCK;
        draw(word, from, step, g->layer);
        for (size_t i = 0; i < count; i++) {
            tl_real kept = word[i] >= threshold ? dy[from + i] : 0;
            dx[from + i] += kept * scale;
        }
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
