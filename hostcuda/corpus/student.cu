// student.cu: kernels as a course writes them, each checked against the host; and their slips.
#include "cases.h"

#include <cstdio>
#include <cstdlib>

enum { TILE = 16 };

// ---- tiled matrix product ----

__global__ void product(float *c, const float *a, const float *b, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (n + TILE - 1) / TILE; t++) {
        int k = t * TILE + threadIdx.x, l = t * TILE + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < n && k < n ? a[row * n + k] : 0;
        bs[threadIdx.y][threadIdx.x] = col < n && l < n ? b[l * n + col] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}
RIGHT(tiled_product) {
    const int n = 50;
    float *a = device_count<float>(n * n), *b = device_count<float>(n * n);
    float *c = device_count<float>(n * n);
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    product<<<grid, block>>>(c, a, b, n);
    auto exact = [](int i) {
        double sum = 0;
        for (int k = 0; k < n; k++) sum += (i / n * n + k) * (double)(k * n + i % n);
        return sum;
    };
    auto h = to_host(c, n * n, [&](int i) { return apart<float>(n, exact(i)); }); // no term below 0
    for (int i = 0; i < n * n; i++)
        EXPECT(h[i] > exact(i) * (1 - 1e-5) && h[i] < exact(i) * (1 + 1e-5));
    cudaFree(a), cudaFree(b), cudaFree(c);
}
// The usual slip: the guard returns, and whole rows of the edge tile never reach the barrier.
__global__ void product_guard_returns(float *c, const float *a, int n) {
    __shared__ float as[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= n || col >= n) return;
    as[threadIdx.y][threadIdx.x] = a[row * n + col];
    __syncthreads(); // wrong tile_guard_returns: exited-barrier
    c[row * n + col] = as[threadIdx.y][0];
}
WRONG(tile_guard_returns) {
    const int n = 50;
    float *a = device_count<float>(n * n), *c = device_count<float>(n * n);
    product_guard_returns<<<dim3(4, 4), dim3(TILE, TILE)>>>(c, a, n);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    cudaDeviceReset();
}
// Rows and columns exchanged: right for square matrices, out of bounds for others.
__global__ void transpose_naive(float *out, const float *in, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < rows && y < cols)
        out[x * rows + y] = in[y * cols + x]; // wrong exchanged_dimensions: out-of-bounds
}
WRONG(exchanged_dimensions) {
    float *in = device_count<float>(256 * 16), *out = device_count<float>(256 * 16);
    transpose_naive<<<dim3(16, 16), dim3(16, 16)>>>(out, in, 256, 16);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
template <int B> __global__ void transpose(float *out, const float *in, int w, int h) {
    __shared__ float t[B][B + 1];
    int x = blockIdx.x * B + threadIdx.x, y = blockIdx.y * B + threadIdx.y;
    if (x < w && y < h) t[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * B + threadIdx.x, y = blockIdx.x * B + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = t[threadIdx.x][threadIdx.y];
}
RIGHT(padded_transpose) {
    float *in = device_count<float>(70 * 33), *out = device_count<float>(70 * 33);
    transpose<32><<<dim3(3, 2), dim3(32, 32)>>>(out, in, 70, 33);
    auto h = to_host(out, 70 * 33);
    for (int i = 0; i < 70 * 33; i++) EXPECT(h[i] == i % 33 * 70 + i / 33);
    cudaFree(in), cudaFree(out);
}

// ---- reductions ----

__inline__ __device__ float warp_sum(float v) {
    for (int away = warpSize / 2; away > 0; away >>= 1) v += __shfl_down_sync(0xffffffff, v, away);
    return v;
}
__global__ void sum_shuffled(float *out, const float *x, int n) {
    static __shared__ float part[32];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    v = warp_sum(v);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? part[lane] : 0;
    if (warp == 0) v = warp_sum(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
}
RIGHT(block_sum) {
    float *x = device_count<float>(1000), *out = device_count<float>(1);
    sum_shuffled<<<4, 128>>>(out, x, 1000);
    EXPECT(to_host(out, 1)[0] == 499500);
    cudaFree(x), cudaFree(out);
}
__global__ void sum_in_tree(int *out, const int *x) {
    extern __shared__ int part[];
    int mine = x[blockIdx.x * blockDim.x + threadIdx.x];
    part[threadIdx.x] = mine; // wrong elements_not_bytes: out-of-bounds
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
RIGHT(tree_sum) {
    int *x = device_count<int>(512), *out = device_count<int>(2);
    sum_in_tree<<<2, 256, 256 * sizeof(int)>>>(out, x);
    auto h = to_host(out, 2);
    EXPECT(h[0] == 255 * 128 && h[1] == 255 * 128 + 256 * 256);
    cudaFree(x), cudaFree(out);
}
__global__ void sum_barrier_in_if(int *out, const int *x) {
    extern __shared__ int part[];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1)
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads(); // wrong barrier_in_if: exited-barrier
        }
    if (threadIdx.x == 0) out[0] = part[0];
}
WRONG(barrier_in_if) {
    int *x = device_count<int>(256), *out = device_count<int>(1);
    sum_barrier_in_if<<<1, 256, 256 * sizeof(int)>>>(out, x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
// The third launch argument is in bytes: this gives a quarter of what the block needs.
WRONG(elements_not_bytes) {
    int *x = device_count<int>(256), *out = device_count<int>(1);
    sum_in_tree<<<1, 256, 256>>>(out, x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// ---- scan, histogram, stencil ----

__global__ void scan(int *x, int n) {
    extern __shared__ int sums[];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0;
    for (int d = 1; d < blockDim.x; d *= 2) {
        __syncthreads();
        int v = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += v;
    }
    if (t < n) x[t] = sums[t];
}
RIGHT(inclusive_scan) {
    int *x = device_count<int>(200);
    scan<<<1, 256, 256 * sizeof(int)>>>(x, 200);
    auto h = to_host(x, 200);
    for (int i = 0; i < 200; i++) EXPECT(h[i] == i * (i + 1) / 2);
    cudaFree(x);
}
__global__ void histogram(unsigned *bins, const unsigned char *x, int n) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
RIGHT(shared_histogram) {
    unsigned char *x = device_count<unsigned char>(1000);
    unsigned *bins = device_count<unsigned>(256);
    cudaMemset(bins, 0, 256 * sizeof(unsigned));
    histogram<<<3, 256>>>(bins, x, 1000);
    auto h = to_host(bins, 256);
    EXPECT(h[0] == 4 && h[231] == 4 && h[232] == 3 && h[255] == 3);
    cudaFree(x), cudaFree(bins);
}
// A value that is no bin: an index into shared memory from unchecked data.
__global__ void histogram_narrow(unsigned *bins, const unsigned char *x, int n) {
    __shared__ unsigned local[64];
    if (threadIdx.x < 64) local[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < n) atomicAdd(&local[x[threadIdx.x]], 1); // check bin_too_high: out-of-bounds
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
WRONG(bin_too_high) {
    unsigned char *x = device_count<unsigned char>(70);
    unsigned *bins = device_count<unsigned>(64);
    histogram_narrow<<<1, 128>>>(bins, x, 70); // wrong bin_too_high: out-of-bounds
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__constant__ float taps[5];
template <bool GUARDED> __global__ void stencil(float *out, const float *in, int n) {
    __shared__ float s[256 + 4];
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x + 2;
    s[at] = i < n ? in[i] : 0;
    if (threadIdx.x < 2) {
        s[at - 2] = i >= 2 ? in[i - 2] : 0;
        bool past = GUARDED && i + 256 >= n;
        s[at + 256] = past ? 0 : in[i + 256]; // wrong halo_unguarded: out-of-bounds
    }
    __syncthreads();
    float sum = 0;
    for (int k = -2; k <= 2; k++) sum += taps[k + 2] * s[at + k];
    if (i < n) out[i] = sum;
}
RIGHT(stencil_with_halo) {
    const float h[5] = {1, 1, 1, 1, 1};
    float *in = device_count<float>(1024), *out = device_count<float>(1024);
    cudaMemcpyToSymbol(taps, h, sizeof h);
    stencil<true><<<4, 256>>>(out, in, 1024);
    auto r = to_host(out, 1024);
    EXPECT(r[0] == 3 && r[500] == 2500 && r[1023] == 1021 + 1022 + 1023);
    cudaFree(in), cudaFree(out);
}
WRONG(halo_unguarded) {
    float *in = device_count<float>(1024), *out = device_count<float>(1024);
    stencil<false><<<4, 256>>>(out, in, 1024);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// ---- C++ as far as kernels use it ----

struct params {
    float factor;
    int n;
    float *out;
};
__global__ void by_value(params p) {
    if (threadIdx.x < p.n) p.out[threadIdx.x] *= p.factor;
}
template <class F> __global__ void each(float *x, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = f(x[i]);
}
struct square {
    __device__ float operator()(float x) const { return x * x; }
};
RIGHT(structs_and_functors) {
    float *x = device_count<float>(100), add = 3;
    params p = {2, 10, x};
    by_value<<<1, 32>>>(p);
    each<<<ceil(100 / 32.0), 32>>>(x, 100, square());
    each<<<4, 32>>>(x, 100, [=] __device__(float v) { return v + add; });
    auto h = to_host(x, 100);
    EXPECT(h[9] == 18 * 18 + 3 && h[99] == 99 * 99 + 3);
    cudaFree(x);
}
typedef float (*unary)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float thrice(float x) { return 3 * x; }
__device__ unary operations[2] = {twice, thrice};
__global__ void through_pointer(float *x, int which) {
    x[threadIdx.x] = operations[which](x[threadIdx.x]);
}
RIGHT(device_function_pointers) {
    float *x = device_count<float>(32);
    through_pointer<<<1, 32>>>(x, 1);
    EXPECT(to_host(x, 32)[31] == 93);
    cudaFree(x);
}
#ifdef CORPUS_ON_GPU // nvcc 13 refuses such members, so there a namespace holds the two
namespace holder {
__device__ int n = 3;
constexpr int width = 8;
} // namespace holder
#else
struct holder {
    static __device__ int n;
    static constexpr int width = 8;
};
__device__ int holder::n = 3;
#endif
__managed__ int both_sides = 4;
__device__ const int primes[4] = {2, 3, 5, 7};
__global__ void members(int *out) {
    out[0] = holder::n + holder::width + primes[3] + both_sides;
    both_sides = 9;
}
RIGHT(static_members_and_managed_variables) {
    int *out = device_count<int>(1);
    members<<<1, 1>>>(out);
    EXPECT(to_host(out, 1)[0] == 22 && both_sides == 9);
    cudaFree(out);
}
__global__ void with_default(int *x, int value = 7) { x[threadIdx.x] = value; }
RIGHT(default_argument) {
    int *x = device_count<int>(4);
    with_default<<<1, 4>>>(x);
    EXPECT(to_host(x, 4)[3] == 7);
    with_default<<<1, 4>>>(x, 8);
    EXPECT(to_host(x, 4)[3] == 8);
    cudaFree(x);
}
RIGHT(launch_by_function) {
    float *x = device_count<float>(8);
    params p = {3, 8, x};
    void *arguments[] = {&p};
    EXPECT(cudaLaunchKernel(by_value, dim3(1), dim3(32), arguments, 0, nullptr) == cudaSuccess);
    EXPECT(to_host(x, 8)[7] == 21);
    EXPECT(cudaLaunchKernel(&by_value, 1, 1, arguments) == cudaSuccess);
    cudaDeviceSynchronize();
    cudaFree(x);
}
__global__ void bytes_and_doubles(double *out) {
    extern __shared__ __align__(16) unsigned char raw[];
    __shared__ double fixed[32];
    double *d = reinterpret_cast<double *>(raw);
    float *f = (float *)&d[32];
    d[threadIdx.x] = threadIdx.x, f[threadIdx.x] = 2, fixed[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = d[31 - threadIdx.x] + f[threadIdx.x] + fixed[0];
}
RIGHT(static_and_dynamic_shared) {
    double *x = device_count<double>(32);
    bytes_and_doubles<<<1, 32, 32 * (sizeof(double) + sizeof(float))>>>(x);
    EXPECT(to_host(x, 32)[0] == 34);
    cudaFree(x);
}

// The block that comes last finishes the work: no barrier over the grid is needed.
__global__ void last_block(unsigned *done, float *out, const float *x) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        atomicAdd(out, x[blockIdx.x]);
        __threadfence();
        last = atomicInc(done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) out[1] = 2 * out[0];
}
RIGHT(last_block_finishes) {
    unsigned *done = device_count<unsigned>(1);
    float *x = device_count<float>(40), *out = device_count<float>(2);
    last_block<<<40, 32>>>(done, out, x);
    EXPECT(to_host(out, 2)[1] == 2 * 780);
    cudaFree(done), cudaFree(x), cudaFree(out);
}

__global__ void hello() {
    if (threadIdx.x % 2) printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
}
RIGHT(printf_from_kernels) {
    hello<<<2, 4>>>();
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
}

// 46,341 squared is more than an int holds: the product is negative, and far from every buffer.
__global__ void overflowing_index(float *x, int n) {
    int i = n * n + threadIdx.x;
    x[i] = 1; // wrong index_overflow: wild-pointer
}
__global__ void wide_index(float *x, int n) {
    size_t i = (size_t)n * n + threadIdx.x - (size_t)n * n;
    x[i] = 1;
}
WRONG(index_overflow) {
    float *x = device_count<float>(32);
    overflowing_index<<<1, 32>>>(x, 50000);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaDeviceReset();
}
RIGHT(index_in_size_t) {
    float *x = device_count<float>(32);
    wide_index<<<1, 32>>>(x, 50000);
    EXPECT(to_host(x, 32)[31] == 1);
    cudaFree(x);
}
