// groups.cu: cooperative groups: the block, tiles of a warp, lanes that are here together.
#include "cases.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

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
