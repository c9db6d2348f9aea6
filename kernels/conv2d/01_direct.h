/* 01_direct.h: what the files of the direct convolution share: vectors, blocks, padded copies.
 *
 * All kernels read images from a padded copy, so no tap needs a test for the border, and in whole
 * vectors: lanes beyond the end of a row are computed from whatever lies there, and dropped. */
#ifndef TL_CONV2D_DIRECT_H
#define TL_CONV2D_DIRECT_H

#include <stddef.h>
#include <string.h>

#include "../vector.h"
#include "tl/conv2d.h"

#define TL_DIRECT_BYTES    VEC_BYTES
#define TL_DIRECT_LANES    VEC_LANES
#define TL_DIRECT_MAX_TAPS 5 /* each way; larger filters take the plain path */
#define TL_DIRECT_INLINE   VEC_INLINE

typedef vec tl_direct_vec;
typedef vec_unaligned tl_direct_unaligned;

TL_DIRECT_INLINE tl_direct_vec tl_direct_load(const tl_real *from) { return vec_load(from); }
TL_DIRECT_INLINE tl_direct_vec tl_direct_load_once(const tl_real *from) {
    return vec_load_once(from);
}
TL_DIRECT_INLINE void tl_direct_store(tl_real *to, tl_direct_vec v) { vec_store(to, v); }

/* Channels in the next register block when `left` remain and `most` fit: as many as fit, but never
 * a last block of one or two where two blocks of nearly equal size are possible (6 = 3 + 3, not 4 +
 * 2). */
static inline int tl_direct_block(int left, int most) {
    if (left <= most) return left;
    return left < 2 * most ? (left + 1) / 2 : most;
}

/* A padded copy of planes of h x w: `rows` rows of `pitch` elements each; the pixel (0,0) lies at
 * row pad_h, column pad_w. The rest is zero. Vectors may run past a plane by less than one vector,
 * so the last plane of a copy is followed by TL_DIRECT_LANES more elements. */
typedef struct tl_direct_layout {
    int h, w, pad_h, pad_w;
    int rows, pitch;
    size_t plane; /* rows * pitch */
} tl_direct_layout;

static inline tl_direct_layout tl_direct_layout_of(int h, int w, int pad_h, int pad_w) {
    tl_direct_layout a = {.h = h, .w = w, .pad_h = pad_h, .pad_w = pad_w};
    a.rows = h + 2 * pad_h;
    a.pitch = w + 2 * pad_w;
    a.plane = (size_t)a.rows * (size_t)a.pitch;
    return a;
}

/* Copies `planes` contiguous planes into their padded places; the borders must already be zero. */
static inline void tl_direct_pad(tl_real *to, const tl_real *from, int planes,
                                 const tl_direct_layout *a) {
    size_t row_bytes = (size_t)a->w * sizeof(tl_real);
    for (int plane = 0; plane < planes; plane++) {
        tl_real *row =
            to + (size_t)plane * a->plane + (size_t)a->pad_h * (size_t)a->pitch + a->pad_w;
        for (int i = 0; i < a->h; i++, row += a->pitch, from += a->w) memcpy(row, from, row_bytes);
    }
}

/* Scratch in whole cache lines, so that two threads never write into one. */
static inline size_t tl_direct_round(size_t reals) {
    size_t line = 64 / sizeof(tl_real);
    return (reals + line - 1) / line * line;
}

/* How many of `wanted` threads get a slice of `each` reals when `reals` are there; may be 0. */
static inline int tl_direct_workers(int wanted, size_t reals, size_t each) {
    return reals / each < (size_t)wanted ? (int)(reals / each) : wanted;
}

/* 01_direct_pixels.c: sums over `in` planes of h x w into `out` planes of p x q, for n images:
 *   y[n,o,p,q] (+)= b[o] + sum_{i,r,s} weight(o, i, r*S + s) * x[n,i, p - pad_h + r, q - pad_w + s]
 * with weight(o, i, t) = w[o*w_out + i*w_in + t*w_tap]; a negative w_tap walks the filter
 * backwards, which turns the forward convolution into its gradient for the input. */
typedef struct tl_direct_sum {
    int n, in, out;
    int h, w, pad_h, pad_w;
    int r, s, p, q;
    const tl_real *weights, *b; /* b may be NULL */
    ptrdiff_t w_out, w_in, w_tap;
    int accumulate;
} tl_direct_sum;

/* Reals of scratch that one thread needs. */
size_t tl_direct_sum_scratch(const tl_direct_sum *sum);
void tl_direct_sum_run(const tl_direct_sum *sum, tl_real *y, const tl_real *x, int workers,
                       tl_real *scratch);

/* 01_direct_weight.c: dw[k,c,r,s] += sum over n,p,q of dy * x. */
size_t tl_direct_weight_scratch(const tl_conv2d_geom *g);  /* reals for each thread, and */
size_t tl_direct_weight_partials(const tl_conv2d_geom *g); /* reals for all of them */
void tl_direct_weight_run(const tl_conv2d_geom *g, tl_real *dw, const tl_real *dy, const tl_real *x,
                          int workers, tl_real *scratch);

/* 01_direct_columns.c: the three passes of any geometry, by im2col and rung 3 of gemm. */
tl_status tl_columns_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                         const tl_real *b, const tl_conv2d_geom *g, void *work);
tl_status tl_columns_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                               const tl_conv2d_geom *g, void *work);
tl_status tl_columns_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                const tl_conv2d_geom *g, void *work);

/* 01_direct.c: the rung itself, which rung 2 hands over to; threads worth waking for one call. */
int tl_direct_supports(const tl_conv2d_geom *g);
int tl_direct_wanted(const tl_ctx *ctx, const tl_conv2d_geom *g);
tl_direct_sum tl_direct_forward_sum(const tl_conv2d_geom *g, const tl_real *w, const tl_real *b);
tl_direct_sum tl_direct_input_sum(const tl_conv2d_geom *g, const tl_real *w);
size_t tl_direct_work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g);
tl_status tl_direct_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                        const tl_real *b, const tl_conv2d_geom *g, void *work);
tl_status tl_direct_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_conv2d_geom *g, void *work);
tl_status tl_direct_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_conv2d_geom *g, void *work);
tl_status tl_direct_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g);

#endif
