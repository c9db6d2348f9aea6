/* transpose.cu: y = xᵀ through tiles in shared memory, on a GPU (tl/matmul.h). */
//@lab 1:
/* Copied directly, either the loads or the stores of a warp would jump by a whole row, one memory
 * transaction for each number. So a block loads a tile along rows of x, waits, and stores it along
 * rows of y; the turn happens in shared memory, which has no rows to keep to. */
//@end
#include "tl/matmul.h"

#include "tl/cuda.h"

enum {
    TILE = 32,     /* a side of the tile, and the threads in x: one warp per row */
    THREADS_Y = 8, /* each thread moves TILE / THREADS_Y elements */
};

//@lab 1:
static __global__ void transpose(tl_real *y, const tl_real *x, size_t rows, size_t cols) {
    /* One column more than is used: 32 elements below each other would lie in the same bank. */
    __shared__ tl_real tile[TILE][TILE + 1];
    size_t j0 = (size_t)blockIdx.x * TILE;
    for (size_t i0 = (size_t)blockIdx.y * TILE; i0 < rows; i0 += (size_t)gridDim.y * TILE) {
        for (size_t k = threadIdx.y; k < TILE; k += THREADS_Y) {
            size_t i = i0 + k, j = j0 + threadIdx.x;
            if (i < rows && j < cols) tile[k][threadIdx.x] = x[i * cols + j];
        }
        __syncthreads();
        for (size_t k = threadIdx.y; k < TILE; k += THREADS_Y) {
            size_t j = j0 + k, i = i0 + threadIdx.x;
            if (i < rows && j < cols) y[j * rows + i] = tile[threadIdx.x][k];
        }
        __syncthreads(); /* the next tile is loaded only when all of this one is stored */
    }
}
//@end

tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    TL_NEED(ctx && y && x, TL_EINVAL, "tl_transpose: ctx, y or x is NULL");
    TL_NEED(rows >= 1 && cols >= 1, TL_EINVAL,
            "tl_transpose: x is [%d,%d], sizes must be at least 1", rows, cols);

    //@lab 1: y = xᵀ. Copied directly, the loads or the stores of a warp jump by a whole row: one
    //@  memory transaction for each number. So let a block of TILE x THREADS_Y threads load a TILE
    //@  x TILE piece of x into __shared__ memory row by row, and store it to y row by row; the
    //@  turn happens in shared memory. Think of: the barrier between the two, and one more if a
    //@  block does several tiles; pieces that stick out at the edges, where all threads must still
    //@  reach the barrier; a row length of the tile that keeps a column out of a single bank;
    //@  grids of at most 65,535 blocks in y (tl_blocks).
    dim3 block(TILE, THREADS_Y);
    dim3 grid(((unsigned)cols - 1) / TILE + 1, tl_blocks((size_t)rows, TILE));
    transpose<<<grid, block, 0, tl_stream(ctx)>>>(y, x, (size_t)rows, (size_t)cols);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
