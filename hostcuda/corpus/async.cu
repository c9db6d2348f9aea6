// async.cu: copies to shared memory that a GPU carries out beside the kernel, by their four
// interfaces: a barrier's, a pipeline's, a group's and C's.
#include "cases.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

__global__ void by_barrier(float *out, const float *x) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    alignas(16) __shared__ float tile[256];
    int i = threadIdx.x;
    if (i == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&tile[4 * i], &x[4 * i], cuda::aligned_size_t<16>(16), bar);
    bar.arrive_and_wait();
    for (int k = 0; k < 4; k++) out[64 * k + i] = tile[255 - 64 * k - i];
}

// A thread fills three stages ahead of what it reads.
__global__ void by_pipeline(int *out, const int *x, int steps) {
    __shared__ int stage[3][32];
    auto pipe = cuda::make_pipeline();
    int i = threadIdx.x, filled = 0, sum = 0;
    for (int step = 0; step < steps; step++) {
        for (; filled < steps && filled < step + 3; filled++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[filled % 3][i], &x[32 * filled + i], sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += (step + 1) * stage[step % 3][i];
        pipe.consumer_release();
    }
    out[i] = sum;
}

// One warp fills four stages, three warps read them: who is too quick waits for the others.
__global__ void by_roles(int *out, const int *x, int steps) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 4> state;
    __shared__ int stage[4][32];
    auto block = cg::this_thread_block();
    bool fills = threadIdx.x < 32;
    auto pipe = cuda::make_pipeline(block, &state, fills ? cuda::pipeline_role::producer
                                                         : cuda::pipeline_role::consumer);
    int i = threadIdx.x, sum = 0;
    for (int step = 0; step < steps; step++) {
        if (fills) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[step % 4][i], &x[32 * step + i], sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += (step + 1) * stage[step % 4][31 - i % 32];
            pipe.consumer_release();
        }
    }
    if (!fills) out[i - 32] = sum;
}

__global__ void by_group(int *out, const int *x) {
    __shared__ int tile[100];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    cg::memcpy_async(block, tile, x, sizeof(int) * 50);
    if (threadIdx.x < 32) cg::memcpy_async(warp, tile + 50, 50, x + 50, 60);
    cg::wait(block);
    for (int i = threadIdx.x; i < 100; i += 64) out[i] = tile[99 - i];
}

__global__ void by_primitives(int *out, const int *x) {
    alignas(16) __shared__ int tile[128];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * i], &x[4 * i], 16, i == 31 ? 8 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int k = 0; k < 4; k++) out[32 * k + i] = tile[127 - 32 * k - i];
}

RIGHT(async_copies) {
    float *f = device_count<float>(256), *g = device_count<float>(256);
    by_barrier<<<1, 64>>>(g, f);
    auto turned = to_host(g, 256);
    for (int i = 0; i < 256; i++) EXPECT(turned[i] == 255 - i);
    int *x = device_count<int>(320), *out = device_count<int>(128);
    by_group<<<1, 64>>>(out, x);
    auto h = to_host(out, 100);
    for (int i = 0; i < 100; i++) EXPECT(h[i] == 99 - i);
    by_primitives<<<1, 32>>>(out, x);
    h = to_host(out, 128);
    for (int i = 0; i < 128; i++) EXPECT(h[i] == (i < 2 ? 0 : 127 - i));
    cudaFree(f), cudaFree(g), cudaFree(x), cudaFree(out);
}
RIGHT(async_stages) {
    int *x = device_count<int>(320), *out = device_count<int>(96);
    by_pipeline<<<1, 32>>>(out, x, 10);
    auto h = to_host(out, 32);
    int steps = 55, products = 330; // sums of step + 1 and of (step + 1) step
    for (int i = 0; i < 32; i++) EXPECT(h[i] == 32 * products + steps * i);
    by_roles<<<1, 128>>>(out, x, 10);
    h = to_host(out, 96);
    for (int i = 0; i < 96; i++) EXPECT(h[i] == 32 * products + steps * (31 - i % 32));
    cudaFree(x), cudaFree(out);
}

// A wait is each thread's own: what another thread copies wants a barrier as well.
__global__ void waits_for_itself(int *out, const int *x) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&tile[i], &x[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[i] = tile[63 - i]; // check async_own_wait: race
}
RIGHT(async_own_wait) {
    int *x = device_count<int>(64), *out = device_count<int>(64);
    waits_for_itself<<<1, 64>>>(out, x);
    cudaDeviceSynchronize();
    cudaFree(x), cudaFree(out);
    cudaDeviceReset();
}

// The consumer never says that it has read: the producer waits for room for ever.
__global__ void never_released(int *out, const int *x) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int stage[2][32];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state, 32);
    for (int step = 0; step < 3; step++) {
        if (threadIdx.x < 32) {
            pipe.producer_acquire(); // wrong async_never_released: divergent-barrier
            cuda::memcpy_async(&stage[step % 2][threadIdx.x], &x[threadIdx.x], 4, pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            out[threadIdx.x - 32] = stage[step % 2][threadIdx.x - 32];
        }
    }
}
WRONG(async_never_released) {
    int *x = device_count<int>(32), *out = device_count<int>(32);
    never_released<<<1, 64>>>(out, x);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}
