// check_fences.cu: what orders blocks within a launch: a fence and then an atomic. CHECK=1 alone
// names where the fence is missing.
#include "cases.h"

// A ticket tells the last block that all partial sums are there.
__device__ unsigned arrived;
template <bool fence>
__global__ void sum_by_last_block(float *out, float *partial, const float *x) {
    __shared__ float s[64];
    __shared__ bool last;
    int i = threadIdx.x;
    s[i] = x[blockIdx.x * 64 + i];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (i < d) s[i] += s[i + d];
        __syncthreads();
    }
    if (i == 0) {
        partial[blockIdx.x] = s[0];
        if (fence) __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    if (i == 0) {
        float sum = 0;
        for (int b = 0; b < (int)gridDim.x; b++)
            sum += partial[b]; // wrong ticket_without_fence: race-between-blocks
        *out = sum;
    }
}
RIGHT(ticket_with_fence) {
    float *x = device_count<float>(512), *p = device_count<float>(8), *out = device_count<float>(1);
    sum_by_last_block<true><<<8, 64>>>(out, p, x);
    EXPECT(to_host(out, 1)[0] == 511 * 256);
    cudaFree(x), cudaFree(p), cudaFree(out);
}
WRONG(ticket_without_fence) {
    float *x = device_count<float>(512), *p = device_count<float>(8), *out = device_count<float>(1);
    sum_by_last_block<false><<<8, 64>>>(out, p, x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void unlock_without_fence(int *lock, int *x) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    x[0] += 1; // wrong lock_without_fence: race
    atomicExch(lock, 0);
}
WRONG(lock_without_fence) {
    int *x = device_count<int>(2);
    unlock_without_fence<<<4, 64>>>(x, x + 1);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
