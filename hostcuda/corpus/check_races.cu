// check_races.cu: accesses that nothing orders, and the ways to order them: for CHECK=1 alone.
#include "cases.h"

__global__ void reverse_raced(int *x) {
    __shared__ int tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x]; // wrong missing_barrier: race
}
WRONG(missing_barrier) {
    int *x = device_count<int>(128);
    reverse_raced<<<1, 128>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// A loop over tiles needs two barriers: before reading a tile and before overwriting it.
__global__ void tiles_summed(int *out, const int *x, int tiles, bool both) {
    __shared__ int tile[64];
    int sum = 0;
    for (int t = 0; t < tiles; t++) {
        tile[threadIdx.x] = x[t * 64 + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += tile[i]; // wrong second_barrier: race
        if (both) __syncthreads();
    }
    out[threadIdx.x] = sum;
}
WRONG(second_barrier) {
    int *x = device_count<int>(256), *out = device_count<int>(64);
    tiles_summed<<<1, 64>>>(out, x, 4, false);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(two_barriers_a_tile) {
    int *x = device_count<int>(256), *out = device_count<int>(64);
    tiles_summed<<<1, 64>>>(out, x, 4, true);
    EXPECT(to_host(out, 64)[7] == 255 * 128);
    cudaFree(x);
    cudaFree(out);
}

__global__ void block_sum(float *out, const float *x) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = x[blockIdx.x * 128 + i];
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (i < d) s[i] += s[i + d];
        __syncthreads();
    }
    if (i == 0) out[blockIdx.x] = s[0];
}
RIGHT(tree_with_barrier) {
    float *x = device_count<float>(512), *out = device_count<float>(4);
    block_sum<<<4, 128>>>(out, x);
    EXPECT(to_host(out, 4)[0] == 127 * 64);
    cudaFree(x);
    cudaFree(out);
}
__global__ void block_sum_raced(float *out, const float *x) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = x[i];
    __syncthreads();
    for (int d = 64; d > 0; d /= 2)
        if (i < d) s[i] += s[i + d]; // wrong tree_without_barrier: race
    if (i == 0) *out = s[0];
}
WRONG(tree_without_barrier) {
    float *x = device_count<float>(128), *out = device_count<float>(1);
    block_sum_raced<<<1, 128>>>(out, x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// The last warp of a reduction: lanes do not run in lock-step.
__global__ void last_warp(float *out, const float *x) {
    __shared__ volatile float s[64];
    int i = threadIdx.x;
    s[i] = x[i], s[i + 32] = x[i + 32];
    for (int d = 32; d > 0; d /= 2) s[i] += s[i + d < 64 ? i + d : i]; // wrong lock_step: race
    if (i == 0) *out = s[0];
}
WRONG(lock_step) {
    float *x = device_count<float>(64), *out = device_count<float>(1);
    last_warp<<<1, 32>>>(out, x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void last_warp_synced(float *out, const float *x) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = x[i], s[i + 32] = x[i + 32];
    __syncwarp();
    for (int d = 32; d > 0; d /= 2) {
        float v = s[i + d < 64 ? i + d : i];
        __syncwarp();
        if (i < d) s[i] += v;
        __syncwarp();
    }
    if (i == 0) *out = s[0];
}
RIGHT(last_warp_with_syncwarp) {
    float *x = device_count<float>(64), *out = device_count<float>(1);
    last_warp_synced<<<1, 32>>>(out, x);
    EXPECT(to_host(out, 1)[0] == 63 * 32);
    cudaFree(x);
    cudaFree(out);
}
// __syncwarp orders the lanes of one warp alone.
__global__ void other_warps_tile(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    __syncwarp();
    if (threadIdx.x < 32) __syncwarp();
    out[threadIdx.x] =
        s[threadIdx.x < 32 ? threadIdx.x : threadIdx.x - 32]; // wrong across_warps: race
}
WRONG(across_warps) {
    int *x = device_count<int>(64);
    other_warps_tile<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
// Only lanes that both took part are ordered.
__global__ void half_synced(int *out, int shift) {
    __shared__ int s[32];
    int i = threadIdx.x;
    s[i] = i;
    if (i >= 16)
        __syncwarp(0xffff0000);
    else
        __syncwarp(0x0000ffff);
    out[i] = s[(i + shift) % 32]; // wrong half_a_warp: race
}
WRONG(half_a_warp) {
    int *x = device_count<int>(32);
    half_synced<<<1, 32>>>(x, 16);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void halves_apart(int *out, int shift) {
    __shared__ int s[32];
    int i = threadIdx.x;
    s[i] = i;
    if (i >= 16)
        __syncwarp(0xffff0000);
    else
        __syncwarp(0x0000ffff);
    out[i] = s[i / 16 * 16 + (i + shift) % 16];
}
RIGHT(each_half_by_itself) {
    int *x = device_count<int>(32);
    halves_apart<<<1, 32>>>(x, 5);
    EXPECT(to_host(x, 32)[31] == 20);
    cudaFree(x);
}

// ---- global memory ----

__global__ void shift_in_place(int *x) {
    int i = threadIdx.x, v = x[i + 1];
    x[i] = v; // wrong in_place_shift: race
}
WRONG(in_place_shift) {
    int *x = device_count<int>(65);
    shift_in_place<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void shift_with_barrier(int *x) {
    int i = threadIdx.x, v = x[i + 1];
    __syncthreads();
    x[i] = v;
}
RIGHT(in_place_with_barrier) {
    int *x = device_count<int>(65);
    shift_with_barrier<<<1, 64>>>(x);
    EXPECT(to_host(x, 64)[63] == 64);
    cudaFree(x);
}

__global__ void count_plain(int *n) { *n = *n + 1; } // wrong lost_counts: race
WRONG(lost_counts) {
    int *n = device_count<int>(1);
    count_plain<<<1, 64>>>(n);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void count_by_one_thread(int *n) {
    if (threadIdx.x == 0) *n += 1; // wrong lost_between_blocks: race-between-blocks
}
WRONG(lost_between_blocks) {
    int *n = device_count<int>(1);
    count_by_one_thread<<<8, 64>>>(n);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(one_block_after_another) {
    int *n = device_count<int>(1);
    for (int i = 0; i < 8; i++) count_by_one_thread<<<1, 64>>>(n);
    EXPECT(to_host(n, 1)[0] == 8);
    cudaFree(n);
}

// An index that leaves its array for another one meets those who work there: nothing else tells.
__global__ void fill_both(int *all, int *few, int off) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    all[i] = 1;
    if (i < 16) few[i + off] = 2; // wrong index_into_another_buffer: race-between-blocks
}
WRONG(index_into_another_buffer) {
    int *all = device_count<int>(128), *few = device_count<int>(16);
    fill_both<<<2, 64>>>(all, few, (int)(all - few) + 96);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(index_into_its_own_buffer) {
    int *all = device_count<int>(128), *few = device_count<int>(16);
    fill_both<<<2, 64>>>(all, few, 0);
    EXPECT(to_host(few, 16)[15] == 2);
    cudaFree(all);
    cudaFree(few);
}

// A barrier holds for one block: neighbours' elements may not be there yet.
__global__ void smooth_in_place(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float left = i > 0 ? x[i - 1] : 0; // wrong barrier_of_one_block: race-between-blocks
    __syncthreads();
    if (i < n) x[i] = (x[i] + left) / 2;
}
WRONG(barrier_of_one_block) {
    float *x = device_count<float>(256);
    smooth_in_place<<<4, 64>>>(x, 256);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void smooth(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[i] + (i > 0 ? x[i - 1] : 0)) / 2;
}
RIGHT(two_buffers) {
    float *x = device_count<float>(256), *y = device_count<float>(256);
    smooth<<<4, 64>>>(y, x, 256);
    EXPECT(to_host(y, 2)[1] == 0.5f);
    cudaFree(x);
    cudaFree(y);
}

// Scatter: several outputs add to one input (col2im written forward).
__global__ void scatter(float *dx, const float *dy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) dx[i / 3] += dy[i]; // wrong scatter_without_atomic: race
}
WRONG(scatter_without_atomic) {
    float *x = device_count<float>(100), *y = device_count<float>(300);
    scatter<<<3, 128>>>(x, y, 300);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void scatter_atomic(float *dx, const float *dy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&dx[i / 3], dy[i]);
}
RIGHT(scatter_with_atomic) {
    float *x = device_count<float>(100), *y = device_count<float>(300);
    scatter_atomic<<<3, 128>>>(x, y, 300);
    EXPECT(to_host(x, 2)[1] == 13);
    cudaFree(x);
    cudaFree(y);
}
__global__ void gather(float *dx, const float *dy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) dx[i] += dy[3 * i] + dy[3 * i + 1] + dy[3 * i + 2];
}
RIGHT(gather_needs_none) {
    float *x = device_count<float>(100), *y = device_count<float>(300);
    gather<<<1, 128>>>(x, y, 100);
    EXPECT(to_host(x, 2)[1] == 13);
    cudaFree(x);
    cudaFree(y);
}

// Atomics protect against atomics only.
__global__ void reset_and_count(int *bins) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1); // wrong plain_read_of_atomic: race
    if (threadIdx.x == 5) bins[0] = n;
}
WRONG(plain_read_of_atomic) {
    int *bins = device_count<int>(1);
    reset_and_count<<<1, 64>>>(bins);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void count_then_read(int *bins) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1);
    __syncthreads();
    if (threadIdx.x == 5) bins[0] = n;
}
RIGHT(atomic_then_barrier) {
    int *bins = device_count<int>(1);
    count_then_read<<<1, 64>>>(bins);
    EXPECT(to_host(bins, 1)[0] == 64);
    cudaFree(bins);
}

// Many threads may set one flag to the same value.
__global__ void any_negative(int *found, const int *x) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] < 1000) *found = 1;
}
RIGHT(same_value_from_all) {
    int *found = device_count<int>(1), *x = device_count<int>(256);
    any_negative<<<4, 64>>>(found, x);
    EXPECT(to_host(found, 1)[0] == 1);
    cudaFree(found);
    cudaFree(x);
}
__global__ void last_one_wins(int *winner) {
    *winner = threadIdx.x; // wrong different_values: race
}
WRONG(different_values) {
    int *x = device_count<int>(1);
    last_one_wins<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// Neighbouring bytes of one word belong to different threads.
__global__ void each_its_byte(unsigned char *x) {
    unsigned char v = x[threadIdx.x];
    x[threadIdx.x] = v + 1;
}
RIGHT(bytes_of_a_word) {
    unsigned char *x = device_count<unsigned char>(100);
    each_its_byte<<<1, 100>>>(x);
    EXPECT(to_host(x, 100)[99] == 100);
    cudaFree(x);
}
__global__ void byte_too_far(unsigned char *x) {
    unsigned char v = x[threadIdx.x + 1];
    x[threadIdx.x] = v; // wrong byte_of_another: race
}
WRONG(byte_of_another) {
    unsigned char *x = device_count<unsigned char>(101);
    byte_too_far<<<1, 100>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__device__ int device_total;
__global__ void add_to_total(int v) { device_total += v; } // wrong device_variable: race
WRONG(device_variable) {
    add_to_total<<<1, 32>>>(3);
    cudaDeviceSynchronize();
}
__global__ void add_to_total_atomically(int v) { atomicAdd(&device_total, v); }
RIGHT(device_variable_atomic) {
    add_to_total_atomically<<<4, 32>>>(3);
    int total;
    cudaMemcpyFromSymbol(&total, device_total, sizeof total);
    EXPECT(total == 384);
}

// What thread i - d has read and written on this line thread i only reads: atomics are no cure.
__global__ void prefix_raced(float *x) {
    int i = threadIdx.x;
    for (int d = 1; d < 64; d *= 2)
        if (i >= d) x[i] += x[i - d]; // wrong prefix_in_place: race
}
WRONG(prefix_in_place) {
    float *x = device_count<float>(64);
    prefix_raced<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void shift_by_a_warp(int *x) {
    x[threadIdx.x] = x[threadIdx.x + 32]; // wrong shift_on_one_line: race
}
WRONG(shift_on_one_line) {
    int *x = device_count<int>(128);
    shift_by_a_warp<<<1, 96>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// What each message advises (runner.cpp).
// likely lost_counts: use atomicAdd(&x[i], v), or give each thread an element of its own
// likely index_into_another_buffer: its index leads into this
// likely lost_between_blocks: use atomicAdd
// likely scatter_without_atomic: use atomicAdd
// likely device_variable: use atomicAdd
// likely different_values: give each thread an element of its own, or let one of them store
// likely in_place_shift: a __syncthreads() is missing between the two lines
// likely tree_without_barrier: one reads what the other writes: a __syncthreads() is missing
// likely prefix_in_place: one reads what the other writes: a __syncthreads() is missing
// likely shift_on_one_line: without a loop read into a local variable first
