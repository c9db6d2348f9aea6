/* 03_implicit.cu: convolution as a matrix product whose column matrix is nowhere in memory.
 *
 * The plain path writes each pixel R*S times and reads it back as often, and it takes nine launches
 * for a step, each of which costs the host microseconds. Here a block gathers the tile of columns
 * that it is about to multiply straight from the image into shared memory: one launch for forward
 * with its bias, one for dx, one for db, two for dw. Every sum has one order, given by the
 * geometry: the same bits in every run.
 *
 *   03_implicit_tile.h       the loop over tiles that all products share
 *   03_implicit_view.h       what an output reads through each tap
 *   03_implicit_pixels.cu    forward and dx
 *   03_implicit_weight.cu    dw
 *   03_implicit_bias.cu      db
 *   03_implicit_deep*.cu     forward, dx and dw of many channels
 *
 * A ReLU that follows, or that made x, costs no pass of its own: it ends the sums (tl/fused.h).
 *
 * Here: which layers these kernels take; all others have the plain path. */
#include "kernels/conv2d/03_implicit.h"
#include "tl/layers.h"

/* What the kernels count in int, with room for a block that reaches past the end; blocks of a grid.
 */
static bool countable(const tl_conv2d_geom *g) {
    const size_t most = (size_t)1 << 30;
    size_t h = (size_t)g->h + 2 * (size_t)g->pad_h + 1, w = (size_t)g->w + 2 * (size_t)g->pad_w + 1;
    size_t channels = (size_t)(g->c > g->k ? g->c : g->k), n = (size_t)g->n;
    if (h > most || w > most || h * w > most || channels > most / (h * w)) return false;
    if (n > most / (h * w) || tl_conv2d_w_size(g) > most) return false;
    return (size_t)g->stride_h * (size_t)g->stride_w <= TL_MAX_BLOCKS;
}

/* Which layers are quicker this way, by shape alone. */
static bool takes(const tl_conv2d_geom *g) { return countable(g); }

extern "C" size_t tl_rung_conv2d_implicit_work_bytes(const tl_ctx *ctx, const tl_conv2d_geom *g) {
    size_t all = tl_conv2d_work_bytes(g, ctx->ops->column_bytes);
    if (!takes(g)) return all;
    size_t taps = (size_t)g->r * (size_t)g->s, rows = 128;
    size_t forward = (size_t)g->c * taps * ((size_t)g->k + rows);
    size_t backward = (size_t)g->k * taps * ((size_t)g->c + rows);
    size_t weights = forward > backward ? forward : backward;
    size_t wanted = (FULL * rows * rows + weights) * sizeof(tl_real);
    return wanted < all ? wanted : all;
}

static tl_status fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w, const tl_real *b,
                     const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "conv2d_fwd, rung 3: ctx, y, x, w, the geometry or work is NULL");
    if (!takes(g)) return tl_conv2d_fwd(ctx, y, x, w, b, g, work);
    return tl_rung_conv2d_implicit_fwd(ctx, y, x, w, {END_SUM, b, NULL}, g, work);
}

static tl_status bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                           const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "conv2d_bwd_input, rung 3: ctx, dx, dy, w, the geometry or work is NULL");
    if (!takes(g)) return tl_conv2d_bwd_input(ctx, dx, dy, w, g, work);
    return tl_rung_conv2d_implicit_bwd_input(ctx, dx, dy, w, {END_ADD, NULL, dx}, g, work);
}

/* ---- with the ReLU that follows, or went before (tl/fused.h) ---- */

static tl_status relu_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                          const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "conv2d_relu_fwd, rung 3: ctx, y, x, w, the geometry or work is NULL");
    if (takes(g)) return tl_rung_conv2d_implicit_fwd(ctx, y, x, w, {END_RELU, b, NULL}, g, work);
    TL_TRY(tl_conv2d_fwd(ctx, y, x, w, b, g, work));
    return tl_relu_fwd(ctx, y, y, tl_conv2d_y_size(g));
}

static tl_status relu_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                const tl_real *x, const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "conv2d_relu_bwd_input, rung 3: ctx, dx, dy, w, the geometry or work is NULL");
    ending end = {x ? END_MASK : END_SUM, NULL, x};
    if (takes(g)) return tl_rung_conv2d_implicit_bwd_input(ctx, dx, dy, w, end, g, work);
    size_t size = tl_conv2d_x_size(g);
    TL_TRY(ctx->ops->zero(ctx, dx, size * sizeof(tl_real)));
    TL_TRY(tl_conv2d_bwd_input(ctx, dx, dy, w, g, work));
    if (!x) return TL_OK;
    TL_NEED(ctx->ops->relu_mask, TL_ENOTIMPL,
            "conv2d_relu_bwd_input, rung 3: a layer of this size needs relu_mask (RUNGS=pool:1)");
    return ctx->ops->relu_mask(ctx, dx, x, size);
}

static tl_status bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                            const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "conv2d_bwd_weight, rung 3: ctx, dw, dy, x, the geometry or work is NULL");
    if (!takes(g)) return tl_conv2d_bwd_weight(ctx, dw, dy, x, g, work);
    return tl_rung_conv2d_implicit_bwd_weight(ctx, dw, dy, x, g, work);
}

static tl_status bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "conv2d_bwd_bias, rung 3: ctx, db, dy or the geometry is NULL");
    if (!takes(g)) return tl_conv2d_bwd_bias(ctx, db, dy, g);
    return tl_rung_conv2d_implicit_bwd_bias(ctx, db, dy, g);
}

extern "C" void tl_rung_conv2d_implicit(tl_backend *ops) {
    ops->conv2d_fwd = fwd;
    ops->conv2d_bwd_input = bwd_input;
    ops->conv2d_bwd_weight = bwd_weight;
    ops->conv2d_bwd_bias = bwd_bias;
    ops->conv2d_relu_fwd = relu_fwd;
    ops->conv2d_relu_bwd_input = relu_bwd_input;
    ops->conv2d_work_bytes = tl_rung_conv2d_implicit_work_bytes;
}
