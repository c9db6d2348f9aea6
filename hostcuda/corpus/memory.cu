// memory.cu: allocation, copies, streams, events, graphs, launches: the host's side.
#include "cases.h"

#include <thread>

__constant__ float factors[3];
__device__ int counter;

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void use_symbols(float *x) {
    x[threadIdx.x] *= factors[threadIdx.x % 3];
    atomicAdd(&counter, 1);
}

RIGHT(symbols) {
    float h[3] = {1, 2, 3}, *x = device_count<float>(6);
    int zero = 0, n = -1;
    EXPECT(cudaMemcpyToSymbol(factors, h, sizeof h) == cudaSuccess);
    cudaMemcpyToSymbol(counter, &zero, sizeof zero);
    use_symbols<<<1, 6>>>(x);
    cudaMemcpyFromSymbol(&n, counter, sizeof n);
    EXPECT(n == 6 && to_host(x, 6)[5] == 15);
    cudaFree(x);
}
WRONG(symbol_too_small) {
    float h[4] = {};
    cudaMemcpyToSymbol(factors, h, sizeof h); // wrong symbol_too_small: copy-size
}

WRONG(wrong_direction) {
    float h[8], *x = device_count<float>(8);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyHostToDevice); // wrong wrong_direction: copy-direction
    cudaFree(x);
}
WRONG(swapped_arguments) {
    float h[8] = {}, *x = device_count<float>(8);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyHostToDevice); // wrong swapped_arguments: copy-direction
    cudaFree(x);
}
RIGHT(default_direction) {
    float h[8], *x = device_count<float>(8);
    EXPECT(cudaMemcpy(h, x, sizeof h, cudaMemcpyDefault) == cudaSuccess && h[7] == 7);
    cudaFree(x);
}
WRONG(copy_too_long) {
    float h[16] = {}, *x = device_count<float>(8);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice); // wrong copy_too_long: copy-size
    cudaFree(x);
}
WRONG(memset_too_long) {
    int *x = device_count<int>(10);
    cudaMemset(x, 0, 10 * sizeof(double)); // wrong memset_too_long: copy-size
    cudaFree(x);
}
WRONG(memset_of_host) {
    int h[4];
    cudaMemset(h, 0, sizeof h); // wrong memset_of_host: copy-direction
}
RIGHT(memset_bytes) {
    int *x = device_count<int>(10);
    EXPECT(cudaMemset(x, 0xff, 10 * sizeof(int)) == cudaSuccess);
    EXPECT(to_host(x, 10)[9] == -1);
    cudaFree(x);
}
WRONG(copy_of_freed) {
    float h[8], *x = device_count<float>(8);
    cudaFree(x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost); // wrong copy_of_freed: use-after-free
}
WRONG(freed_twice) {
    float *x = device_count<float>(8);
    cudaFree(x);
    EXPECT(cudaFree(x) == cudaErrorInvalidValue); // wrong freed_twice: double-free
}
WRONG(freed_inside) {
    float *x = device_count<float>(8);
    cudaFree(x + 1); // wrong freed_inside: bad-free
    cudaFree(x);
}
WRONG(freed_host_memory) {
    int h;
    cudaFree(&h); // wrong freed_host_memory: bad-free
}
WRONG(never_freed) {
    int *x;
    cudaMalloc(&x, 100); // wrong never_freed: leak
    fill<<<1, 25>>>(x, 1);
    cudaDeviceSynchronize();
}
RIGHT(freed_null) { EXPECT(cudaFree(nullptr) == cudaSuccess); }
RIGHT(too_much_memory) {
    void *x = nullptr;
    EXPECT(cudaMalloc(&x, (size_t)1 << 50) == cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
}
RIGHT(many_buffers) {
    std::vector<int *> all;
    for (int i = 0; i < 300; i++) all.push_back(device_count<int>(i * 7 + 1));
    for (int i = 0; i < 300; i += 2) cudaFree(all[i]);
    for (int i = 1; i < 300; i += 2) EXPECT(to_host(all[i], i * 7 + 1)[i] == i);
    for (int i = 1; i < 300; i += 2) cudaFree(all[i]);
}
RIGHT(copy_in_rows) {
    int *x, h[3 * 5], back[3 * 5];
    size_t pitch;
    for (int i = 0; i < 15; i++) h[i] = i;
    cudaMallocPitch(&x, &pitch, 5 * sizeof(int), 3);
    cudaMemcpy2D(x, pitch, h, 5 * sizeof(int), 5 * sizeof(int), 3, cudaMemcpyHostToDevice);
    cudaMemcpy2D(back, 5 * sizeof(int), x, pitch, 5 * sizeof(int), 3, cudaMemcpyDeviceToHost);
    EXPECT(back[14] == 14 && back[5] == 5);
    cudaFree(x);
}

// A copy that nobody waited for has not happened: that is what a student is to see.
RIGHT(asynchronous_copy_waits) {
    int *x = device_count<int>(8), *h;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&h, 8 * sizeof(int));
    h[7] = -1;
    cudaMemcpyAsync(h, x, 8 * sizeof(int), cudaMemcpyDeviceToHost, s);
    int seen = h[7]; // check asynchronous_copy_waits: never-waited
    EXPECT(seen == -1 || seen == 7); // the seed decides when it runs
    EXPECT(cudaStreamSynchronize(s) == cudaSuccess && h[7] == 7);
    cudaFreeHost(h);
    cudaStreamDestroy(s);
    cudaFree(x);
}
RIGHT(events_order_streams) {
    int *x = device_count<int>(32);
    cudaStream_t a, b;
    cudaEvent_t done, end;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaEventCreate(&end);
    for (int i = 0; i < 50; i++) {
        fill<<<1, 32, 0, a>>>(x, i);
        cudaEventRecord(done, a);
        cudaStreamWaitEvent(b, done);
        fill<<<1, 32, 0, b>>>(x, -i);
        cudaEventRecord(end, b);
        cudaStreamWaitEvent(a, end);
    }
    while (cudaEventQuery(end) == cudaErrorNotReady) {}
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && to_host(x, 32)[31] == -49);
    cudaEventDestroy(done);
    cudaEventDestroy(end);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaFree(x);
}
WRONG(program_ends_early) {
    static int *x = device_count<int>(32);
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaFree(x);
    auto nothing = [](void *) {};
    for (int i = 0; i < 40; i++)
        cudaLaunchHostFunc(s, nothing, nullptr); // wrong program_ends_early: never-waited
}
RIGHT(graph) {
    int *x = device_count<int>(32), *y = device_count<int>(32);
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    fill<<<1, 32, 0, s>>>(x, 5);
    cudaMemcpyAsync(y, x, 32 * sizeof(int), cudaMemcpyDeviceToDevice, s);
    EXPECT(cudaStreamEndCapture(s, &g) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&e, g, 0) == cudaSuccess);
    cudaStreamSynchronize(s);
    EXPECT(to_host(y, 32)[31] == 31); // nothing ran while capturing
    cudaGraphLaunch(e, s);
    cudaGraphLaunch(e, s);
    cudaStreamSynchronize(s);
    EXPECT(to_host(y, 32)[31] == 5);
    cudaGraphExecDestroy(e);
    cudaGraphDestroy(g);
    cudaStreamDestroy(s);
    cudaFree(x);
    cudaFree(y);
}

WRONG(block_too_large) {
    int *x = device_count<int>(4096);
    fill<<<1, dim3(64, 64)>>>(x, 1); // wrong block_too_large: launch-configuration
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    cudaFree(x);
}
WRONG(empty_grid) {
    int *x = device_count<int>(4), n = 100;
    fill<<<n / 256, 256>>>(x, 1); // wrong empty_grid: launch-configuration
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    cudaFree(x);
}
WRONG(too_much_dynamic) {
    int *x = device_count<int>(4);
    fill<<<1, 4, 60000>>>(x, 1); // wrong too_much_dynamic: shared-too-large
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    cudaFree(x);
}
RIGHT(dynamic_granted) {
    int *x = device_count<int>(4);
    cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);
    fill<<<1, 4, 60000>>>(x, 1);
    EXPECT(cudaGetLastError() == cudaSuccess && to_host(x, 4)[3] == 1);
    cudaFree(x);
}
WRONG(null_kernel) {
    void (*k)(int *, int) = nullptr;
    k<<<1, 1>>>(nullptr, 0); // wrong null_kernel: null-kernel
    EXPECT(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
}
RIGHT(error_names) {
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress"));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
    EXPECT(cudaSetDevice(3) == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
}

// Memory in stream order, from the pool that there is; and what only tells a GPU how to be quick.
RIGHT(from_the_pool) {
    cudaMemPool_t pool;
    int supported = 0, *x, *y;
    unsigned long long keep = ~0ull;
    EXPECT(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0) == cudaSuccess);
    EXPECT(supported == 1 && cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess);
    EXPECT(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep) == cudaSuccess);
    cudaStream_t s;
    cudaStreamCreate(&s);
    EXPECT(cudaMallocAsync(&x, 64 * sizeof(int), s) == cudaSuccess);
    EXPECT(cudaMallocFromPoolAsync(&y, 64 * sizeof(int), pool, s) == cudaSuccess);
    cudaMemsetAsync(x, 1, 64 * sizeof(int), s);
    cudaMemcpyAsync(y, x, 64 * sizeof(int), cudaMemcpyDeviceToDevice, s);
    cudaFreeAsync(x, s);
    cudaStreamSynchronize(s);
    EXPECT(to_host(y, 64)[63] == 0x01010101);
    cudaFreeAsync(y, s);
    cudaStreamSynchronize(s);
    EXPECT(cudaMemPoolTrimTo(pool, 0) == cudaSuccess);
    cudaStreamAttrValue window = {};
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    EXPECT(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &window) ==
           cudaSuccess);
    EXPECT(cudaCtxResetPersistingL2Cache() == cudaSuccess);
    cudaStreamDestroy(s);
}

// One thread of the host computes in managed memory while another makes the device work.
__global__ void count_on(int *x) { x[threadIdx.x]++; }
RIGHT(managed_beside_another_thread) {
    int *x = device_count<int>(32), *y = nullptr, *z = nullptr;
    EXPECT(cudaMallocManaged(&y, 4096 * sizeof *y) == cudaSuccess);
    EXPECT(cudaMallocManaged(&z, 4096 * sizeof *z) == cudaSuccess);
    for (int i = 0; i < 4096; i++) y[i] = z[i] = 0;
    std::thread other([=] {
        for (int round = 0; round < 500; round++)
            for (int i = 0; i < 4096; i++) y[i]++, z[i] += 2;
    });
    for (int round = 0; round < 2000; round++) {
        count_on<<<1, 32>>>(x);
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    }
    other.join();
    EXPECT(y[0] == 500 && y[4095] == 500 && z[4095] == 1000 && to_host(x, 32)[31] == 2031);
    cudaFree(x), cudaFree(y), cudaFree(z);
}
