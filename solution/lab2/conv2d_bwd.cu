/* conv2d_bwd.cu: gradients of a convolution by input, weight and bias, on a GPU (tl/conv2d.h). */
//@lab 2:
/* Forward is Y = W·X on the columns X of each chunk of images. So dX = Wᵀ·dY, which col2im carries
 * back to pixels, and dW = dY·Xᵀ summed over chunks. Columns are made anew: keeping those of the
 * forward pass would cost R*S times the memory of x. */
//@end
#include "tl/backend.h"
#include "tl/conv2d.h"
#include "tl/cuda.h"
#include "tl/matmul.h"

//@lab 2:
/* rows[k,i,:] = dy[i,k,:]: the output gradients in the order in which the matrix product takes
 * them. */
static __global__ void images_to_rows(tl_real *rows, const tl_real *dy, size_t images,
                                      size_t channels, size_t outputs) {
    for (size_t t = tl_thread(); t < images * channels * outputs; t += tl_threads()) {
        size_t j = t % outputs, i = t / outputs % images, k = t / outputs / images;
        rows[t] = dy[(i * channels + k) * outputs + j];
    }
}
//@end

//@lab 2:
static tl_status make_rows(tl_ctx *ctx, tl_real *rows, const tl_real *dy, int images,
                           const tl_conv2d_geom *g) {
    size_t n = (size_t)images, channels = (size_t)g->k, outputs = tl_conv2d_col_cols(g);
    images_to_rows<<<tl_blocks(n * channels * outputs, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(
        rows, dy, n, channels, outputs);
    TL_LAUNCHED();
    return TL_OK;
}
//@end

tl_status tl_conv2d_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                              const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dx && dy && w && g && work, TL_EINVAL,
            "tl_conv2d_bwd_input: ctx, dx, dy, w, the geometry or work is NULL");

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        //@lab 2: Forward is Y = W·X on the columns X of a chunk. What is the gradient of X, given
        //@  that of Y? Lay dy of these images out as part.rows[K, images*P*Q], as the matrix
        //@  product takes them (channel outside, image inside: the reverse of what forward did at
        //@  its end); one tl_gemm makes the gradients of the columns in part.col, which is scratch
        //@  and overwritten; tl_col2im carries them to the pixels of these images and adds. Write
        //@  down the sizes of all three matrices before you fill in a tl_matmul_geom. One product
        //@  for a chunk, none for a single image.
        TL_TRY(make_rows(ctx, part.rows, dy + part.y, part.images, g));
        /* dcol[C*R*S, images*P*Q] = wᵀ · rows[K, images*P*Q], with w stored [K, C*R*S] */
        tl_real *dcol = part.col;
        tl_matmul_geom product = {};
        product.m = g->c * g->r * g->s;
        product.n = part.images * g->p * g->q;
        product.k = g->k;
        product.trans_a = 1;
        TL_TRY(tl_gemm(ctx, dcol, w, part.rows, &product)); /* overwrites: dcol is scratch */
        TL_TRY(tl_col2im(ctx, dx + part.x, dcol, part.images, g));
        //@skeleton
        // return TL_NOT_IMPLEMENTED();
        //@end
    }
    return TL_OK;
}

tl_status tl_conv2d_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                               const tl_conv2d_geom *g, void *work) {
    TL_NEED(ctx && dw && dy && x && g && work, TL_EINVAL,
            "tl_conv2d_bwd_weight: ctx, dw, dy, x, the geometry or work is NULL");

    for (tl_conv2d_part part = tl_conv2d_first(g, ctx->ops->column_bytes, work); part.images;
         tl_conv2d_next(&part, g)) {
        //@lab 2: From Y = W·X: what is the gradient of W, given that of Y? It is a sum over all
        //@  outputs of all images, so every chunk adds its share to dw, in order. The columns of x
        //@  are made anew for each chunk: keeping those of forward would cost R*S times the memory
        //@  of x. Trap: dw holds a gradient already; the product must add to it.
        TL_TRY(tl_im2col(ctx, part.col, x + part.x, part.images, g));
        TL_TRY(make_rows(ctx, part.rows, dy + part.y, part.images, g));
        /* dw[K, C*R*S] += rows[K, images*P*Q] · colᵀ; chunks follow each other in the stream, so
         * their order of addition is fixed */
        tl_matmul_geom product = {};
        product.m = g->k;
        product.n = g->c * g->r * g->s;
        product.k = part.images * g->p * g->q;
        product.trans_b = 1;
        product.accumulate = 1;
        TL_TRY(tl_gemm(ctx, dw, part.rows, part.col, &product));
        //@skeleton
        // return TL_NOT_IMPLEMENTED();
        //@end
    }
    return TL_OK;
}

//@lab 2:
/* A channel has one bias, used at every place of every image, so its gradient is the sum over all
 * of them, not the mean. One block per channel: each thread adds every TL_BLOCK-th place, then the
 * block adds its threads up as a tree, always in the same order. */
static __global__ void bias_gradient(tl_real *db, const tl_real *dy, size_t images, size_t channels,
                                     size_t outputs) {
    __shared__ tl_real part[TL_BLOCK];
    size_t k = blockIdx.x;
    tl_real mine = 0;
    for (size_t t = threadIdx.x; t < images * outputs; t += TL_BLOCK)
        mine += dy[(t / outputs * channels + k) * outputs + t % outputs];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = TL_BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) db[k] += part[0];
}
//@end

tl_status tl_conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g) {
    TL_NEED(ctx && db && dy && g, TL_EINVAL,
            "tl_conv2d_bwd_bias: ctx, db, dy or the geometry is NULL");

    //@lab 2: db[k] += the gradient of the bias of channel k: a kernel above, its launch here. The
    //@  bias is used at every place (p, q) of every image: so what is its gradient, a sum or a
    //@  mean? A block per channel, its threads combined as in lab 1, always in the same order.
    bias_gradient<<<(unsigned)g->k, TL_BLOCK, 0, tl_stream(ctx)>>>(
        db, dy, (size_t)g->n, (size_t)g->k, tl_conv2d_col_cols(g));
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
