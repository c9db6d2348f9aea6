/* 01_relu.cu: max pooling over 2x2 windows and ReLU in one pass, and ReLU's gradient in place.
 * (tl/fused.h)
 *
 * A thread has one window: it reads four pixels in two loads and writes a result and a byte.
 * Backward it writes the four pixels of its window, winner and losers, so that nothing has to be
 * zeroed first, and every pixel is written once instead of asking which windows cover it. */
#include "kernels/device.h"
#include "kernels/rungs.h"
#include "tl/cuda.h"
#include "tl/fused.h"

/* Pixels of a row of a window: in one load where `pairs`. */
static __device__ pack<2> row_of(const tl_real *x, bool pairs) {
    if (pairs) return *(const pack<2> *)x;
    return pack<2>{{x[0], x[1]}};
}

static __global__ void pool(tl_real *y, uint8_t *code, const tl_real *x, size_t size, int h, int w,
                            bool pairs) {
    unsigned columns = (unsigned)w / 2, outputs = (unsigned)h / 2 * columns;
    unsigned pixels = (unsigned)h * (unsigned)w;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        unsigned at = (unsigned)(t % outputs), p = at / columns, q = at - p * columns;
        const tl_real *corner = x + t / outputs * pixels + 2 * p * (unsigned)w + 2 * q;
        pack<2> row[2] = {row_of(corner, pairs), row_of(corner + w, pairs)};
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
                                     size_t size, int h, int w, bool pairs) {
    unsigned columns = (unsigned)(w + 1) / 2, windows = (unsigned)(h + 1) / 2 * columns;
    unsigned rows = (unsigned)h / 2, outputs = (unsigned)w / 2;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        size_t plane = t / windows;
        unsigned window = (unsigned)(t % windows), p = window / columns, q = window - p * columns;
        tl_real d = 0;
        int winner = TL_CODE_OFF;
        if (p < rows && q < outputs) {
            size_t at = (plane * rows + p) * outputs + q;
            d = TL_R(0) + dy[at]; /* (as a sum that starts with 0: it has no -0) */
            winner = code[at];
        }
        tl_real *corner = dx + (plane * (unsigned)h + 2 * p) * (unsigned)w + 2 * q;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            if (2 * p + r >= (unsigned)h) break;
            pack<2> row = {{winner == 2 * r ? d : TL_R(0), winner == 2 * r + 1 ? d : TL_R(0)}};
            if (pairs) {
                *(pack<2> *)(corner + r * w) = row;
                continue;
            }
            corner[r * w] = row.v[0];
            if (2 * q + 1 < (unsigned)w) corner[r * w + 1] = row.v[1];
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

/* (sizes of a plane fit an int, as tl_pool2d_check has seen to) */
static tl_status need(size_t planes, int h, int w) {
    TL_NEED(planes >= 1, TL_EINVAL, "pool rung 1: planes is 0, at least 1 is needed");
    TL_NEED(h >= 2, TL_EINVAL, "pool rung 1: h is %d, at least 2 is needed", h);
    TL_NEED(w >= 2, TL_EINVAL, "pool rung 1: w is %d, at least 2 is needed", w);
    return TL_OK;
}

/* Rows begin at even places, and may be loaded in pairs. */
static bool in_pairs(const tl_real *x, int w) {
    return w % 2 == 0 && rung_aligned(x, sizeof(pack<2>));
}

static tl_status pool_relu_fwd(tl_ctx *ctx, tl_real *y, uint8_t *code, const tl_real *x,
                               size_t planes, int h, int w) {
    TL_NEED(ctx && y && x, TL_EINVAL, "pool_relu_fwd, rung 1: ctx, y or x is NULL");
    TL_TRY(need(planes, h, w));
    size_t size = planes * (size_t)(h / 2) * (size_t)(w / 2);
    pool<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, code, x, size, h, w,
                                                                     in_pairs(x, w));
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status pool_relu_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const uint8_t *code,
                               size_t planes, int h, int w) {
    TL_NEED(ctx && dx && dy && code, TL_EINVAL,
            "pool_relu_bwd, rung 1: ctx, dx, dy or code is NULL");
    TL_TRY(need(planes, h, w));
    size_t size = planes * (size_t)((h + 1) / 2) * (size_t)((w + 1) / 2);
    pool_backward<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dx, dy, code, size, h,
                                                                              w, in_pairs(dx, w));
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status relu_mask(tl_ctx *ctx, tl_real *dy, const tl_real *y, size_t n) {
    TL_NEED(ctx && dy && y, TL_EINVAL, "relu_mask, pool rung 1: ctx, dy or y is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "relu_mask, pool rung 1: n is 0, at least 1 is needed");
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
