// threads.cu: barriers, warp functions, atomics, endless loops.
#include "cases.h"

#include <cassert>

__global__ void reverse(int *x) {
    __shared__ int tile[100];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
RIGHT(barrier_for_all) {
    int *x = device_count<int>(100);
    reverse<<<1, 100>>>(x);
    EXPECT(to_host(x, 100)[0] == 99);
    cudaFree(x);
}

__global__ void early_return(int *x, int n) {
    __shared__ int tile[128];
    if ((int)threadIdx.x >= n) return;
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads(); // wrong return_before_barrier: exited-barrier
    x[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
WRONG(return_before_barrier) {
    int *x = device_count<int>(100);
    early_return<<<1, 128>>>(x, 100);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(exited_threads_allowed) {
    setenv("HOSTCUDA_EXITED", "1", 1);
    int *x = device_count<int>(100);
    early_return<<<1, 128>>>(x, 100);
    auto h = to_host(x, 100);
    EXPECT(h[0] == 99 && h[99] == 0);
    cudaFree(x);
}
RIGHT(whole_blocks_return) {
    int *x = device_count<int>(128);
    early_return<<<1, 128>>>(x, 128);
    EXPECT(to_host(x, 128)[0] == 127);
    cudaFree(x);
}

__global__ void two_barriers(int *x) {
    if (threadIdx.x < 32) {
        x[threadIdx.x] = 1;
        __syncthreads(); // wrong different_barriers: divergent-barrier
    } else {
        __syncthreads();
    }
}
WRONG(different_barriers) {
    cudaFree(0);
    int *x = device_count<int>(64);
    setenv("HOSTCUDA_SEED", "1", 1);
    two_barriers<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void count_and_or(int *out, int n) {
    int i = threadIdx.x;
    int count = __syncthreads_count(i < n);
    int all = __syncthreads_and(i < n), any = __syncthreads_or(i < n);
    if (i == 5) out[0] = count, out[1] = all, out[2] = any;
}
RIGHT(barrier_reductions) {
    int *x = device_count<int>(3);
    count_and_or<<<1, 96>>>(x, 40);
    auto r = to_host(x, 3);
    EXPECT(r[0] == 40 && r[1] == 0 && r[2] == 1);
    cudaFree(x);
}

__global__ void warp_sum(float *out, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
RIGHT(shuffle_sum) {
    float *x = device_count<float>(1000), *out = device_count<float>(1);
    warp_sum<<<8, 128>>>(out, x, 1000);
    EXPECT(to_host(out, 1)[0] == 499500);
    cudaFree(x);
    cudaFree(out);
}

__global__ void warp_sum_gone(float *out, const float *x, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_down_sync(0xffffffff, v, d); // wrong shuffle_after_return: shuffle-exited-lane
    if (i == 0) *out = v;
}
WRONG(shuffle_after_return) {
    float *x = device_count<float>(20), *out = device_count<float>(1);
    warp_sum_gone<<<1, 32>>>(out, x, 20);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void foreign_mask(int *x) {
    int v = x[threadIdx.x];
    x[threadIdx.x] = __shfl_sync(0xffff, v, 0); // wrong lane_not_in_mask: shuffle-wrong-mask
}
WRONG(lane_not_in_mask) {
    int *x = device_count<int>(32);
    foreign_mask<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void half_shuffle(int *x) {
    if (threadIdx.x < 16) {
        int v = x[threadIdx.x];
        x[threadIdx.x] = __shfl_xor_sync(~0u, v, 1); // wrong lanes_elsewhere: shuffle-missing-lane
    }
    __syncthreads();
}
WRONG(lanes_elsewhere) {
    int *x = device_count<int>(32);
    half_shuffle<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void votes(unsigned *out) {
    int i = threadIdx.x;
    unsigned b = __ballot_sync(0xffffffff, i % 2), m = __match_any_sync(0xffffffff, i / 8);
    int any = __any_sync(0xffffffff, i == 31), all = __all_sync(0xffffffff, i < 31);
    int up = __shfl_up_sync(0xffffffff, i, 1), x = __shfl_xor_sync(0xffffffff, i, 3);
    int down = __shfl_down_sync(0xffffffff, i, 1, 8), one = __shfl_sync(0xffffffff, i, 2, 8);
    if (i == 9) out[0] = b, out[1] = m, out[2] = any, out[3] = all;
    if (i == 15) out[4] = up, out[5] = x, out[6] = down, out[7] = one;
    unsigned active = 0;
    if (i < 12) active = __activemask();
    __syncwarp();
    if (i == 3) out[8] = active, out[9] = __popc(active), out[10] = __ffs(8), out[11] = __clz(1);
}
RIGHT(warp_functions) {
    unsigned *x = device_count<unsigned>(12);
    votes<<<1, 32>>>(x);
    auto r = to_host(x, 12);
    EXPECT(r[0] == 0xaaaaaaaa && r[1] == 0xff00 && r[2] == 1 && r[3] == 0);
    EXPECT(r[4] == 14 && r[5] == 12 && r[6] == 15 && r[7] == 10);
    EXPECT(r[8] == 0xfff && r[9] == 12 && r[10] == 4 && r[11] == 31);
    cudaFree(x);
}

__global__ void histogram(int *bins, unsigned long long *sum, double *d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&bins[i % 10], 1);
    atomicMax(&bins[10], i);
    atomicMin(&bins[11], i - 5);
    atomicAdd(sum, 1ull);
    atomicAdd(d, 0.5);
    atomicExch(&bins[12], 7);
    atomicCAS(&bins[13], 13, 99);
}
RIGHT(atomics) {
    int *bins = device_count<int>(14);
    unsigned long long *sum = device_count<unsigned long long>(1);
    double *d = device_count<double>(1);
    histogram<<<100, 100>>>(bins, sum, d, 10000);
    auto r = to_host(bins, 14);
    EXPECT(r[3] == 1003 && r[10] == 9999 && r[11] == -5 && r[12] == 7 && r[13] == 99);
    EXPECT(to_host(sum, 1)[0] == 10000 && to_host(d, 1)[0] == 5000);
    cudaFree(bins);
    cudaFree(sum);
    cudaFree(d);
}

__global__ void lock_per_block(int *lock, int *x) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    x[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
}
RIGHT(lock) {
    int *x = device_count<int>(2);
    lock_per_block<<<20, 64>>>(x, x + 1);
    EXPECT(to_host(x, 2)[1] == 1281);
    cudaFree(x);
}

__global__ void wait_for_all_blocks(int *arrived) {
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < (int)gridDim.x) {} // wrong grid_barrier: spin-wait
    }
    __syncthreads();
}
WRONG(grid_barrier) {
    int *x = device_count<int>(1);
    wait_for_all_blocks<<<200, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void poll(volatile int *flag, int me) {
    if ((int)blockIdx.x == me) *flag = 1;
    while (*flag == 0) {} // wrong volatile_poll: spin-wait
}
WRONG(volatile_poll) {
    setenv("HOSTCUDA_TIMEOUT", "0.5", 1);
    int *x = device_count<int>(1);
    poll<<<200, 1>>>(x, -1);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    cudaDeviceReset();
}

__global__ void endless(unsigned *x) {
    volatile unsigned i = 1;
    while (i != 0) i = i | 1; // wrong endless_loop: endless-kernel
    *x = i;
}
WRONG(endless_loop) {
    setenv("HOSTCUDA_TIMEOUT", "0.5", 1);
    unsigned *x = device_count<unsigned>(1);
    endless<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void checks(const int *x) { assert(x[threadIdx.x] < 5); } // wrong failed_assert: assert
WRONG(failed_assert) {
    int *x = device_count<int>(8);
    checks<<<1, 8>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
    cudaDeviceReset();
}
RIGHT(held_assert) {
    int *x = device_count<int>(5);
    checks<<<1, 5>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(x);
}

__global__ void divide(int *x, int n) { x[0] = x[1] / n; } // wrong divide_by_zero: division-by-zero
WRONG(divide_by_zero) { // not on arm64: divide_by_zero
    int *x = device_count<int>(2);
    divide<<<1, 1>>>(x, 0);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void big_frame(int *x, int n) { // wrong large_local: stack-overflow
    volatile char local[400000];
    for (int i = 0; i < n; i++) local[i * 4096 % 400000] = 1;
    x[0] = local[0];
}
WRONG(large_local) {
    int *x = device_count<int>(2);
    big_frame<<<1, 1>>>(x, 90);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(block_of_1024) {
    int *x = device_count<int>(100);
    count_and_or<<<64, 1024>>>(x, 1000);
    EXPECT(to_host(x, 1)[0] == 1000);
    cudaFree(x);
}

__global__ void byte_functions(unsigned *x) {
    x[0] = __byte_perm(0x44332211, 0x88776655, 0x7250);
    x[1] = __byte_perm(0x000000f0, 0, 0x8888); // byte 0: of prmt's modes it has the first alone
    x[2] = __funnelshift_l(0x80000001, 0x12345678, 4);
    x[3] = __funnelshift_r(0x80000001, 0x12345678, 36); // by 36 & 31
    x[4] = __sad(-5, 7, 100u);
    x[5] = __usad(7, 0xffffffff, 0);
    x[6] = __dp4a((int)0xff020304, 0x01010102, 10); // -1 + 2 + 3 + 8 + 10
    x[7] = __dp4a(0xff020304u, 0x01010102u, 10u);
    x[8] = __hadd(-3, 0) + __rhadd(-3, 0); // both round: down, and up
    x[9] = __uhadd(0xffffffff, 0xfffffffd);
}
RIGHT(byte_intrinsics) {
    unsigned *x = device_count<unsigned>(10);
    byte_functions<<<1, 1>>>(x);
    auto r = to_host(x, 10);
    EXPECT(r[0] == 0x88336611 && r[1] == 0xf0f0f0f0);
    EXPECT(r[2] == 0x23456788 && r[3] == 0x88000000);
    EXPECT(r[4] == 112 && r[5] == 0xfffffff8);
    EXPECT(r[6] == 22 && r[7] == 278);
    EXPECT(r[8] == (unsigned)-3 && r[9] == 0xfffffffe);
    cudaFree(x);
}
