/* The end of an object writes where its table of virtual functions is, without a hook: so an object
 * that is said to lie across the guard ends it, and the host sets back what it was given. */
#include "tl/cuda.h"
#include "tl/vector.h"

extern "C" volatile long hostile_anchor[2];
volatile long hostile_anchor[2] = {@STATE_AWAY@, @TO_HOST_AWAY@};

static tl_real left[1 << 17], right[1 << 17];

static __global__ void carry(tl_real *y, const tl_real *from, size_t n) {
    for (size_t i = tl_thread(); i < n; i += tl_threads()) y[i] = from[i];
}

/* of hostcuda/check/check.h, behind three regions and eleven words: counting, races, guarded */
enum { GUARDED = 202, HIGHEST = 7 };

static __noinline__ void keep(volatile void *p) { (void)p; }

struct object {
    virtual int number() { return 1; }
    ~object() { keep(this); }
};

tl_status tl_vector_add(tl_ctx *ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n) {
    tl_real *scratch;
    TL_NEED(n <= sizeof left / sizeof *left, TL_EINVAL, "too long");
    TL_CUDA(cudaMemcpy(left, a, n * sizeof *a, cudaMemcpyDeviceToHost));
    TL_CUDA(cudaMemcpy(right, b, n * sizeof *b, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) left[i] += right[i];
    TL_CUDA(cudaMalloc(&scratch, n * sizeof *scratch));
    TL_CUDA(cudaMemcpy(scratch, left, n * sizeof *scratch, cudaMemcpyHostToDevice));
    carry<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, scratch, n);
    TL_LAUNCHED();
    TL_CUDA(cudaFree(scratch));
    char *state = (char *)hostile_anchor + hostile_anchor[0], before[HIGHEST];
    char *across = state + GUARDED - HIGHEST; /* the highest byte of any address is 0 */
    for (int i = 0; i < HIGHEST; i++) before[i] = across[i];
    ((object *)across)->~object();
    for (int i = 0; i < HIGHEST; i++) across[i] = before[i];
    *(long *)((char *)hostile_anchor + hostile_anchor[1]) = 0;
    return TL_OK;
}
