// libcu.cu: cuda::barrier and cuda::atomic.
#include "cases.h"

#include <cuda/atomic>
#include <cuda/barrier>
#include <utility>

typedef cuda::barrier<cuda::thread_scope_block> block_barrier;

// A sum by halves, with a barrier that is made once and passed in many phases.
__global__ void sum_by_halves(int *out, const int *x) {
    __shared__ block_barrier bar;
    __shared__ int part[128];
    int i = threadIdx.x;
    if (i == 0) init(&bar, blockDim.x);
    part[i] = x[blockIdx.x * 128 + i];
    __syncthreads();
    bar.arrive_and_wait();
    for (int half = 64; half > 0; half /= 2) {
        if (i < half) part[i] += part[i + half];
        bar.arrive_and_wait();
    }
    if (i == 0) out[blockIdx.x] = part[0];
}
RIGHT(barrier_phases) {
    int *x = device_count<int>(512), *out = device_count<int>(4);
    sum_by_halves<<<4, 128>>>(out, x);
    auto h = to_host(out, 4);
    for (int b = 0; b < 4; b++) EXPECT(h[b] == 128 * 128 * b + 64 * 127);
    cudaFree(x), cudaFree(out);
}

// Half of the threads fill a tile and leave at once, the others wait for it and for each other.
__global__ void producers(int *out, const int *x) {
    __shared__ block_barrier full;
    __shared__ int tile[32];
    int i = threadIdx.x;
    if (i == 0) init(&full, 64);
    __syncthreads();
    if (i < 32) {
        tile[i] = x[i];
        full.arrive_and_drop();
    } else {
        block_barrier::arrival_token token = full.arrive();
        full.wait(std::move(token));
        out[i - 32] = tile[63 - i];
        full.arrive_and_wait();
    }
}
RIGHT(barrier_split) {
    int *x = device_count<int>(32), *out = device_count<int>(32);
    producers<<<1, 64>>>(out, x);
    auto h = to_host(out, 32);
    for (int i = 0; i < 32; i++) EXPECT(h[i] == 31 - i);
    cudaFree(x), cudaFree(out);
}

__global__ void some_have_returned(int *x, int n) {
    __shared__ block_barrier bar;
    int i = threadIdx.x;
    if (i == 0) init(&bar, blockDim.x);
    __syncthreads();
    if (i >= n) return;
    x[i] = i;
    bar.arrive_and_wait(); // wrong barrier_not_all: divergent-barrier
}
WRONG(barrier_not_all) {
    int *x = device_count<int>(64);
    some_have_returned<<<1, 64>>>(x, 40);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}

__global__ void made_for_less(int *x) {
    __shared__ block_barrier bar;
    if (threadIdx.x == 0) init(&bar, 63);
    __syncthreads();
    bar.arrive_and_wait();
    x[threadIdx.x] = 1;
    if (threadIdx.x < 60) bar.arrive(64); // wrong barrier_too_often: divergent-barrier
}
WRONG(barrier_too_often) {
    int *x = device_count<int>(64);
    made_for_less<<<1, 63>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}

__global__ void never_made(int *x) {
    __shared__ block_barrier bar;
    x[threadIdx.x] = 1;
    bar.arrive_and_wait(); // wrong barrier_unmade: uninitialised
}
WRONG(barrier_unmade) {
    int *x = device_count<int>(64);
    never_made<<<1, 64>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}

__global__ void read_while_written(int *out) {
    __shared__ block_barrier bar;
    __shared__ int tile[64];
    int i = threadIdx.x;
    if (i == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[i] = i;
    out[i] = tile[63 - i]; // check barrier_later: race
    bar.arrive_and_wait();
}
RIGHT(barrier_later) {
    int *out = device_count<int>(64);
    read_while_written<<<1, 64>>>(out);
    cudaDeviceSynchronize();
    cudaFree(out);
    cudaDeviceReset();
}

// Counts and sums; the block that takes the last ticket adds up what all have left.
__device__ cuda::atomic<unsigned, cuda::thread_scope_device> tickets;
__global__ void last_adds(int *total, int *partial, cuda::atomic<int> *count) {
    __shared__ bool last;
    cuda::atomic_ref<int, cuda::thread_scope_block> mine(partial[blockIdx.x]);
    mine.fetch_add((int)threadIdx.x, cuda::memory_order_relaxed);
    (*count)++;
    __syncthreads();
    if (threadIdx.x == 0) last = tickets.fetch_add(1) == gridDim.x - 1;
    __syncthreads();
    if (!last || threadIdx.x > 0) return;
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += partial[b];
    *total = sum;
}
RIGHT(atomic_tickets) {
    int *total = device_count<int>(1), *partial = device_count<int>(6);
    cuda::atomic<int> *count;
    cudaMalloc(&count, sizeof *count);
    cudaMemset(count, 0, sizeof *count), cudaMemset(partial, 0, 6 * sizeof(int));
    last_adds<<<6, 32>>>(total, partial, count);
    EXPECT(to_host(total, 1)[0] == 6 * 496);
    int counted = 0;
    cudaMemcpy(&counted, count, sizeof counted, cudaMemcpyDeviceToHost);
    EXPECT(counted == 6 * 32);
    cudaFree(total), cudaFree(partial), cudaFree(count);
}

// One thread hands a value to another by a flag.
__global__ void hand_over(float *out) {
    __shared__ float value;
    __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
    if (threadIdx.x == 0) flag.store(0);
    __syncthreads();
    if (threadIdx.x == 32) {
        value = 2.5f;
        flag.store(1, cuda::memory_order_release);
    }
    if (threadIdx.x == 0) {
        while (flag.load(cuda::memory_order_acquire) == 0) {
        }
        *out = value;
    }
}
RIGHT(atomic_flag) {
    float *out = device_count<float>(1);
    hand_over<<<1, 64>>>(out);
    EXPECT(to_host(out, 1)[0] == 2.5f);
    cudaFree(out);
}

__global__ void not_all_atomic(int *x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(*x);
    if (threadIdx.x > 0) sum.fetch_add(1); // check atomic_and_plain: race
    if (threadIdx.x == 0) *x = 5;
}
RIGHT(atomic_and_plain) {
    int *x = device_count<int>(1);
    not_all_atomic<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaDeviceReset();
}
