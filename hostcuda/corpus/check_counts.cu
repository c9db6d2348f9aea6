// check_counts.cu: what is counted, against numbers worked out by hand. Both compilers must agree
// on these kernels; where they may not, g++ counts.
#include "cases.h"

#include "hostcuda/counts.h"

// Counts of the one kernel that `run` launches.
template <class F> static hostcuda_kernel_counts counts_of(F run) {
    const hostcuda_counts *counts = hostcuda_counts_get();
    hostcuda_kernel_counts k[2] = {};
    EXPECT(counts->abi == HOSTCUDA_COUNTS_ABI && outside(counts->count_memory, true));
    cudaDeviceSynchronize();
    outside(counts->reset);
    run();
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(outside(counts->kernels, k, 2) == 1);
    outside(counts->count_memory, false);
    return k[0];
}

__global__ void copy_strided(float *y, const float *x, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i * stride];
}
RIGHT(sectors_of_strides) {
    float *x = device_count<float>(32 * 1024), *y = device_count<float>(1024);
    // Stride 1: 128 bytes a warp, 4 sectors to read and 4 to write.
    auto one = counts_of([=] { copy_strided<<<4, 256>>>(y, x, 1024, 1); });
    EXPECT(one.launches == 1 && one.blocks == 4 && one.threads == 1024);
    EXPECT(one.loads == 1024 && one.stores == 1024 && one.atomics == 0);
    EXPECT(one.global_requests == 64 && one.global_sectors == 32 * 8 && one.partial_requests == 0);
    auto two = counts_of([=] { copy_strided<<<4, 256>>>(y, x, 1024, 2); });
    EXPECT(two.global_sectors == 32 * (8 + 4));
    auto row = counts_of([=] { copy_strided<<<4, 256>>>(y, x, 1024, 32); });
    EXPECT(row.global_sectors == 32 * (32 + 4));
    auto same = counts_of([=] { copy_strided<<<4, 256>>>(y, x, 1024, 0); });
    EXPECT(same.global_sectors == 32 * (1 + 4));
    cudaFree(x), cudaFree(y);
}
RIGHT(sectors_of_a_shifted_row) {
    float *x = device_count<float>(1025), *y = device_count<float>(1024);
    auto k = counts_of([=] { copy_strided<<<4, 256>>>(y, x + 1, 1024, 1); });
    EXPECT(k.global_sectors == 32 * (5 + 4));
    cudaFree(x), cudaFree(y);
}
RIGHT(partial_warps) {
    float *x = device_count<float>(1024), *y = device_count<float>(1024);
    // 1000 of 1024 threads: the last warp has 8 lanes, in one load and one store.
    auto k = counts_of([=] { copy_strided<<<4, 256>>>(y, x, 1000, 1); });
    EXPECT(k.loads == 1000 && k.requests == 64 && k.partial_requests == 2);
    EXPECT(k.global_sectors == 31 * 8 + 2);
    cudaFree(x), cudaFree(y);
}
__global__ void copy_vectors(float4 *y, const float4 *x) { y[threadIdx.x].x = x[threadIdx.x].x; }
RIGHT(sectors_of_a_field) {
    float *x = device_count<float>(256), *y = device_count<float>(256);
    auto k = counts_of([=] { copy_vectors<<<1, 64>>>((float4 *)y, (const float4 *)x); });
    EXPECT(k.global_requests == 4 && k.global_sectors == 4 * 16);
    cudaFree(x), cudaFree(y);
}

template <int PITCH> __global__ void transpose(float *y, const float *x) {
    __shared__ float tile[32][PITCH];
    int i = threadIdx.x, j = threadIdx.y;
    tile[j][i] = x[j * 32 + i];
    __syncthreads();
    y[j * 32 + i] = tile[i][j];
}
RIGHT(bank_conflicts_of_a_column) {
    float *x = device_count<float>(1024), *y = device_count<float>(1024);
    auto straight = counts_of([=] { transpose<32><<<1, dim3(32, 32)>>>(y, x); });
    EXPECT(straight.shared_requests == 64 && straight.bank_conflicts == 32 * 31);
    auto padded = counts_of([=] { transpose<33><<<1, dim3(32, 32)>>>(y, x); });
    EXPECT(padded.shared_requests == 64 && padded.bank_conflicts == 0);
    EXPECT(to_host(y, 1024)[1] == 32);
    cudaFree(x), cudaFree(y);
}
__global__ void shared_pairs(double *y) {
    __shared__ double s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x * 2 % 64];
}
RIGHT(bank_conflicts_of_doubles) {
    double *y = device_count<double>(64);
    // A half warp of doubles takes one cycle if they are neighbours, two at stride 2.
    auto k = counts_of([=] { shared_pairs<<<1, 64>>>(y); });
    EXPECT(k.shared_requests == 4 && k.bank_conflicts == 2 * 2);
    cudaFree(y);
}

__global__ void loop_of_lane(float *y, const float *x) {
    float sum = 0;
    for (int i = 0; i <= (int)threadIdx.x % 4; i++) sum += x[i];
    y[threadIdx.x] = sum;
}
RIGHT(lanes_in_a_loop) {
    float *x = device_count<float>(64), *y = device_count<float>(64);
    // Lanes take 1, 2, 3 or 4 turns: four requests of x, three of them partial, and one store.
    auto k = counts_of([=] { loop_of_lane<<<1, 32>>>(y, x); });
    EXPECT(k.loads == 8 * (1 + 2 + 3 + 4) && k.requests == 5 && k.partial_requests == 3);
    EXPECT(k.global_sectors == 4 + 4);
    cudaFree(x), cudaFree(y);
}
__global__ void even_odd(float *y, const float *x) {
    int i = threadIdx.x;
    if (i % 2)
        y[i] = x[i];
    else
        y[i] = x[63 - i];
}
RIGHT(lanes_of_two_branches) {
    float *x = device_count<float>(64), *y = device_count<float>(64);
    auto k = counts_of([=] { even_odd<<<1, 64>>>(y, x); });
    EXPECT(k.loads == 64 && k.stores == 64);
#ifndef __clang__ // which joins the two branches, as nvcc may
    EXPECT(k.partial_requests == k.requests);
#endif
    cudaFree(x), cudaFree(y);
}
// ---- lanes that skip, leave and meet again ----

__global__ void skip_a_fourth(float *y, const float *x) {
    float sum = 0;
    for (int j = 0; j < 8; j++) {
        if ((threadIdx.x + j) % 4 == 0) continue;
        sum += x[j * 32 + threadIdx.x];
    }
    y[threadIdx.x] = sum;
}
RIGHT(lanes_that_skip_a_round) {
    float *x = device_count<float>(8 * 32), *y = device_count<float>(32);
    // Each round is one request of 24 lanes, in all of the row's 4 sectors.
    auto k = counts_of([=] { skip_a_fourth<<<1, 32>>>(y, x); });
    EXPECT(k.global_load_requests == 8 && k.partial_requests == 8);
    EXPECT(k.global_load_sectors == 8 * 4 && k.global_store_sectors == 4);
    cudaFree(x), cudaFree(y);
}
__global__ void find_first(int *y, const float *x, int rows) {
    int lane = threadIdx.x;
    for (int j = 0; j < rows; j++) {
        if (x[j * 32 + lane] >= 100) {
            y[lane] = j;
            break;
        }
    }
    y[32 + lane] = rows;
}
RIGHT(lanes_that_leave_a_loop) {
    float *x = device_count<float>(8 * 32);
    int *y = device_count<int>(64);
    // x counts from 0: lanes 4 to 31 leave in round 3, the others in round 4; each writes when it
    // leaves, and behind the loop all write together.
    auto k = counts_of([=] { find_first<<<1, 32>>>(y, x, 8); });
    EXPECT(k.global_load_requests == 5 && k.global_load_sectors == 4 * 4 + 1);
#ifndef __clang__ // which moves the store of those that leave behind the loop
    EXPECT(k.global_store_requests == 3 && k.global_store_sectors == 4 + 1 + 4);
#endif
    EXPECT(to_host(y, 64)[3] == 4);
    cudaFree(x), cudaFree(y);
}
__device__ __noinline__ float sum_of_row(const float *x, float *shared, int from) {
    float sum = 0;
    for (int j = threadIdx.x % 4; j < 4; j++) sum += x[j * 32 + threadIdx.x];
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int j = 0; j < 4; j++) {
        if ((threadIdx.x + j) % 2) continue;
        sum += x[(from + j) * 32] * shared[threadIdx.x];
    }
    __syncthreads();
    return sum;
}
__global__ void call_with_barriers(float *y, const float *x) {
    __shared__ float shared[32];
    float sum = 0;
    for (int j = 0; j < 2; j++) sum += sum_of_row(x, shared, j);
    y[threadIdx.x] = sum;
}
RIGHT(lanes_between_barriers_of_a_function) {
    float *x = device_count<float>(8 * 32), *y = device_count<float>(32);
    // In each of 2 calls: lanes of 4, 3, 2 or 1 rounds, from where they begin; then 4 rounds that
    // half of the lanes skip, in one sector.
    auto k = counts_of([=] { call_with_barriers<<<1, 32>>>(y, x); });
    EXPECT(k.global_load_requests == 2 * (4 + 4));
    EXPECT(k.shared_requests == 2 * (1 + 4) && k.global_store_requests == 1);
    EXPECT(k.bank_conflicts == 0);
    cudaFree(x), cudaFree(y);
}
__device__ __noinline__ float at_or_zero(const float *x, int i, int n) { return i < n ? x[i] : 0; }
__global__ void two_calls(float *y, const float *x) {
    float sum = at_or_zero(x, threadIdx.x, 16);
    if (threadIdx.x % 2) sum += at_or_zero(x, threadIdx.x, 32);
    y[threadIdx.x] = sum;
}
RIGHT(lanes_in_a_function) {
    float *x = device_count<float>(32), *y = device_count<float>(32);
    // 16 lanes in 2 sectors, then every other lane in all 4.
    auto k = counts_of([=] { two_calls<<<1, 32>>>(y, x); });
    EXPECT(k.global_load_requests == 2 && k.global_load_sectors == 2 + 4);
    EXPECT(k.global_store_requests == 1);
    cudaFree(x), cudaFree(y);
}

__global__ void histogram(int *bins, const int *x) { atomicAdd(&bins[x[threadIdx.x] % 8], 1); }
RIGHT(atomics_counted_once) {
    int *x = device_count<int>(64), *bins = device_count<int>(8);
    auto k = counts_of([=] { histogram<<<1, 64>>>(bins, x); });
    EXPECT(k.atomics == 64 && k.loads == 64 && k.stores == 0);
    EXPECT(k.global_sectors == 2 * (4 + 1));
    cudaFree(x), cudaFree(bins);
}
// A tiled product by hand: n^3 / 16 loads of each matrix, two shared loads a term.
__global__ void tiled(float *c, const float *a, const float *b, int n) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        as[y][x] = a[row * n + t + x];
        bs[y][x] = b[(t + y) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
RIGHT(loads_of_a_tiled_product) {
    const int n = 64;
    float *a = device_count<float>(n * n), *b = device_count<float>(n * n),
          *c = device_count<float>(n * n);
    auto k = counts_of([=] { tiled<<<dim3(4, 4), dim3(16, 16)>>>(c, a, b, n); });
    uint64_t terms = n * n * n;
    EXPECT(k.loads == 2 * terms / 16 + 2 * terms && k.stores == 2 * terms / 16 + n * n);
    EXPECT(k.bank_conflicts == 0 && k.partial_requests == 0);
    // A warp is two rows of 16: two 64-byte pieces.
    EXPECT(k.global_sectors == 4 * k.global_requests);
    cudaFree(a), cudaFree(b), cudaFree(c);
}
// What its instructions have cost adds up to what the kernel has: the sectors of two loads and two
// stores, which stand apart, the requests to shared memory of both, and the conflicts of one.
__global__ void turn_tile(float *y, const float *x, const float *z) {
    __shared__ float tile[32][32];
    tile[threadIdx.x][threadIdx.y] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.y][threadIdx.x] + z[0];
}
RIGHT(costs_by_instruction) {
    enum { SITES = 4096 };
    static hostcuda_site_counts before[SITES], after[SITES];
    const hostcuda_counts *counts = hostcuda_counts_get();
    float *x = device_count<float>(1024), *y = device_count<float>(1024);
    cudaDeviceSynchronize();
    int known = outside(counts->sites, before, (int)SITES);
    auto k = counts_of([=] { turn_tile<<<1, dim3(32, 32)>>>(y, x, x); });
    int n = outside(counts->sites, after, (int)SITES);
    EXPECT(known < n && n < SITES);
    uint64_t sectors = 0, shared = 0, conflicts = 0, sites = 0;
    for (int i = 0; i < n; i++) {
        hostcuda_site_counts was = i < known ? before[i] : hostcuda_site_counts{};
        EXPECT(after[i].sectors >= was.sectors && (i >= known || after[i].offset == was.offset));
        sites += after[i].sectors > was.sectors;
        sectors += after[i].sectors - was.sectors;
        shared += after[i].shared_requests - was.shared_requests;
        conflicts += after[i].conflicts - was.conflicts;
    }
    EXPECT(sites == 3 && sectors == k.global_sectors && sectors == 32 * (4 + 4 + 1));
    EXPECT(shared == k.shared_requests && shared == 2 * 32);
    EXPECT(conflicts == k.bank_conflicts && conflicts == 32 * 31);
    cudaFree(x), cudaFree(y);
}
RIGHT(launches_without_counting) {
    int *x = device_count<int>(64), *bins = device_count<int>(8);
    outside(hostcuda_counts_get()->count_memory, false);
    uint64_t before = outside(hostcuda_counts_get()->launches);
    for (int i = 0; i < 5; i++) histogram<<<1, 64>>>(bins, x);
    cudaDeviceSynchronize();
    EXPECT(outside(hostcuda_counts_get()->launches) == before + 5);
    cudaFree(x), cudaFree(bins);
}

// ---- launches that are made to fail ----

RIGHT(launch_told_to_fail) {
    const hostcuda_counts *counts = hostcuda_counts_get();
    int *x = device_count<int>(64), *bins = device_count<int>(8), bin = -1;
    cudaMemset(bins, 0, 8 * sizeof *bins);
    uint64_t before = outside(counts->launches);
    outside(counts->fail_launch, 2);
    histogram<<<1, 64>>>(bins, x);
    EXPECT(cudaGetLastError() == cudaSuccess);
    histogram<<<1, 64>>>(bins, x);
    EXPECT(cudaGetLastError() == cudaErrorLaunchOutOfResources);
    histogram<<<1, 64>>>(bins, x);
    EXPECT(cudaGetLastError() == cudaSuccess);
    outside(counts->fail_launch, 1);
    outside(counts->fail_launch, 0);
    histogram<<<1, 64>>>(bins, x);
    EXPECT(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(outside(counts->launches) == before + 3);
    EXPECT(cudaMemcpy(&bin, bins, sizeof bin, cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(bin == 3 * 8);
    cudaFree(x), cudaFree(bins);
}
WRONG(failed_launch_unasked) {
    const hostcuda_counts *counts = hostcuda_counts_get();
    int *x = device_count<int>(64), *bins = device_count<int>(8);
    outside(counts->fail_launch, 1);
    histogram<<<1, 64>>>(bins, x); // wrong failed_launch_unasked: unchecked-error
    outside(counts->fail_launch, 0);
    EXPECT(cudaGetLastError() == cudaSuccess);
    cudaFree(x), cudaFree(bins);
}

// ---- work in another stream ----

// The stream is non-blocking: nothing orders what is queued in the default one.
static cudaStream_t kept_stream() {
    cudaStream_t s;
    EXPECT(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
    outside(hostcuda_counts_get()->keep_stream, (const void *)s);
    return s;
}
static void release_stream(cudaStream_t s) {
    outside(hostcuda_counts_get()->keep_stream, nullptr);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && cudaStreamDestroy(s) == cudaSuccess);
}
RIGHT(work_in_its_stream) {
    int *x = device_count<int>(64), *bins = device_count<int>(8);
    cudaStream_t s = kept_stream();
    cudaMemsetAsync(bins, 0, 8 * sizeof *bins, s);
    histogram<<<1, 64, 0, s>>>(bins, x);
    cudaMemcpyAsync(x, bins, 8 * sizeof *bins, cudaMemcpyDeviceToDevice, s);
    release_stream(s);
    histogram<<<1, 64>>>(bins, x);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(x), cudaFree(bins);
}
WRONG(launch_without_its_stream) {
    int *x = device_count<int>(64), *bins = device_count<int>(8);
    cudaStream_t s = kept_stream();
    histogram<<<1, 64>>>(bins, x); // wrong launch_without_its_stream: other-stream
    release_stream(s);
    cudaFree(x), cudaFree(bins);
}
WRONG(copy_without_its_stream) {
    int *x = device_count<int>(8), *y = device_count<int>(8);
    cudaStream_t s = kept_stream();
    cudaMemcpy(y, x, 32, cudaMemcpyDeviceToDevice); // wrong copy_without_its_stream: other-stream
    release_stream(s);
    cudaFree(x), cudaFree(y);
}
WRONG(memset_in_a_third_stream) {
    int *y = device_count<int>(8);
    cudaStream_t third, s = kept_stream();
    cudaStreamCreate(&third);
    cudaMemsetAsync(y, 0, 32, third); // wrong memset_in_a_third_stream: other-stream
    release_stream(s);
    cudaStreamDestroy(third), cudaFree(y);
}
