/* 01_fma.c: rung 1 of dropout on cpu: its gradient, rounded once, whoever compiles it.
 *
 * Idea: dx += kept * scale as one fma (forward only multiplies, and stays the plain path's).
 * Bound: Philox: ten rounds of integer products for four numbers.
 * Same bits: at any width of vectors and any number of threads: each element is alone. */
#include "kernels/lanes16.h"
#include "kernels/rungs.h"
#include "tl/rng.h"

/* Elements drawn at a time, of four to a draw. Below some blocks no other thread is woken. */
enum { BLOCK = 1024, PARALLEL_FROM = 4 * BLOCK };

static tl_status check(const tl_dropout_geom *g) {
    TL_NEED(g->n >= 1, TL_EINVAL, "dropout n is 0: at least 1 is needed");
    TL_NEED(g->p >= 0 && g->p < 1, TL_EINVAL, "dropout p is %g: needs 0 <= p < 1", g->p);
    TL_NEED(g->layer < 1u << 16, TL_EINVAL, "dropout layer is %u: needs a number below 65536",
            g->layer);
    return TL_OK;
}

/* The words that tl_rng_keep compares for elements from .. from+BLOCK-1. */
static void draw(uint32_t word[BLOCK], size_t from, const tl_step *step, uint32_t layer) {
    uint64_t group = (uint64_t)from >> 2 | (uint64_t)layer << 46;
    for (int i = 0; i < BLOCK / 4; i++) {
        tl_philox r =
            tl_philox_draw(step->seed, group + (uint64_t)i, (uint32_t)step->index, TL_DRAW_DROPOUT);
        memcpy(word + 4 * i, r.v, sizeof r.v);
    }
}

static tl_status dropout_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_step *step,
                             const tl_dropout_geom *g) {
    TL_NEED(ctx && dx && dy && step && g, TL_EINVAL,
            "dropout_bwd, rung 1: ctx, dx, dy, step or the geometry is NULL");
    TL_TRY(check(g));
    uint32_t threshold = tl_dropout_threshold(g->p);
    tl_real scale = TL_R(1 / (1 - g->p));
#pragma omp parallel for num_threads(ctx->threads) if (g->n >= PARALLEL_FROM)
    for (size_t from = 0; from < g->n; from += BLOCK) {
        uint32_t word[BLOCK];
        size_t count = g->n - from < BLOCK ? g->n - from : BLOCK;
        draw(word, from, step, g->layer);
        for (size_t i = 0; i < count; i++) {
            tl_real kept = word[i] >= threshold ? dy[from + i] : 0;
            dx[from + i] = lane_fma(kept, scale, dx[from + i]);
        }
    }
    return TL_OK;
}

void tl_rung_dropout_fma(tl_backend *ops) { ops->dropout_bwd = dropout_bwd; }
