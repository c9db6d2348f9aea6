// bounds.cu: accesses in and out of bounds, and to memory that is not the device's.
#include "cases.h"

__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
RIGHT(scale_guarded) {
    float *x = device_count<float>(1000);
    scale<<<4, 256>>>(x, 1000);
    EXPECT(to_host(x, 1000)[999] == 1998);
    cudaFree(x);
}

__global__ void scale_unguarded(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= 2; // wrong past_end: out-of-bounds
}
WRONG(past_end) {
    float *x = device_count<float>(1000);
    scale_unguarded<<<4, 256>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaFree(x);
    cudaDeviceReset();
}
RIGHT(exact_grid) {
    float *x = device_count<float>(1024);
    scale_unguarded<<<4, 256>>>(x);
    EXPECT(to_host(x, 1024)[1023] == 2046);
    cudaFree(x);
}

__global__ void border_unguarded(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i - 1024]; // wrong before_start: out-of-bounds
}
WRONG(before_start) {
    float *x = device_count<float>(2048), *y = device_count<float>(2048);
    border_unguarded<<<8, 256>>>(y, x, 2048);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void border_guarded(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i >= 1024 ? x[i - 1024] : 0;
}
RIGHT(border) {
    float *x = device_count<float>(2048), *y = device_count<float>(2048);
    border_guarded<<<8, 256>>>(y, x, 2048);
    EXPECT(to_host(y, 2048)[1025] == 1);
    cudaFree(x);
    cudaFree(y);
}

// A write into the few bytes between an odd length and the guard page is found by its canary.
__global__ void one_more(char *x, int n) { x[n] = 1; } // check off_by_one_byte: out-of-bounds
WRONG(off_by_one_byte) {
    char *x;
    cudaMalloc(&x, 1001); // wrong off_by_one_byte: out-of-bounds
    one_more<<<1, 1>>>(x, 1001);
    cudaDeviceSynchronize();
    cudaFree(x);
}
RIGHT(last_byte) {
    char *x;
    cudaMalloc(&x, 1001);
    one_more<<<1, 1>>>(x, 1000);
    cudaDeviceSynchronize();
    cudaFree(x);
}

__global__ void through_null(int *x) { x[threadIdx.x] = 1; } // wrong null_argument: null-pointer
WRONG(null_argument) {
    through_null<<<1, 32>>>(nullptr);
    cudaDeviceSynchronize();
}
__global__ void may_be_null(int *x) {
    if (x) x[threadIdx.x] = 1;
}
RIGHT(null_unused) {
    may_be_null<<<1, 32>>>(0);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
}

WRONG(host_argument) {
    std::vector<float> host(32);
    scale<<<1, 32>>>(host.data(), 32); // wrong host_argument: host-pointer
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}
RIGHT(pinned_argument) {
    float *x;
    cudaMallocHost(&x, 32 * sizeof *x);
    for (int i = 0; i < 32; i++) x[i] = i;
    scale<<<1, 32>>>(x, 32);
    cudaDeviceSynchronize();
    EXPECT(x[31] == 62);
    cudaFreeHost(x);
}
RIGHT(managed_argument) {
    float *x;
    cudaMallocManaged(&x, 32 * sizeof *x);
    for (int i = 0; i < 32; i++) x[i] = i;
    scale<<<1, 32>>>(x, 32);
    cudaDeviceSynchronize();
    EXPECT(x[31] == 62);
    cudaFree(x);
}

WRONG(host_reads_device) {
    volatile float *x = device_count<float>(32);
    float first = x[0]; // wrong host_reads_device: host-dereference
    EXPECT(first == 0);
}

__global__ void sum_after_free(float *x) { x[0] = x[1]; } // wrong freed_argument: use-after-free
WRONG(freed_argument) {
    float *x = device_count<float>(32);
    cudaFree(x);
    sum_after_free<<<1, 1>>>(x);
    cudaDeviceSynchronize();
}

__global__ void vector_load(float *y, const float *x) {
    auto from = reinterpret_cast<const float4 *>(x);
    auto to = reinterpret_cast<float4 *>(y);
    to[threadIdx.x] = from[threadIdx.x]; // wrong odd_vector: misaligned-address
}
WRONG(odd_vector) { // not by clang: odd_vector // not on arm64: odd_vector
    float *x = device_count<float>(64), *y = device_count<float>(64);
    vector_load<<<1, 8>>>(y + 1, x + 1);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(even_vector) {
    float *x = device_count<float>(64), *y = device_count<float>(64);
    vector_load<<<1, 16>>>(y, x);
    EXPECT(to_host(y, 64)[63] == 63);
    cudaFree(x);
    cudaFree(y);
}

template <int N> __global__ void shared_end(int *out, int extra) {
    __shared__ int tile[N];
    tile[threadIdx.x + extra] = threadIdx.x; // check shared_overrun: out-of-bounds
    __syncthreads();
    out[threadIdx.x] = tile[N - 1 - threadIdx.x];
}
WRONG(shared_overrun) {
    int *x = device_count<int>(64);
    shared_end<64><<<1, 64>>>(x, 1); // wrong shared_overrun: out-of-bounds
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(shared_exact) {
    int *x = device_count<int>(64);
    shared_end<64><<<1, 64>>>(x, 0);
    EXPECT(to_host(x, 64)[0] == 63);
    cudaFree(x);
}
__global__ void dynamic_end(int *out) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = threadIdx.x; // wrong dynamic_overrun: out-of-bounds
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
WRONG(dynamic_overrun) {
    int *x = device_count<int>(64);
    dynamic_end<<<1, 64, 64>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(dynamic_exact) {
    int *x = device_count<int>(64);
    dynamic_end<<<1, 64, 64 * sizeof(int)>>>(x);
    EXPECT(to_host(x, 64)[0] == 63);
    cudaFree(x);
}
// An index into the next buffer, which begins behind a guard.
__global__ void next_buffer(float *a, int i) { a[i] = 1; } // wrong between_buffers: out-of-bounds
WRONG(between_buffers) {
    float *a = device_count<float>(4096), *b = device_count<float>(4096);
    next_buffer<<<1, 1>>>(a, 6000);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    (void)b;
    cudaDeviceReset();
}

// likely past_end: device[
