/* 03_implicit_bias.cu: bias gradient of rung 3: a channel's block reads its outputs with many loads
 * on their way at once.
 *
 * The plain path's block takes 256 numbers and waits for them before it asks for the next. Here up
 * to 1,024 threads ask for several groups each; a group is four outputs side by side where planes
 * are multiples of four. The sums are the same whether such a group is loaded in one go or, for
 * want of alignment, one by one. */
#include "kernels/conv2d/03_implicit_tile.h"

/* (a round of loads takes 32 registers in either precision, and 1,024 threads have 64 each) */
enum { WARP = 32, ROUND = 32 / sizeof(tl_real) };

/* db[k] += the sum over dy[n,k,:], GROUP neighbours a thread, V of them in one load. */
template <int NEAR, int V>
static __global__ void __launch_bounds__(BIAS_THREADS)
    bias_gradient(tl_real *db, const tl_real *__restrict__ dy, int images, int outputs) {
    __shared__ tl_real part[BIAS_THREADS / WARP];
    unsigned groups = (unsigned)outputs / NEAR, count = groups * (unsigned)images;
    size_t k = blockIdx.x, channels = gridDim.x;
    tl_real sums[NEAR] = {};
    for (unsigned first = threadIdx.x; first < count; first += ROUND * blockDim.x) {
        pack<V> v[ROUND][NEAR / V];
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            unsigned at = first + i * blockDim.x, n = at / groups, place = at % groups * NEAR;
            const tl_real *from = dy + (n * channels + k) * (size_t)outputs + place;
#pragma unroll
            for (int j = 0; j < NEAR / V; j++)
                v[i][j] = at < count ? *(const pack<V> *)(from + j * V) : pack<V>{};
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++)
#pragma unroll
            for (int j = 0; j < NEAR; j++) sums[j] += v[i][j / V].v[j % V];
    }
    tl_real sum = 0;
#pragma unroll
    for (int j = 0; j < NEAR; j++) sum += sums[j];
    for (int away = WARP / 2; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    sum = threadIdx.x < blockDim.x / WARP ? part[threadIdx.x] : TL_R(0);
    for (int away = WARP / 2; away > 0; away /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, away);
    if (threadIdx.x == 0) db[k] += sum;
}

extern "C" tl_status tl_rung_conv2d_implicit_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy,
                                                      const tl_conv2d_geom *g) {
    int outputs = g->p * g->q, near = outputs % 4 == 0 ? 4 : 1;
    int groups = outputs / near * g->n, threads = (groups + WARP - 1) / WARP * WARP;
    if (threads > BIAS_THREADS) threads = BIAS_THREADS;
    bool fours = near == 4 && rung_aligned(dy, sizeof(pack<4>));
    auto singly = near == 4 ? bias_gradient<4, 1> : bias_gradient<1, 1>;
    auto kernel = fours ? bias_gradient<4, 4> : singly;
    kernel<<<(unsigned)g->k, (unsigned)threads, 0, tl_stream(ctx)>>>(db, dy, g->n, outputs);
    TL_LAUNCHED();
    return TL_OK;
}
