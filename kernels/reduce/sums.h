/* sums.h: what the rungs of reduce share, on every device: five operations as one.
 *
 * Take x for an array [outer, kept, inner]. Then sum, sum_rows, sum_cols and both gradients of a
 * bias are y[k] (+)= the sum of x[o, k, i] over all o and i:
 *
 *   sum                [1, 1, n]             a whole array
 *   sum_cols           [1, rows, cols]       each row: its numbers lie side by side
 *   sum_rows           [rows, cols, 1]       each column: its numbers lie `cols` apart
 *   linear_bwd_bias    [n, out, 1]           the same, added to db
 *   conv2d_bwd_bias    [n, k, p*q]           a plane of each image, added to db
 *
 * A rung is a function that queues or makes these sums; SUMS_ENTRIES makes the five entries of it.
 * (A mean is a sum and a division: the loss has it, kernels/softmax_xent.) */
#ifndef REDUCE_SUMS_H
#define REDUCE_SUMS_H

#include "kernels/rungs.h"

typedef struct sums {
    tl_real *y;
    const tl_real *x;
    size_t outer, kept, inner;
    bool add; /* y is a gradient: what is there stays */
} sums;

static inline TL_HD size_t sums_terms(const sums *s) { return s->outer * s->inner; }

static inline TL_HD void sums_put(const sums *s, size_t k, tl_real sum) {
    s->y[k] = s->add ? s->y[k] + sum : sum;
}

/* One sum alone: all of x lies side by side. */
static inline sums sums_of(tl_real *y, const tl_real *x, size_t outer, size_t kept, size_t inner,
                           bool add) {
    sums s = {y, x, outer, kept, inner, add};
    if (kept == 1) {
        s.outer = 1;
        s.inner = outer * inner;
    }
    return s;
}

#define SUMS_NEED_MATRIX(op, rows, cols)                                                           \
    TL_NEED((rows) >= 1 && (cols) >= 1, TL_EINVAL,                                                 \
            "reduce, %s: x is [%d,%d], sizes must be at least 1", op, (rows), (cols))

#ifdef __cplusplus
#define SUMS_EXTERN extern "C"
#else
#define SUMS_EXTERN
#endif

/* The entries, each by launch(ctx, const sums *), and `rung`, which puts them into a table. */
#define SUMS_ENTRIES(rung, launch)                                                                 \
    static tl_status sum(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {                    \
        TL_NEED(ctx &&y &&x, TL_EINVAL, "reduce, sum: ctx, y or x is NULL");                       \
        TL_NEED(n >= 1, TL_EINVAL, "reduce, sum: n is 0, at least 1 is needed");                   \
        sums s = sums_of(y, x, 1, 1, n, false);                                                    \
        return launch(ctx, &s);                                                                    \
    }                                                                                              \
    static tl_status sum_rows(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {     \
        TL_NEED(ctx &&y &&x, TL_EINVAL, "reduce, sum_rows: ctx, y or x is NULL");                  \
        SUMS_NEED_MATRIX("sum_rows", rows, cols);                                                  \
        sums s = sums_of(y, x, (size_t)rows, (size_t)cols, 1, false);                              \
        return launch(ctx, &s);                                                                    \
    }                                                                                              \
    static tl_status sum_cols(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {     \
        TL_NEED(ctx &&y &&x, TL_EINVAL, "reduce, sum_cols: ctx, y or x is NULL");                  \
        SUMS_NEED_MATRIX("sum_cols", rows, cols);                                                  \
        sums s = sums_of(y, x, 1, (size_t)rows, (size_t)cols, false);                              \
        return launch(ctx, &s);                                                                    \
    }                                                                                              \
    static tl_status linear_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy,                  \
                                     const tl_linear_geom *g) {                                    \
        TL_NEED(ctx &&db &&dy &&g, TL_EINVAL,                                                      \
                "reduce, linear_bwd_bias: ctx, db, dy or g is NULL");                              \
        TL_TRY(tl_linear_check(g));                                                                \
        sums s = sums_of(db, dy, (size_t)g->n, (size_t)g->out, 1, true);                           \
        return launch(ctx, &s);                                                                    \
    }                                                                                              \
    static tl_status conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy,                  \
                                     const tl_conv2d_geom *g) {                                    \
        TL_NEED(ctx &&db &&dy &&g, TL_EINVAL,                                                      \
                "reduce, conv2d_bwd_bias: ctx, db, dy or g is NULL");                              \
        sums s = sums_of(db, dy, (size_t)g->n, (size_t)g->k, (size_t)g->p * (size_t)g->q, true);   \
        return launch(ctx, &s);                                                                    \
    }                                                                                              \
    SUMS_EXTERN void rung(tl_backend *ops) {                                                       \
        ops->sum = sum;                                                                            \
        ops->sum_rows = sum_rows;                                                                  \
        ops->sum_cols = sum_cols;                                                                  \
        ops->linear_bwd_bias = linear_bwd_bias;                                                    \
        ops->conv2d_bwd_bias = conv2d_bwd_bias;                                                    \
    }

#endif
