// warps.cu: shuffles, votes and atomics beyond the first steps, and how they go wrong.
#include "cases.h"

__global__ void scan_warp(int *x) {
    int lane = threadIdx.x % 32, v = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += left;
    }
    x[threadIdx.x] = v;
}
RIGHT(warp_scan) {
    int *x = device_count<int>(64);
    scan_warp<<<1, 64>>>(x);
    auto h = to_host(x, 64);
    EXPECT(h[31] == 31 * 16 && h[63] == (32 + 63) * 16);
    cudaFree(x);
}
__global__ void scan_warp_in_if(int *x) {
    int lane = threadIdx.x % 32, v = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2)
        if (lane >= d) v += __shfl_up_sync(~0u, v, d); // wrong shuffle_in_if: shuffle-missing-lane
    __syncthreads();
    x[threadIdx.x] = v;
}
WRONG(shuffle_in_if) {
    int *x = device_count<int>(64);
    scan_warp_in_if<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// Keeps the odd numbers, packed: the ballot tells each lane its place.
__global__ void compact(int *out, int *count, const int *x, int n) {
    int i = threadIdx.x, keep = i < n && x[i] % 2;
    unsigned voters = __ballot_sync(~0u, keep);
    if (keep) out[__popc(voters & ((1u << i) - 1))] = x[i];
    if (i == 0) *count = __popc(voters);
}
RIGHT(ballot_compaction) {
    int *x = device_count<int>(27), *out = device_count<int>(32), *n = device_count<int>(1);
    compact<<<1, 32>>>(out, n, x, 27);
    EXPECT(to_host(n, 1)[0] == 13 && to_host(out, 13)[12] == 25);
    cudaFree(x), cudaFree(out), cudaFree(n);
}
// One atomic for all lanes that are here; the other lanes' `first` has no value until the shuffle.
__device__ int place_of(int *n) {
    unsigned here = __activemask();
    int lane = threadIdx.x % 32, leader = __ffs(here) - 1, first;
    if (lane == leader) first = atomicAdd(n, __popc(here));
    first = __shfl_sync(here, first, leader);
    return first + __popc(here & ((1u << lane) - 1));
}
__global__ void thirds(int *out, int *n, const int *x, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && x[i] % 3 == 0) out[place_of(n)] = x[i];
}
RIGHT(atomic_for_a_warp) {
    int *x = device_count<int>(1000), *out = device_count<int>(334), *n = device_count<int>(1);
    thirds<<<4, 256>>>(out, n, x, 1000);
    EXPECT(to_host(n, 1)[0] == 334);
    cudaFree(x), cudaFree(out), cudaFree(n);
}
__global__ void compact_after_return(int *out, const int *x, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned odd = __ballot_sync(~0u, x[i] % 2); // wrong ballot_after_return: shuffle-exited-lane
    if (x[i] % 2) out[__popc(odd & ((1u << i) - 1))] = x[i];
}
WRONG(ballot_after_return) {
    int *x = device_count<int>(27), *out = device_count<int>(32);
    compact_after_return<<<1, 32>>>(out, x, 27);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
// The mask is made while all are there, and names exactly the lanes that go on.
__global__ void masked_sum(int *out, const int *x, int n) {
    int i = threadIdx.x;
    unsigned here = __ballot_sync(~0u, i < n);
    if (i >= n) return;
    int v = x[i];
    for (int d = 16; d > 0; d /= 2) {
        int right = __shfl_down_sync(here, v, d);
        if (i + d < n) v += right;
    }
    if (i == 0) *out = v;
}
RIGHT(mask_of_those_here) {
    int *x = device_count<int>(20), *out = device_count<int>(1);
    masked_sum<<<1, 32>>>(out, x, 20);
    EXPECT(to_host(out, 1)[0] == 190);
    cudaFree(x), cudaFree(out);
}
// Both halves of a warp shuffle at once, each with its own mask.
__global__ void two_masks(int *x) {
    int i = threadIdx.x;
    if (i < 16)
        x[i] = __shfl_sync(0x0000ffff, x[i], 3);
    else
        x[i] = __shfl_sync(0xffff0000, x[i], 20);
}
RIGHT(half_warps) {
    int *x = device_count<int>(32);
    two_masks<<<1, 32>>>(x);
    auto h = to_host(x, 32);
    EXPECT(h[0] == 3 && h[15] == 3 && h[16] == 20 && h[31] == 20);
    cudaFree(x);
}
__global__ void masks_disagree(int *x) {
    int i = threadIdx.x, v = x[i];
    unsigned mask = i < 16 ? 0x0000ffff : ~0u;
    x[i] = __shfl_xor_sync(mask, v, 1); // wrong unequal_masks: shuffle-missing-lane
    __syncthreads();
}
WRONG(unequal_masks) {
    int *x = device_count<int>(32);
    masks_disagree<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void syncwarp_of_some(int *x) {
    if (threadIdx.x % 2) __syncwarp(0x55555555); // wrong syncwarp_without_me: shuffle-wrong-mask
    x[threadIdx.x] = 1;
}
WRONG(syncwarp_without_me) {
    int *x = device_count<int>(32);
    syncwarp_of_some<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
// The last steps of a tree within a warp: shared memory, __syncwarp between write and read.
__global__ void tree_in_warp(int *out, const int *x) {
    __shared__ volatile int s[32];
    int i = threadIdx.x;
    s[i] = x[i];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        int v = i < d ? s[i + d] : 0;
        __syncwarp();
        s[i] += v;
        __syncwarp();
    }
    if (i == 0) *out = s[0];
}
RIGHT(syncwarp_tree) {
    int *x = device_count<int>(32), *out = device_count<int>(1);
    tree_in_warp<<<1, 32>>>(out, x);
    EXPECT(to_host(out, 1)[0] == 496);
    cudaFree(x), cudaFree(out);
}
// Old code counts on lanes in lock-step. Here, as on GPUs since 2017, nobody promises it: the sum
// is wrong, and CHECK=1 says why.
__global__ void tree_in_lock_step(int *out, const int *x) {
    __shared__ volatile int s[64];
    int i = threadIdx.x;
    s[i] = x[i], s[i + 32] = 0;
    for (int d = 16; d > 0; d /= 2) s[i] += s[i + d]; // check lock_step_is_not_there: race
    if (i == 0) *out = s[0];
}
RIGHT(lock_step_is_not_there) {
    int *x = device_count<int>(32), *out = device_count<int>(1);
    tree_in_lock_step<<<1, 32>>>(out, x);
    EXPECT_HERE(to_host(out, 1)[0] != 496);
    cudaFree(x), cudaFree(out);
}
__global__ void reductions(int *out) {
    int i = threadIdx.x, all = 0;
    int sum = __reduce_add_sync(~0u, i), most = __reduce_max_sync(~0u, i ^ 5);
    unsigned same = __match_all_sync(~0u, i / 32, &all), any = __match_any_sync(~0u, i % 4);
    if (i == 0) out[0] = sum, out[1] = most, out[2] = all, out[3] = (int)same, out[4] = (int)any;
}
RIGHT(warp_reductions) {
    int *out = device_count<int>(5);
    reductions<<<1, 32>>>(out);
    auto h = to_host(out, 5);
    EXPECT(h[0] == 496 && h[1] == 31 && h[2] && h[3] == -1 && h[4] == 0x11111111);
    cudaFree(out);
}

// ---- atomics ----

__device__ float atomic_max_float(float *p, float v) {
    int *bits = (int *)p, old = *bits, expected;
    do {
        expected = old;
        if (__int_as_float(expected) >= v) break;
        old = atomicCAS(bits, expected, __float_as_int(v));
    } while (old != expected);
    return __int_as_float(old);
}
__global__ void largest(float *most, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomic_max_float(most, x[i]);
}
RIGHT(cas_loop) {
    float *x = device_count<float>(5000), *most = device_count<float>(1);
    largest<<<20, 256>>>(most, x, 5000);
    EXPECT(to_host(most, 1)[0] == 4999);
    cudaFree(x), cudaFree(most);
}
__global__ void bits_and_wraps(unsigned *x) {
    atomicOr(&x[0], 1u << threadIdx.x);
    atomicAnd(&x[1], ~(1u << threadIdx.x));
    atomicXor(&x[2], 1u << threadIdx.x);
    atomicInc(&x[3], 9);
    atomicDec(&x[4], 9);
    atomicSub(&x[5], 1);
}
RIGHT(bitwise_atomics) {
    unsigned *x = device_count<unsigned>(6), h[6] = {0, ~0u, 0, 0, 0, 100};
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    bits_and_wraps<<<1, 32>>>(x);
    auto r = to_host(x, 6);
    EXPECT(r[0] == ~0u && r[1] == 0 && r[2] == ~0u && r[3] == 2 && r[4] == 8 && r[5] == 68);
    cudaFree(x);
}
// Who holds the lock waits at the barrier for those who wait for the lock.
__global__ void lock_over_barrier(int *lock, int *x) {
    while (atomicCAS(lock, 0, 1) != 0) {} // wrong lock_held_at_barrier: spin-wait
    x[0]++;
    __syncthreads();
    atomicExch(lock, 0);
}
WRONG(lock_held_at_barrier) {
    int *x = device_count<int>(2);
    lock_over_barrier<<<1, 64>>>(x, x + 1);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void lock_by_one(int *lock, int *x) {
    if (threadIdx.x == 0)
        while (atomicCAS(lock, 0, 1) != 0) {}
    __syncthreads();
    if (threadIdx.x == 0) {
        x[0]++;
        __threadfence();
        atomicExch(lock, 0);
    }
}
RIGHT(lock_of_one_thread) {
    int *x = device_count<int>(2);
    lock_by_one<<<50, 64>>>(x, x + 1);
    EXPECT(to_host(x, 2)[1] == 51);
    cudaFree(x);
}
__global__ void atomic_on_null(int *x) { atomicAdd(x, 1); } // wrong null_atomic: null-pointer
WRONG(null_atomic) {
    atomic_on_null<<<1, 1>>>(nullptr);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// ---- order ----

__global__ void note_order(int *order, int *next) { order[atomicAdd(next, 1)] = threadIdx.x; }
RIGHT(order_is_shuffled) {
    int *order = device_count<int>(64), *next = device_count<int>(1);
    bool other = false;
    for (int run = 0; run < 20; run++) {
        cudaMemset(next, 0, sizeof *next);
        note_order<<<1, 64>>>(order, next);
        auto h = to_host(order, 64);
        for (int i = 0; i < 64; i++) other |= h[i] != i;
    }
    EXPECT_HERE(other);
    cudaFree(order), cudaFree(next);
}
__global__ void different_rounds(int *x) {
    int rounds = threadIdx.x == 0 ? 3 : 2;
    for (int i = 0; i < rounds; i++) __syncthreads(); // wrong unequal_rounds: exited-barrier
    x[threadIdx.x] = 1;
}
WRONG(unequal_rounds) {
    int *x = device_count<int>(64);
    different_rounds<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void traps(int *x) {
    if (x[threadIdx.x] == 3) __trap(); // wrong trapped: trap
}
WRONG(trapped) {
    int *x = device_count<int>(8);
    traps<<<1, 8>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalInstruction);
    cudaDeviceReset();
}
RIGHT(not_trapped) {
    int *x = device_count<int>(3);
    traps<<<1, 3>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(x);
}
