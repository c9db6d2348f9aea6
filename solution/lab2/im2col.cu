/* im2col.cu: receptive fields copied into the columns of a matrix, on a GPU (tl/conv2d.h). */
//@lab 2:
/* One thread per place of the filter and channel: it finds out where it stands once, then copies
 * R*S pixels. Threads side by side take columns side by side, so each of these copies is one
 * contiguous piece of a row of col for a whole warp. */
//@end
#include "tl/conv2d.h"

#include "tl/cuda.h"

//@lab 2:
/* Threads count outputs, P*Q of them per image and channel: not the H*W pixels of the image, of
 * which there are fewer where padding is large. */
static __global__ void im2col(tl_real *col, const tl_real *x, size_t images, tl_conv2d_geom g) {
    size_t outputs = (size_t)g.p * g.q, columns = images * outputs, channels = (size_t)g.c;
    for (size_t t = tl_thread(); t < channels * columns; t += tl_threads()) {
        size_t c = t / columns, column = t % columns, i = column / outputs;
        int p = (int)(column % outputs) / g.q, q = (int)(column % outputs) % g.q;
        const tl_real *plane = x + (i * channels + c) * g.h * g.w;
        tl_real *to = col + c * g.r * g.s * columns + column;
        for (int r = 0; r < g.r; r++) {
            int h = p * g.stride_h - g.pad_h + r * g.dil_h;
            for (int s = 0; s < g.s; s++) {
                int w = q * g.stride_w - g.pad_w + s * g.dil_w;
                bool inside = h >= 0 && h < g.h && w >= 0 && w < g.w;
                *to = inside ? plane[(size_t)h * g.w + w] : TL_R(0);
                to += columns; /* the next tap is the next row of the matrix */
            }
        }
    }
}
//@end

tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && col && x && g, TL_EINVAL, "tl_im2col: ctx, col, x or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_im2col: images is %d, must be at least 1", images);

    //@lab 2: A kernel above that fills col[C*R*S, images*P*Q] by the formula of tl/conv2d.h, and
    //@  its launch here; pass *g to it by value. How many threads are there to be: one per pixel
    //@  of the image, one per output place, or one per element of col? Large padding or a small
    //@  stride gives more outputs than pixels. Neighbouring threads should write neighbours in
    //@  memory. Think of: zeros outside of the image, and no read there; the loop that serves any
    //@  number of elements (tl/cuda.h); indices in size_t.
    size_t threads = (size_t)images * (size_t)g->c * tl_conv2d_col_cols(g);
    im2col<<<tl_blocks(threads, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(col, x, (size_t)images,
                                                                          *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
