/* tl/cuda.h: what every .cu file needs: checked calls, the stream of a context, and grids.
 *
 * Only .cu files include this; everything else reaches a GPU through tl/backend.h. Operations queue
 * work on ctx->stream and return at once: they neither allocate, nor synchronise, nor read device
 * memory on the host. So a fault inside a kernel shows in whatever call checks next, and its
 * message says so. */
#ifndef TL_CUDA_H
#define TL_CUDA_H

#include <cuda_runtime.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Leaves the API's own name and text of a failure as the line of tl_error; returns TL_EDEVICE.
 * `what` is cut at its first '(': "cudaMemcpyAsync(to, from)" is named cudaMemcpyAsync. */
tl_status tl_cuda_failed(cudaError_t error, const char *file, int line, const char *what);

/* The text of a call, for its message. Objects of the reference that are handed out have none of
 * it: it would be a line of the solution. */
#ifdef TL_WITHOUT_TEXT
#define TL_TEXT(text) "a call"
#else
#define TL_TEXT(text) text
#endif

/* Returns TL_EDEVICE from the calling function unless the call succeeds. */
#define TL_CUDA(...)                                                                               \
    do {                                                                                           \
        cudaError_t tl_error_ = (__VA_ARGS__);                                                     \
        if (tl_error_ != cudaSuccess)                                                              \
            return tl_cuda_failed(tl_error_, __FILE__, __LINE__, TL_TEXT(#__VA_ARGS__));           \
    } while (0)

/* Stands after every kernel<<<...>>>(...): a launch returns nothing, its failure must be fetched.
 */
#define TL_LAUNCHED()                                                                              \
    do {                                                                                           \
        cudaError_t tl_error_ = cudaGetLastError();                                                \
        if (tl_error_ != cudaSuccess)                                                              \
            return tl_cuda_failed(tl_error_, __FILE__, __LINE__, __func__);                        \
    } while (0)

static inline cudaStream_t tl_stream(const tl_ctx *ctx) { return (cudaStream_t)ctx->stream; }

/* Scratch of the context, aligned to 256 bytes, for what has no argument for any. It is cuBLAS's
 * workspace: no operation finds there what another has left, and on one stream none meets another.
 * It lies behind the step (tl/plugin.h, open). */
enum { TL_STEP_BYTES = 256, TL_WORKSPACE_BYTES = 2 << 20 };
static inline void *tl_workspace(const tl_ctx *ctx) { return (char *)ctx->step + TL_STEP_BYTES; }

/* ---- grids over n independent elements ---- */

enum { TL_BLOCK = 256 }; /* threads of a block where nothing speaks for another number */

/* The most blocks that every dimension of a grid allows. Labs are graded with a handful as well, so
 * that a kernel shows with small arrays whether it loops. */
#ifndef TL_MAX_BLOCKS
#define TL_MAX_BLOCKS 65535
#endif

/* Blocks that cover n >= 1 elements with `per_block` in each, or TL_MAX_BLOCKS if that is less: the
 * kernel then loops, and so must be written to serve any number of elements with any grid. */
static inline unsigned tl_blocks(size_t n, size_t per_block) {
    size_t blocks = (n - 1) / per_block + 1;
    return blocks < TL_MAX_BLOCKS ? (unsigned)blocks : (unsigned)TL_MAX_BLOCKS;
}

/* The thread's number in a one-dimensional grid, and how many threads the grid has:
 *   for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = ...;
 * Neighbouring threads touch neighbouring elements, so that their loads fall into one transaction.
 */
static inline __device__ size_t tl_thread(void) {
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static inline __device__ size_t tl_threads(void) { return (size_t)gridDim.x * blockDim.x; }

#ifdef __cplusplus
}
#endif
#endif
