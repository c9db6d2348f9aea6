/* maxpool2d.cu: max pooling, forward and backward, on a GPU. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"

//@lab 3:
/* Whether v takes the place of best: of equal values the first stays, and so does the first NaN,
 * which wins over every number because !(NaN <= best) holds. */
static __device__ bool beats(tl_real v, tl_real best) { return !(v <= best) && !isnan(best); }
//@end

//@lab 3:
/* One thread per output. The window is cut to the image, so that padding cannot win. */
static __global__ void pool(tl_real *y, int32_t *argmax, const tl_real *x, size_t size,
                            tl_pool2d_geom g) {
    size_t outputs = (size_t)g.p * g.q, pixels = (size_t)g.h * g.w;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        int p = (int)(t % outputs) / g.q, q = (int)(t % outputs) % g.q;
        int top = p * g.stride_h - g.pad_h, left = q * g.stride_w - g.pad_w;
        int h0 = top > 0 ? top : 0, h1 = top + g.r < g.h ? top + g.r : g.h;
        int w0 = left > 0 ? left : 0, w1 = left + g.s < g.w ? left + g.s : g.w;
        const tl_real *plane = x + t / outputs * pixels;
        int at = h0 * g.w + w0;
        for (int h = h0; h < h1; h++)
            for (int i = h * g.w + w0; i < h * g.w + w1; i++)
                if (beats(plane[i], plane[at])) at = i;
        y[t] = plane[at];
        argmax[t] = at;
    }
}
//@end

tl_status tl_maxpool2d_fwd(tl_ctx *ctx, tl_real *y, int32_t *argmax, const tl_real *x,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && y && argmax && x && g, TL_EINVAL,
            "tl_maxpool2d_fwd: ctx, y, argmax, x or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: A kernel with one thread per output, and its launch: y is the largest x in the window
    //@  of r x s pixels whose corner is (p*stride_h - pad_h, q*stride_w - pad_w), argmax its
    //@  offset h*W + w within the plane. Of equal values the first in row-major order wins; a NaN
    //@  wins over numbers. Trap: padding must never win, not even over negative numbers.
    size_t size = tl_pool2d_y_size(g);
    pool<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, argmax, x, size, *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* The windows first .. last-1 along one axis that cover the pixel `at`: window p covers
 * p*stride - pad .. p*stride - pad + length - 1. May be none, where the stride skips pixels. */
typedef struct range {
    int first, end;
} range;
//@end

//@lab 3:
static __device__ range covering(int at, int length, int stride, int pad, int windows) {
    int before = at + pad - length; /* a window that starts here ends just before the pixel */
    int first = before < 0 ? 0 : before / stride + 1, end = (at + pad) / stride + 1;
    return range{first, end < windows ? end : windows};
}
//@end

//@lab 3:
/* One thread per pixel: it asks each window over it whether this pixel was the winner. A thread per
 * output would be less work, but windows that overlap may share a winner, and its additions would
 * need atomics, whose order changes from run to run. */
static __global__ void pool_backward(tl_real *dx, const tl_real *dy, const int32_t *argmax,
                                     size_t size, tl_pool2d_geom g) {
    size_t outputs = (size_t)g.p * g.q, pixels = (size_t)g.h * g.w;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        int pixel = (int)(t % pixels);
        range rows = covering(pixel / g.w, g.r, g.stride_h, g.pad_h, g.p);
        range cols = covering(pixel % g.w, g.s, g.stride_w, g.pad_w, g.q);
        size_t plane = t / pixels * outputs;
        tl_real sum = dx[t]; /* adds to the gradient that is there */
        for (int p = rows.first; p < rows.end; p++) {
            for (int q = cols.first; q < cols.end; q++) {
                size_t output = plane + (size_t)p * g.q + q;
                if (argmax[output] == pixel) sum += dy[output];
            }
        }
        dx[t] = sum;
    }
}
//@end

tl_status tl_maxpool2d_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const int32_t *argmax,
                           const tl_pool2d_geom *g) {
    TL_NEED(ctx && dx && dy && argmax && g, TL_EINVAL,
            "tl_maxpool2d_bwd: ctx, dx, dy, argmax or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: dx[argmax] += dy, by a kernel. With a thread per output, windows that overlap may
    //@  share a winner, and their additions would need atomics, whose order changes from run to
    //@  run. With a thread per pixel, each asks the windows over it whether it was their winner.
    //@  Which windows p cover row h: p*stride_h - pad_h <= h < p*stride_h - pad_h + r? There may
    //@  be none. Trap: whole-number division of a negative number rounds towards zero.
    size_t size = tl_pool2d_x_size(g);
    pool_backward<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dx, dy, argmax, size,
                                                                              *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
