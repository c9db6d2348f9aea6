// groups.cu: cooperative groups: the block, tiles of a warp, lanes that are here together.
#include "cases.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void sums_of_tiles(int *out, const int *x) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<int>());
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = sum;
}
RIGHT(tile_reduce) {
    int *x = device_count<int>(64), *out = device_count<int>(8);
    sums_of_tiles<<<1, 64>>>(out, x);
    auto h = to_host(out, 8);
    for (int i = 0; i < 8; i++) EXPECT(h[i] == 64 * i + 28);
    cudaFree(x), cudaFree(out);
}

__global__ void shuffles_of_tiles(int *out) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<4>(warp);
    int i = (int)block.thread_rank();
    out[6 * i] = tile.shfl(i, 1), out[6 * i + 1] = tile.shfl_up(i, 1);
    out[6 * i + 2] = tile.shfl_down(i, 1), out[6 * i + 3] = tile.shfl_xor(i, 3);
    out[6 * i + 4] = (int)tile.ballot(i % 2);
    out[6 * i + 5] = tile.any(i == 5) + 2 * tile.all(i < 8);
}
RIGHT(tile_shuffles) {
    int *out = device_count<int>(6 * 64);
    shuffles_of_tiles<<<1, dim3(8, 8)>>>(out);
    auto h = to_host(out, 6 * 64);
    for (int i = 0; i < 64; i++) {
        EXPECT(h[6 * i] == i / 4 * 4 + 1 && h[6 * i + 1] == (i % 4 ? i - 1 : i));
        EXPECT(h[6 * i + 2] == (i % 4 < 3 ? i + 1 : i) && h[6 * i + 3] == (i ^ 3));
        EXPECT(h[6 * i + 4] == 10 && h[6 * i + 5] == (i / 4 == 1) + 2 * (i < 8));
    }
    cudaFree(out);
}

// One atomic for all lanes that have something to add: NVIDIA's warp-aggregated increment.
__global__ void odd_ones(int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 2) {
        cg::coalesced_group active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(count, (int)active.size());
    }
}
RIGHT(coalesced_count) {
    int *count = device_count<int>(1);
    odd_ones<<<4, 128>>>(count, 501);
    EXPECT(to_host(count, 1)[0] == 250);
    cudaFree(count);
}

__global__ void tile_read_early(int *out, const int *x) {
    __shared__ int part[64];
    auto block = cg::this_thread_block();
    part[block.thread_rank()] = x[block.thread_rank()];
    out[block.thread_rank()] = part[63 - block.thread_rank()]; // check group_unsynced: race
    block.sync();
}
RIGHT(group_unsynced) {
    int *x = device_count<int>(64), *out = device_count<int>(64);
    tile_read_early<<<1, 64>>>(out, x);
    cudaDeviceSynchronize();
    cudaFree(x), cudaFree(out);
    cudaDeviceReset();
}

__global__ void tile_without_a_lane(int *out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    if (threadIdx.x == 3) return;
    out[threadIdx.x] = tile.shfl(1, 0); // wrong tile_lane_gone: shuffle-exited-lane
}
WRONG(tile_lane_gone) {
    int *out = device_count<int>(32);
    tile_without_a_lane<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// ---- the whole grid ----

// The largest of all elements: partial results, then one block looks at all of them.
__global__ void largest(int *out, int *partial, const int *x, int n) {
    __shared__ int best[64];
    cg::grid_group grid = cg::this_grid();
    int i = threadIdx.x, most = x[0];
    for (size_t k = grid.thread_rank(); k < n; k += grid.size()) most = max(most, x[k]);
    best[i] = most;
    cg::sync(cg::this_thread_block());
    for (int half = 32; half > 0; half /= 2) {
        if (i < half) best[i] = max(best[i], best[i + half]);
        __syncthreads();
    }
    if (i == 0) partial[blockIdx.x] = best[0];
    grid.sync();
    for (unsigned b = 0; b < grid.num_blocks(); b++) most = max(most, partial[b]);
    grid.sync();
    if (i == 0) partial[blockIdx.x] = best[0] + most; // the block's own array is still there
    if (grid.thread_rank() == 0) *out = most;
}
RIGHT(grid_sync) {
    int n = 5000, *x = device_count<int>(n), *partial = device_count<int>(7);
    int *out = device_count<int>(1);
    void *arguments[] = {&out, &partial, &x, &n};
    EXPECT(cudaLaunchCooperativeKernel((void *)largest, 7, 64, arguments) == cudaSuccess);
    EXPECT(to_host(out, 1)[0] == 4999);
    auto h = to_host(partial, 7);
    for (int b = 0; b < 7; b++) {
        int mine = 0; // the largest that the block has looked at
        for (int i = 0; i < n; i++)
            if (i / 64 % 7 == b) mine = i;
        EXPECT(h[b] == 4999 + mine);
    }
    cudaFree(out), cudaFree(partial), cudaFree(x);
}

// A value goes round: what one block writes the next one reads, a step at a time.
__global__ void pass_on(int *x, int steps, int *sum) {
    extern __shared__ int mine[];
    auto grid = cg::this_grid();
    mine[threadIdx.x] = 0;
    for (int step = 0; step < steps; step++) {
        int from = (blockIdx.x + gridDim.x - 1) % gridDim.x, value = x[from * 32 + threadIdx.x];
        mine[threadIdx.x] += value;
        grid.sync();
        x[blockIdx.x * 32 + threadIdx.x] = value;
        grid.sync();
    }
    sum[blockIdx.x * 32 + threadIdx.x] = mine[threadIdx.x];
}
RIGHT(grid_ring) {
    int steps = 5, *x = device_count<int>(5 * 32), *sum = device_count<int>(5 * 32);
    void *arguments[] = {&x, &steps, &sum};
    EXPECT(cudaLaunchCooperativeKernel(pass_on, 5, 32, arguments, 32 * sizeof(int)) == cudaSuccess);
    auto h = to_host(x, 5 * 32), s = to_host(sum, 5 * 32);
    for (int i = 0; i < 5 * 32; i++) EXPECT(h[i] == i && s[i] == 5 * (i % 32) + 10 * 32);
    cudaFree(x), cudaFree(sum);
}

__global__ void neighbours(int *out, int *x) {
    x[blockIdx.x] = (int)blockIdx.x; // check grid_unsynced: race-between-blocks
    out[blockIdx.x] = x[(blockIdx.x + 1) % gridDim.x];
    cg::this_grid().sync();
}
RIGHT(grid_unsynced) {
    int *x = device_count<int>(4), *out = device_count<int>(4);
    cudaMemset(x, 0xff, 4 * sizeof(int));
    void *arguments[] = {&out, &x};
    cudaLaunchCooperativeKernel(neighbours, 4, 1, arguments);
    cudaDeviceSynchronize();
    cudaFree(x), cudaFree(out);
    cudaDeviceReset();
}

__global__ void one_block_leaves(int *x) {
    if (blockIdx.x == 2) return;
    x[blockIdx.x] = 1;
    cg::this_grid().sync(); // wrong grid_left: divergent-barrier
}
WRONG(grid_left) {
    int *x = device_count<int>(4);
    void *arguments[] = {&x};
    cudaLaunchCooperativeKernel(one_block_leaves, 4, 32, arguments);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}

__global__ void some_threads_leave(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] = i;
    cg::this_grid().sync(); // wrong grid_guarded: exited-barrier
}
WRONG(grid_guarded) {
    int n = 100, *x = device_count<int>(100);
    void *arguments[] = {&x, &n};
    cudaLaunchCooperativeKernel(some_threads_leave, 4, 32, arguments);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}

__global__ void waits_for_all(int *x) {
    x[blockIdx.x] = cg::this_grid().is_valid();
    cg::this_grid().sync(); // wrong grid_launched_alone: launch-configuration
}
WRONG(grid_launched_alone) {
    int *x = device_count<int>(4);
    waits_for_all<<<4, 32>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}

WRONG(grid_too_large) {
    int *x = device_count<int>(4);
    void *arguments[] = {&x};
    auto launch = [&] {
        return cudaLaunchCooperativeKernel( // wrong grid_too_large: launch-configuration
            waits_for_all, 1 << 20, 32, arguments);
    };
    EXPECT(launch() == cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    cudaFree(x);
}

// A sum by any group: the block, or tiles of a size that is computed.
__device__ int sum_of(cg::thread_group group, int *part, int value) {
    unsigned me = group.thread_rank();
    for (unsigned half = group.size() / 2; half > 0; half /= 2) {
        part[me] = value;
        group.sync();
        if (me < half) value += part[me + half];
        group.sync();
    }
    return value;
}
__global__ void sums_of_groups(int *out, int size) {
    __shared__ int part[64];
    cg::thread_block block = cg::this_thread_block();
    int i = (int)block.thread_rank(), all = sum_of(block, part, i);
    cg::thread_group tile = cg::tiled_partition(block, size);
    int few = sum_of(tile, part + i - (int)tile.thread_rank(), i);
    if (i == 0) out[64 / size] = all;
    if (tile.thread_rank() == 0) out[i / size] = few;
}
RIGHT(any_group) {
    int *out = device_count<int>(17);
    sums_of_groups<<<1, 64>>>(out, 4);
    auto h = to_host(out, 17);
    EXPECT(h[16] == 32 * 63);
    for (int i = 0; i < 16; i++) EXPECT(h[i] == 16 * i + 6);
    cudaFree(out);
}

__global__ void scans_of_tiles(int *up_to, int *before, double *most) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = threadIdx.x;
    up_to[i] = cg::inclusive_scan(tile, i);
    before[i] = cg::exclusive_scan(tile, i, cg::plus<int>());
    most[i] = cg::inclusive_scan(tile, (double)(i * 7 % 16), cg::greater<double>());
}
RIGHT(tile_scans) {
    int *up_to = device_count<int>(32), *before = device_count<int>(32);
    double *most = device_count<double>(32);
    scans_of_tiles<<<1, 32>>>(up_to, before, most);
    auto u = to_host(up_to, 32), b = to_host(before, 32);
    auto m = to_host(most, 32);
    for (int i = 0, sum = 0, top = 0; i < 32; i++) {
        if (i % 16 == 0) sum = top = 0;
        EXPECT(b[i] == sum);
        sum += i;
        top = i * 7 % 16 > top ? i * 7 % 16 : top;
        EXPECT(u[i] == sum && m[i] == top);
    }
    cudaFree(up_to), cudaFree(before), cudaFree(most);
}

// Lanes that say the same make a group; what is larger than a word moves as a whole.
__global__ void parts_of_tiles(int *out, longlong2 *last) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int i = threadIdx.x;
    auto third = cg::binary_partition(tile, i % 3 == 0);
    auto same = cg::labeled_partition(tile, i / 10);
    out[2 * i] = cg::reduce(third, i, cg::plus<int>());
    out[2 * i + 1] = (int)(100 * same.size() + same.thread_rank());
    longlong2 mine = {i, 2 * i}, other = tile.shfl(mine, 31);
    if (i == 0) *last = other;
}
RIGHT(group_parts) {
    int *out = device_count<int>(64);
    longlong2 *last, d;
    cudaMalloc(&last, sizeof *last);
    parts_of_tiles<<<1, 32>>>(out, last);
    auto h = to_host(out, 64);
    cudaMemcpy(&d, last, sizeof d, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++) {
        EXPECT(h[2 * i] == (i % 3 == 0 ? 165 : 496 - 165));
        EXPECT(h[2 * i + 1] == (i < 30 ? 1000 + i % 10 : 200 + i - 30));
    }
    EXPECT(d.x == 31 && d.y == 62);
    cudaFree(out), cudaFree(last);
}
