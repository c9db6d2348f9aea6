/* 03_implicit.h: the pieces of rung 3 and what they have in common. (03_implicit.cu says how it
 * works) */
#ifndef CONV2D_IMPLICIT_H
#define CONV2D_IMPLICIT_H

#include "kernels/rungs.h"
#include "tl/conv2d.h"
#include "tl/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WINDOW = 128,         /* taps or outputs whose places a block knows at a time */
    FAR = -(1 << 30),     /* a coordinate outside of every image, whatever is added to it */
    FULL = 264,           /* blocks that keep a large GPU busy: two for each multiprocessor */
    LEAST_CHUNK = 64,     /* outputs of a chunk, else its sums cost more than they save */
    LEAST_SHARE = 16,     /* steps of a block, where several share a tile */
    MANY_TERMS = 1 << 25, /* products from which on it pays to put the weights into order */
    BIAS_THREADS = 1024   /* a channel has one block: as many loads on their way as it can */
};

/* (What a kernel of one file takes has a name of its own: templates that launch are shared by the
 * linker, by the names of the types.) */

/* Where a tap lies: from the pixel that an output begins with, by h and w, and by elements. */
typedef struct __align__(16) tap {
    int offset, h, w;
    int weight; /* its element among the weights of an output channel */
}
tap;

/* What becomes of a sum before it is written:
 *   END_SUM   + b[its channel], where b is not NULL
 *   END_RELU  the same, and 0 for what is negative
 *   END_ADD   + what `read` has in its place, which is the result itself
 *   END_MASK  0 where `read`, the result of a ReLU, is not positive: there no gradient goes back */
typedef enum end_kind { END_SUM, END_RELU, END_ADD, END_MASK } end_kind;
typedef struct ending {
    end_kind how;
    const tl_real *b, *read;
} ending;

/* Scratch that these kernels make do with, and that all of them divide: the tiles of a full GPU, of
 * 128x128 numbers at most, and weights in another order. (At most tl_conv2d_work_bytes.) */
size_t tl_rung_conv2d_implicit_work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g);
/* y = conv(x, w), ended as told */
tl_status tl_rung_conv2d_implicit_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                                      ending end, const tl_conv2d_geom *g, void *work);
/* dx = …, ended as told (03_implicit_pixels.cu, as forward) */
tl_status tl_rung_conv2d_implicit_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy,
                                            const tl_real *w, ending end, const tl_conv2d_geom *g,
                                            void *work);
/* The same for layers of many channels (03_implicit_deep.cu); false: not launched, not taken. */
bool tl_rung_conv2d_deep_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                             ending end, const tl_conv2d_geom *g, void *work);
bool tl_rung_conv2d_deep_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                   ending end, const tl_conv2d_geom *g, void *work);
/* dw += … (03_implicit_weight.cu); partial sums in `work` */
tl_status tl_rung_conv2d_implicit_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy,
                                             const tl_real *x, const tl_conv2d_geom *g, void *work);
/* The same for layers of many channels (03_implicit_deep_weight.cu), and what both share: chunks,
 * how long each is, and their addition; `channels` side by side in the sums of a chunk. */
bool tl_rung_conv2d_deep_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                    const tl_conv2d_geom *g, void *work);
int tl_rung_conv2d_chunks(const tl_ctx *ctx, const tl_conv2d_geom *g, int blocks, int threads,
                          int depth, int *chunk);
void tl_rung_conv2d_add_chunks(tl_ctx *ctx, tl_real *dw, const tl_real *partial,
                               const tl_conv2d_geom *g, int chunks, int channels);
/* db += … (03_implicit_bias.cu) */
tl_status tl_rung_conv2d_implicit_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy,
                                           const tl_conv2d_geom *g);

#ifdef __cplusplus
}
#endif
#endif
