/* avgpool2d.cu: average pooling, forward and backward, on a GPU. (tl/layers.h) */
#include "tl/cuda.h"
#include "tl/layers.h"

//@lab 3:
/* One thread per output; the window is cut to the image. */
static __global__ void average(tl_real *y, const tl_real *x, size_t size, tl_pool2d_geom g) {
    size_t outputs = (size_t)g.p * g.q, pixels = (size_t)g.h * g.w;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        int p = (int)(t % outputs) / g.q, q = (int)(t % outputs) % g.q;
        int top = p * g.stride_h - g.pad_h, left = q * g.stride_w - g.pad_w;
        int h0 = top > 0 ? top : 0, h1 = top + g.r < g.h ? top + g.r : g.h;
        int w0 = left > 0 ? left : 0, w1 = left + g.s < g.w ? left + g.s : g.w;
        const tl_real *plane = x + t / outputs * pixels;
        tl_real sum = 0;
        for (int h = h0; h < h1; h++)
            for (int w = w0; w < w1; w++) sum += plane[h * g.w + w];
        y[t] = sum / (tl_real)(g.r * g.s);
    }
}
//@end

tl_status tl_avgpool2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_pool2d_geom *g) {
    TL_NEED(ctx && y && x && g, TL_EINVAL, "tl_avgpool2d_fwd: ctx, y, x or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: A kernel with one thread per output, and its launch: the sum of the window's pixels,
    //@  divided by r*s. Padding counts as zeros.
    size_t size = tl_pool2d_y_size(g);
    average<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, size, *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

//@lab 3:
/* The windows first .. end-1 along one axis that cover the pixel `at`; may be none. */
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
/* One thread per pixel gathers from the windows over it: no two threads meet. */
static __global__ void share(tl_real *dx, const tl_real *dy, size_t size, tl_pool2d_geom g) {
    size_t outputs = (size_t)g.p * g.q, pixels = (size_t)g.h * g.w;
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        int pixel = (int)(t % pixels);
        range rows = covering(pixel / g.w, g.r, g.stride_h, g.pad_h, g.p);
        range cols = covering(pixel % g.w, g.s, g.stride_w, g.pad_w, g.q);
        tl_real sum = dx[t]; /* adds to the gradient that is there */
        for (int p = rows.first; p < rows.end; p++)
            for (int q = cols.first; q < cols.end; q++)
                sum += dy[t / pixels * outputs + (size_t)p * g.q + q] / (tl_real)(g.r * g.s);
        dx[t] = sum;
    }
}
//@end

tl_status tl_avgpool2d_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_pool2d_geom *g) {
    TL_NEED(ctx && dx && dy && g, TL_EINVAL,
            "tl_avgpool2d_bwd: ctx, dx, dy or the geometry is NULL");
    TL_TRY(tl_pool2d_checked(g));

    //@lab 3: dx += dy / (r*s), by a kernel with a thread per pixel: it asks each window over it.
    //@  Which windows p cover row h: p*stride_h - pad_h <= h < p*stride_h - pad_h + r? Trap:
    //@  whole-number division of a negative number rounds towards zero.
    size_t size = tl_pool2d_x_size(g);
    share<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dx, dy, size, *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
