/* col2im.cu: the adjoint of im2col, on a GPU (tl/conv2d.h). */
//@lab 2:
/* im2col copies a pixel to many places; its adjoint adds those places up. With a thread per element
 * of col, threads would meet in one pixel. With a thread per pixel, which collects the places that
 * were copied from it, every pixel has one writer and one order of addition. */
//@end
#include "tl/conv2d.h"

#include "tl/cuda.h"

//@lab 2:
/* The output that reads pixel `at` through tap number `tap` along one axis, or -1 if none does:
 * solves at = output*stride - pad + tap*dilation for a whole output in 0 .. outputs-1. */
static __device__ int output_of(int at, int tap, int stride, int pad, int dilation, int outputs) {
    int distance = at + pad - tap * dilation;
    if (distance < 0 || distance % stride != 0) return -1;
    int output = distance / stride;
    return output < outputs ? output : -1;
}
//@end

//@lab 2:
static __global__ void col2im(tl_real *dx, const tl_real *col, size_t images, tl_conv2d_geom g) {
    size_t pixels = (size_t)g.h * g.w, outputs = (size_t)g.p * g.q, channels = (size_t)g.c;
    size_t columns = images * outputs;
    for (size_t t = tl_thread(); t < images * channels * pixels; t += tl_threads()) {
        size_t i = t / pixels / channels, c = t / pixels % channels;
        int h = (int)(t % pixels) / g.w, w = (int)(t % pixels) % g.w;
        const tl_real *taps = col + c * g.r * g.s * columns + i * outputs;
        tl_real sum = dx[t]; /* adds to the gradient that is there */
        for (int r = 0; r < g.r; r++) {
            int p = output_of(h, r, g.stride_h, g.pad_h, g.dil_h, g.p);
            if (p < 0) continue;
            for (int s = 0; s < g.s; s++) {
                int q = output_of(w, s, g.stride_w, g.pad_w, g.dil_w, g.q);
                if (q < 0) continue;
                sum += taps[((size_t)r * g.s + s) * columns + (size_t)p * g.q + q];
            }
        }
        dx[t] = sum;
    }
}
//@end

tl_status tl_col2im(tl_ctx *ctx, tl_real *dx, const tl_real *col, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && dx && col && g, TL_EINVAL, "tl_col2im: ctx, dx, col or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_col2im: images is %d, must be at least 1", images);

    //@lab 2: The adjoint of im2col: a kernel above, its launch here. One thread per pixel of dx:
    //@  it finds the places of col that were copied from its pixel, adds them up in a fixed order,
    //@  and adds the sum to what dx holds. Which outputs saw pixel h through tap r? Solve h =
    //@  p*stride_h - pad_h + r*dil_h for a whole p in 0 .. P-1; the same along w. With a thread
    //@  per element of col, threads would meet in one pixel, and atomics add in the order in which
    //@  they happen to arrive. Traps: % of a negative number; where stride is larger than the
    //@  filter, some pixels were never copied.
    size_t threads = (size_t)images * (size_t)g->c * (size_t)g->h * (size_t)g->w;
    col2im<<<tl_blocks(threads, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(dx, col, (size_t)images,
                                                                          *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
