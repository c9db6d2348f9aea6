/* im2col.cu: receptive fields copied into the columns of a matrix, on a GPU (tl/conv2d.h). */
#include "tl/conv2d.h"

#include "tl/cuda.h"

tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g) {
    TL_NEED(ctx && col && x && g, TL_EINVAL, "tl_im2col: ctx, col, x or the geometry is NULL");
    TL_NEED(images >= 1, TL_EINVAL, "tl_im2col: images is %d, must be at least 1", images);

    /* TODO(lab 2): A kernel above that fills col[C*R*S, images*P*Q] by the formula of tl/conv2d.h,
     * and its launch here; pass *g to it by value. How many threads are there to be: one per pixel
     * of the image, one per output place, or one per element of col? Large padding or a small
     * stride gives more outputs than pixels. Neighbouring threads should write neighbours in
     * memory. Think of: zeros outside of the image, and no read there; the loop that serves any
     * number of elements (tl/cuda.h); indices in size_t. */
    return TL_NOT_IMPLEMENTED();
}
