/* 01_direct_columns.c: the plain path's convolution without a BLAS: what rung 1 hands over to under
 * BITS=portable, for any stride, dilation, filter and padding, and where scratch is short.
 *
 * Columns and their way back only copy and add in a fixed order (solution/lab2); the products are
 * rung 3 of gemm, whose sums go in the order of k. How many images are a chunk follows from sizes
 * alone. So the bits are the same on every machine, at any number of threads. */
#include "01_direct.h"
#include "kernels/gemm_vectors.h"
#include "tl/backend.h"

/* Elements of a chunk's outputs below which waking other threads costs more than it saves. */
enum { PARALLEL_FROM = 1 << 15 };

/* Planes of outputs: the product has the channel outside and the image inside, the tensor the other
 * way round. */
typedef struct planes {
    size_t images, channels, outputs;
} planes;

static planes planes_of(const tl_conv2d_part *part, const tl_conv2d_geom *g) {
    return (planes){(size_t)part->images, (size_t)g->k, tl_conv2d_col_cols(g)};
}

static int threads_for(const tl_ctx *ctx, const planes *p) {
    return p->images * p->channels * p->outputs >= PARALLEL_FROM ? ctx->threads : 1;
}

/* y[i,k,:] = rows[k,i,:] + b[k]; b may be NULL. */
static void rows_to_images(const tl_ctx *ctx, tl_real *y, const tl_real *rows, const tl_real *b,
                           planes p) {
#pragma omp parallel for collapse(2) num_threads(threads_for(ctx, &p))
    for (size_t i = 0; i < p.images; i++)
        for (size_t k = 0; k < p.channels; k++) {
            const tl_real *from = rows + (k * p.images + i) * p.outputs;
            tl_real *to = y + (i * p.channels + k) * p.outputs, bias = b ? b[k] : 0;
            for (size_t j = 0; j < p.outputs; j++) to[j] = from[j] + bias;
        }
}

/* rows[k,i,:] = dy[i,k,:] */
static void images_to_rows(const tl_ctx *ctx, tl_real *rows, const tl_real *dy, planes p) {
#pragma omp parallel for collapse(2) num_threads(threads_for(ctx, &p))
    for (size_t k = 0; k < p.channels; k++)
        for (size_t i = 0; i < p.images; i++)
            memcpy(rows + (k * p.images + i) * p.outputs, dy + (i * p.channels + k) * p.outputs,
                   p.outputs * sizeof *rows);
}

tl_status tl_columns_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                         const tl_real *b, const tl_conv2d_geom *g, void *work) {
    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        tl_matmul_geom product = {
            .m = g->k, .n = part.images * g->p * g->q, .k = g->c * g->r * g->s};
        TL_TRY(tl_im2col(ctx, part.col, x + part.x, part.images, g));
        TL_TRY(tl_gemm_vectors(ctx, part.rows, w, part.col, &product));
        rows_to_images(ctx, y + part.y, part.rows, b, planes_of(&part, g));
    }
    return TL_OK;
}

tl_status tl_columns_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                               const tl_conv2d_geom *g, void *work) {
    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        tl_matmul_geom product = {
            .m = g->c * g->r * g->s, .n = part.images * g->p * g->q, .k = g->k, .trans_a = 1};
        images_to_rows(ctx, part.rows, dy + part.y, planes_of(&part, g));
        TL_TRY(tl_gemm_vectors(ctx, part.col, w, part.rows, &product));
        TL_TRY(tl_col2im(ctx, dx + part.x, part.col, part.images, g));
    }
    return TL_OK;
}

/* Chunks follow each other, so their order of addition is fixed. */
tl_status tl_columns_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                const tl_conv2d_geom *g, void *work) {
    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        tl_matmul_geom product = {.m = g->k,
                                  .n = g->c * g->r * g->s,
                                  .k = part.images * g->p * g->q,
                                  .trans_b = 1,
                                  .accumulate = 1};
        TL_TRY(tl_im2col(ctx, part.col, x + part.x, part.images, g));
        images_to_rows(ctx, part.rows, dy + part.y, planes_of(&part, g));
        TL_TRY(tl_gemm_vectors(ctx, dw, part.rows, part.col, &product));
    }
    return TL_OK;
}
