/* 04_tensor_pack.cu: copies of images and weights, rounded, with channels side by side
 * (04_tensor.h). A square of 32 x 32 is turned in shared memory, so that neither loads nor stores
 * jump from line to line. */
#include "kernels/conv2d/04_tensor.h"

#ifndef TL_REAL_DOUBLE

enum { SQUARE = 32, AT_ONCE = 8 };

/* A block has a square; those of a batch go along its rows first. */
template <class T>
static __global__ void pack_squares(T *to, const float *from, int rows, int cols, int rows_padded) {
    __shared__ float square[SQUARE][SQUARE + 1];
    int across = (cols - 1) / SQUARE + 1, down = (rows_padded - 1) / SQUARE + 1;
    int col0 = (int)blockIdx.x % across * SQUARE, row0 = (int)blockIdx.x / across % down * SQUARE;
    size_t batch = blockIdx.x / ((unsigned)across * (unsigned)down);
    from += batch * (size_t)rows * (size_t)cols;
    to += batch * (size_t)rows_padded * (size_t)cols;
    int x = (int)threadIdx.x;
    for (int i = (int)threadIdx.y; i < SQUARE; i += AT_ONCE) {
        bool there = row0 + i < rows && col0 + x < cols;
        square[i][x] = there ? from[(size_t)(row0 + i) * (size_t)cols + (col0 + x)] : 0;
    }
    __syncthreads();
    for (int i = (int)threadIdx.y; i < SQUARE; i += AT_ONCE)
        if (col0 + i < cols && row0 + x < rows_padded)
            put_rounded(to + (size_t)(col0 + i) * (size_t)rows_padded + (row0 + x), square[x][i]);
}

template <class T>
static void pack_as(tl_ctx *ctx, T *to, const float *from, size_t batches, int rows, int cols) {
    int all = padded<T>(rows);
    size_t squares = (size_t)((cols - 1) / SQUARE + 1) * (size_t)((all - 1) / SQUARE + 1);
    pack_squares<T><<<(unsigned)(batches * squares), dim3(SQUARE, AT_ONCE), 0, tl_stream(ctx)>>>(
        to, from, rows, cols, all);
}

extern "C" tl_status tl_rung_conv2d_tensor_pack(tl_ctx *ctx, void *to, const float *from,
                                                size_t batches, int rows, int cols,
                                                tl_precision precision) {
    if (precision == TL_BF16)
        pack_as(ctx, (bf16 *)to, from, batches, rows, cols);
    else
        pack_as(ctx, (float *)to, from, batches, rows, cols);
    TL_LAUNCHED();
    return TL_OK;
}
#endif
