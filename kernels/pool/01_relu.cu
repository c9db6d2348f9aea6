/* 01_relu.cu: max pooling over 2x2 windows and ReLU in one pass, and ReLU's gradient in place.
 * (tl/fused.h)
 *
 * A thread has one window: it reads four pixels in two loads and writes a result and a byte.
 * Backward it writes the four pixels of its window, winner and losers, so that nothing has to be
 * zeroed first, and every pixel is written once instead of asking which windows cover it. */
#include "kernels/rungs.h"
#include "tl/cuda.h"
#include "tl/fused.h"

/* T numbers that are loaded and stored in one go. */
template <int T> struct alignas(T * sizeof(tl_real)) pack { tl_real v[T]; };

/* Whether v takes the place of best, as in max pooling: the first of equals, and a NaN, stay. */
static __device__ bool beats(tl_real v, tl_real best) { return !(v <= best) && !isnan(best); }

/* Pixels of a row of a window: in one load where `pairs`. */
static __device__ pack<2> row_of(const tl_real *x, bool pairs) {
    if (pairs) return *(const pack<2> *)x;
    return pack<2>{{x[0], x[1]}};
}

static __global__ void pool(tl_real *y, uint8_t *code, const tl_real *x, size_t size,
                            tl_pool2d_geom g, bool pairs) {
    unsigned outputs = (unsigned)(g.p * g.q), pixels = (unsigned)(g.h * g.w);
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        unsigned at = (unsigned)(t % outputs), p = at / (unsigned)g.q, q = at - p * (unsigned)g.q;
        const tl_real *corner = x + t / outputs * pixels + 2 * p * (unsigned)g.w + 2 * q;
        pack<2> row[2] = {row_of(corner, pairs), row_of(corner + g.w, pairs)};
        tl_real best = row[0].v[0];
        int winner = 0;
#pragma unroll
        for (int e = 1; e < 4; e++)
            if (beats(row[e / 2].v[e % 2], best)) best = row[e / 2].v[e % 2], winner = e;
        y[t] = best < 0 ? TL_R(0) : best;
        if (code) code[t] = (uint8_t)(best > 0 ? winner : (int)TL_CODE_OFF);
    }
}

/* A thread per window, those included that hang over an odd edge and had no output. */
static __global__ void pool_backward(tl_real *dx, const tl_real *dy, const uint8_t *code,
                                     size_t size, tl_pool2d_geom g, bool pairs) {
    unsigned columns = (unsigned)(g.w + 1) / 2, windows = (unsigned)(g.h + 1) / 2 * columns;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        size_t plane = t / windows;
        unsigned window = (unsigned)(t % windows), p = window / columns, q = window - p * columns;
        tl_real d = 0;
        int winner = TL_CODE_OFF;
        if (p < (unsigned)g.p && q < (unsigned)g.q) {
            size_t at = (plane * (unsigned)g.p + p) * (unsigned)g.q + q;
            d = TL_R(0) + dy[at]; /* (as a sum that starts with 0: it has no -0) */
            winner = code[at];
        }
        tl_real *corner = dx + (plane * (unsigned)g.h + 2 * p) * (unsigned)g.w + 2 * q;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            if (2 * p + r >= (unsigned)g.h) break;
            pack<2> row = {{winner == 2 * r ? d : TL_R(0), winner == 2 * r + 1 ? d : TL_R(0)}};
            if (pairs) {
                *(pack<2> *)(corner + r * g.w) = row;
                continue;
            }
            corner[r * g.w] = row.v[0];
            if (2 * q + 1 < (unsigned)g.w) corner[r * g.w + 1] = row.v[1];
        }
    }
}

template <int T> static __global__ void mask(tl_real *dy, const tl_real *y, size_t packs) {
    for (size_t t = tl_thread(); t < packs; t += tl_threads()) {
        pack<T> d = ((pack<T> *)dy)[t], v = ((const pack<T> *)y)[t];
#pragma unroll
        for (int e = 0; e < T; e++) d.v[e] = v.v[e] > 0 ? TL_R(0) + d.v[e] : TL_R(0);
        ((pack<T> *)dy)[t] = d;
    }
}

static bool halves(const tl_pool2d_geom *g) {
    return g->r == 2 && g->s == 2 && g->stride_h == 2 && g->stride_w == 2 && !g->pad_h && !g->pad_w;
}

/* Rows begin at even places, and may be loaded in pairs. */
static bool in_pairs(const tl_real *x, const tl_pool2d_geom *g) {
    return g->w % 2 == 0 && rung_aligned(x, sizeof(pack<2>));
}

static tl_status pool_relu_fwd(tl_ctx *ctx, tl_real *y, uint8_t *code, const tl_real *x,
                               const tl_pool2d_geom *g) {
    TL_NEED(ctx && y && x && g, TL_EINVAL, "pool rung 1, fwd: ctx, y, x or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));
    TL_NEED(halves(g), TL_EINVAL, "pool rung 1, fwd: it takes 2x2 windows, stride 2, no padding");
    size_t size = tl_pool2d_y_size(g);
    pool<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, code, x, size, *g,
                                                                     in_pairs(x, g));
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status pool_relu_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const uint8_t *code,
                               const tl_pool2d_geom *g) {
    TL_NEED(ctx && dx && dy && code && g, TL_EINVAL,
            "pool rung 1, bwd: ctx, dx, dy, code or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));
    TL_NEED(halves(g), TL_EINVAL, "pool rung 1, bwd: it takes 2x2 windows, stride 2, no padding");
    size_t size = (size_t)g->n * (size_t)g->c * (size_t)((g->h + 1) / 2) * (size_t)((g->w + 1) / 2);
    pool_backward<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dx, dy, code, size,
                                                                              *g, in_pairs(dx, g));
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status relu_mask(tl_ctx *ctx, tl_real *dy, const tl_real *y, size_t n) {
    TL_NEED(ctx && dy && y, TL_EINVAL, "pool rung 1, relu_mask: ctx, dy or y is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "pool rung 1, relu_mask: n is 0, at least 1 is needed");
    bool fours =
        n % 4 == 0 && rung_aligned(dy, sizeof(pack<4>)) && rung_aligned(y, sizeof(pack<4>));
    size_t packs = fours ? n / 4 : n;
    auto kernel = fours ? mask<4> : mask<1>;
    kernel<<<tl_blocks(packs, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dy, y, packs);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_pool_relu(tl_backend *ops) {
    ops->pool_relu_fwd = pool_relu_fwd;
    ops->pool_relu_bwd = pool_relu_bwd;
    ops->relu_mask = relu_mask;
}
