/* conv3x3.cu: a convolution of 3x3 pixels with little memory traffic. (tl/conv3x3.h) */
#include "tl/conv3x3.h"
#include "tl/cuda.h"

/* TODO(lab 5): The kernel below is right and slow: neighbouring threads fetch nearly the same
 * pixels, and all of them the same weights, again for every output channel. Climb the rungs of
 * conv3x3.md: (1) a thread makes four output channels of its place, with four sums in registers;
 * (2) a tile of the image in shared memory, with a rim of one pixel, fetched once for each input
 * channel by all threads together; (3) the weights in shared memory, too, and eight channels a
 * thread; (4) all 16 from one tile, without conflicts of banks; (5) four places a thread, one below
 * the other: a weight that is read once serves all of them, and so does a pixel, from registers.
 * And g.transposed, which the given launch refuses. Traps: K need not be a multiple of the channels
 * that a thread keeps, nor h of its places; every thread takes part in fetching and in both
 * barriers, also if its own places lie outside of the image; a barrier after fetching, and another
 * one before the tile is overwritten. */
/* One thread per output, and everything from global memory. */
static __global__ void convolve(tl_real *y, const tl_real *x, const tl_real *w, size_t size,
                                tl_conv3x3_geom g) {
    for (size_t t = tl_thread(); t < size; t += tl_threads()) {
        int j = (int)(t % g.w), i = (int)(t / g.w % g.h);
        size_t k = t / g.w / g.h % g.k, image = t / g.w / g.h / g.k;
        tl_real sum = 0;
        for (int c = 0; c < g.c; c++) {
            for (int tap = 0; tap < 9; tap++) {
                int h = i + tap / 3 - 1, v = j + tap % 3 - 1;
                if (h < 0 || h >= g.h || v < 0 || v >= g.w) continue;
                sum += w[(k * g.c + c) * 9 + tap] *
                       x[((image * g.c + c) * g.h + h) * (size_t)g.w + v];
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
    /* TODO(lab 5): The launch. The batch stays in the grid: as many launches for one image as for
     * many. */
    if (g->transposed) return TL_NOT_IMPLEMENTED();
    size_t size = (size_t)g->n * (size_t)g->k * (size_t)g->h * (size_t)g->w;
    convolve<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, w, size, *g);
    TL_LAUNCHED();
    return TL_OK;
}
