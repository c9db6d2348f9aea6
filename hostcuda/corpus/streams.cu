// streams.cu: several streams, waiting and forgetting to wait, handles, graphs, errors of launches.
#include "cases.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

// CUDA 13 describes a place where CUDA 12 gave the device's number.
#if CUDART_VERSION >= 13000
static const cudaMemLocation device_0 = {cudaMemLocationTypeDevice, 0};
#define TO_DEVICE_0 device_0, 0
#else
static const int device_0 = 0;
#define TO_DEVICE_0 device_0
#endif

static __global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }
static __global__ void add(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] += value; }

// ---- what a missing synchronisation shows ----

// A seed may let a queue run early; over this many tries the old value is seen.
RIGHT(managed_memory_read_too_early) {
    int *x, seen_old = 0;
    cudaMallocManaged(&x, 32 * sizeof(int));
    for (int i = 0; i < 20; i++) {
        x[0] = 0;
        fill<<<1, 32>>>(x, 1);
        seen_old += x[0] == 0; // check managed_memory_read_too_early: never-waited
        cudaDeviceSynchronize();
        EXPECT(x[0] == 1);
    }
    EXPECT_HERE(seen_old > 0);
    cudaFree(x);
}
RIGHT(copy_not_waited_for) {
    int *x = device_count<int>(32), *h, seen_old = 0;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&h, 32 * sizeof(int));
    for (int i = 0; i < 20; i++) {
        h[31] = -1;
        cudaMemcpyAsync(h, x, 32 * sizeof(int), cudaMemcpyDeviceToHost, s);
        seen_old += h[31] == -1; // check copy_not_waited_for: never-waited
        cudaStreamSynchronize(s);
        EXPECT(h[31] == 31);
    }
    EXPECT_HERE(seen_old > 0);
    cudaFreeHost(h), cudaStreamDestroy(s), cudaFree(x);
}
// Each half is waited for by itself, while the other is still queued.
RIGHT(halves_waited_for) {
    int *x = device_count<int>(64), *h;
    cudaStream_t s;
    cudaEvent_t half;
    cudaStreamCreate(&s), cudaEventCreate(&half);
    cudaMallocHost(&h, 64 * sizeof(int));
    for (int i = 0; i < 20; i++) {
        cudaMemcpyAsync(h, x, 32 * sizeof(int), cudaMemcpyDeviceToHost, s);
        cudaEventRecord(half, s);
        add<<<1, 64, 0, s>>>(x, 1);
        cudaMemcpyAsync(h + 32, x + 32, 32 * sizeof(int), cudaMemcpyDeviceToHost, s);
        EXPECT(cudaEventSynchronize(half) == cudaSuccess && h[31] == 31 + i);
        EXPECT(cudaStreamSynchronize(s) == cudaSuccess && h[63] == 64 + i);
    }
    cudaFreeHost(h), cudaEventDestroy(half), cudaStreamDestroy(s), cudaFree(x);
}
// A page-locked source that is overwritten before the copy ran gives the device the later bytes.
RIGHT(source_changed_too_early) {
    int *x = device_count<int>(1), *h, seen_late = 0;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&h, sizeof(int));
    for (int i = 0; i < 20; i++) {
        *h = 1;
        cudaMemcpyAsync(x, h, sizeof(int), cudaMemcpyHostToDevice, s);
        *h = 2;
        cudaStreamSynchronize(s);
        seen_late += to_host(x, 1)[0] == 2;
    }
    EXPECT_HERE(seen_late > 0);
    cudaFreeHost(h), cudaStreamDestroy(s), cudaFree(x);
}
// Ordinary memory is read at the call, as a GPU's driver does.
RIGHT(pageable_source_is_staged) {
    int *x = device_count<int>(1), h;
    cudaStream_t s;
    cudaStreamCreate(&s);
    for (int i = 0; i < 20; i++) {
        h = 1;
        cudaMemcpyAsync(x, &h, sizeof(int), cudaMemcpyHostToDevice, s);
        h = 2;
        cudaStreamSynchronize(s);
        EXPECT(to_host(x, 1)[0] == 1);
    }
    cudaStreamDestroy(s), cudaFree(x);
}
RIGHT(event_destroyed_while_queued) {
    int *x = device_count<int>(32);
    cudaEvent_t e;
    cudaEventCreate(&e);
    fill<<<1, 32>>>(x, 1);
    cudaEventRecord(e);
    cudaEventDestroy(e);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(x);
}
RIGHT(event_not_ready) {
    int *x = device_count<int>(32), not_ready = 0;
    cudaEvent_t e;
    cudaEventCreate(&e);
    EXPECT(cudaEventQuery(e) == cudaSuccess);
    for (int i = 0; i < 20; i++) {
        fill<<<1, 32>>>(x, i);
        cudaEventRecord(e);
        not_ready += cudaEventQuery(e) == cudaErrorNotReady;
        cudaEventSynchronize(e);
        EXPECT(cudaEventQuery(e) == cudaSuccess);
    }
    EXPECT_HERE(not_ready > 0);
    EXPECT(cudaGetLastError() == cudaSuccess);
    cudaEventDestroy(e), cudaFree(x);
}

// ---- order between streams ----

// Without an event between them two streams run in any order: both orders occur.
RIGHT(streams_without_order) {
    int *x = device_count<int>(32), first = 0, second = 0;
    cudaStream_t a, b;
    cudaStreamCreate(&a), cudaStreamCreate(&b);
    for (int i = 0; i < 60; i++) {
        fill<<<1, 32, 0, a>>>(x, 1);
        fill<<<1, 32, 0, b>>>(x, 2);
        cudaDeviceSynchronize();
        (to_host(x, 1)[0] == 1 ? second : first)++;
    }
    EXPECT_HERE(first > 0 && second > 0);
    cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(x);
}
RIGHT(streams_ordered_by_event) {
    int *x = device_count<int>(32);
    cudaStream_t a, b;
    cudaEvent_t filled;
    cudaStreamCreate(&a), cudaStreamCreate(&b), cudaEventCreate(&filled);
    for (int i = 0; i < 60; i++) {
        fill<<<1, 32, 0, a>>>(x, 1);
        cudaEventRecord(filled, a);
        cudaStreamWaitEvent(b, filled);
        add<<<1, 32, 0, b>>>(x, 2);
        cudaStreamSynchronize(b);
        EXPECT(to_host(x, 32)[31] == 3);
    }
    cudaEventDestroy(filled), cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(x);
}
// The legacy default stream waits for blocking streams, and they for it; not for others.
RIGHT(default_stream_orders) {
    int *x = device_count<int>(32);
    cudaStream_t a, b;
    cudaStreamCreate(&a), cudaStreamCreate(&b);
    for (int i = 0; i < 40; i++) {
        fill<<<1, 32, 0, a>>>(x, 1);
        add<<<1, 32>>>(x, 2);
        add<<<1, 32, 0, b>>>(x, 4);
        cudaStreamSynchronize(b);
        EXPECT(to_host(x, 32)[31] == 7);
    }
    cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(x);
}
RIGHT(pipeline_of_three_streams) {
    enum { PARTS = 3, SIZE = 64 };
    int *x = device_count<int>(PARTS * SIZE), *h;
    cudaStream_t s[PARTS];
    cudaMallocHost(&h, PARTS * SIZE * sizeof(int));
    for (int i = 0; i < PARTS * SIZE; i++) h[i] = i;
    for (int i = 0; i < PARTS; i++) {
        int *from = h + i * SIZE, *to = x + i * SIZE;
        cudaStreamCreate(&s[i]);
        cudaMemcpyAsync(to, from, SIZE * sizeof(int), cudaMemcpyHostToDevice, s[i]);
        add<<<1, SIZE, 0, s[i]>>>(to, 100);
        cudaMemcpyAsync(from, to, SIZE * sizeof(int), cudaMemcpyDeviceToHost, s[i]);
    }
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    for (int i = 0; i < PARTS * SIZE; i++) EXPECT(h[i] == i + 100);
    for (int i = 0; i < PARTS; i++) cudaStreamDestroy(s[i]);
    cudaFreeHost(h), cudaFree(x);
}
static void CUDART_CB note(cudaStream_t, cudaError_t error, void *data) {
    *(int *)data += error == cudaSuccess;
}
RIGHT(callbacks_in_order) {
    int *x = device_count<int>(32), called = 0;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaLaunchHostFunc(s, [](void *p) { *(int *)p = 1; }, &called);
    EXPECT(cudaStreamAddCallback(s, note, &called, 0) == cudaSuccess);
    cudaStreamSynchronize(s);
    EXPECT(called == 2);
    cudaStreamDestroy(s), cudaFree(x);
}
// Freeing while a kernel is queued: cudaFree waits, so this is right.
RIGHT(free_waits) {
    int *x = device_count<int>(32);
    fill<<<1, 32>>>(x, 1);
    EXPECT(cudaFree(x) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
}
RIGHT(free_in_stream_order) {
    int *x;
    cudaStream_t s;
    cudaStreamCreate(&s);
    EXPECT(cudaMallocAsync(&x, 32 * sizeof(int), s) == cudaSuccess);
    fill<<<1, 32, 0, s>>>(x, 1);
    EXPECT(cudaFreeAsync(x, s) == cudaSuccess && cudaStreamSynchronize(s) == cudaSuccess);
    cudaStreamDestroy(s);
}
WRONG(used_after_free_async) {
    int *x;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocAsync(&x, 32 * sizeof(int), s);
    cudaFreeAsync(x, s);
    cudaStreamSynchronize(s);
    cudaMemset(x, 0, 32 * sizeof(int)); // wrong used_after_free_async: use-after-free
    cudaStreamDestroy(s);
}

// ---- handles ----

WRONG(destroyed_stream) {
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaStreamDestroy(s);
    cudaError_t error = cudaStreamSynchronize(s); // wrong destroyed_stream: bad-handle
    EXPECT(error == cudaErrorInvalidResourceHandle);
}
WRONG(destroyed_event) {
    cudaEvent_t e;
    cudaEventCreate(&e);
    cudaEventRecord(e);
    cudaDeviceSynchronize();
    cudaEventDestroy(e);
    cudaError_t error = cudaEventSynchronize(e); // wrong destroyed_event: bad-handle
    EXPECT(error == cudaErrorInvalidResourceHandle);
}
WRONG(stream_never_created) {
    int *x = device_count<int>(32);
    static char nothing[64];
    fill<<<1, 32, 0, (cudaStream_t)nothing>>>(x, 1); // wrong stream_never_created: bad-handle
    EXPECT(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    cudaFree(x);
}

// ---- graphs ----

RIGHT(graph_over_two_streams) {
    int *x = device_count<int>(32), *y = device_count<int>(32);
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t g;
    cudaGraphExec_t e;
    size_t nodes = 0;
    cudaStreamCreate(&a), cudaStreamCreate(&b), cudaEventCreate(&fork), cudaEventCreate(&join);
    EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal) == cudaSuccess);
    fill<<<1, 32, 0, a>>>(x, 1);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork);
    add<<<1, 32, 0, b>>>(x, 2);
    cudaEventRecord(join, b);
    cudaStreamWaitEvent(a, join);
    cudaMemcpyAsync(y, x, 32 * sizeof(int), cudaMemcpyDeviceToDevice, a);
    EXPECT(cudaStreamEndCapture(a, &g) == cudaSuccess);
    EXPECT(cudaGraphGetNodes(g, nullptr, &nodes) == cudaSuccess && nodes >= 3);
    EXPECT(cudaGraphInstantiate(&e, g, nullptr, nullptr, 0) == cudaSuccess);
    EXPECT(cudaGraphDestroy(g) == cudaSuccess);
    for (int i = 0; i < 5; i++) EXPECT(cudaGraphLaunch(e, a) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(a) == cudaSuccess && to_host(y, 32)[31] == 3);
    cudaGraphExecDestroy(e), cudaEventDestroy(fork), cudaEventDestroy(join);
    cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(x), cudaFree(y);
}
RIGHT(waiting_while_capturing_is_refused) {
    int *x = device_count<int>(32);
    cudaStream_t s;
    cudaGraph_t g;
    cudaStreamCaptureStatus status;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    fill<<<1, 32, 0, s>>>(x, 1);
    EXPECT(cudaStreamIsCapturing(s, &status) == cudaSuccess);
    EXPECT(status == cudaStreamCaptureStatusActive);
    EXPECT(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaGetLastError() == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated);
    EXPECT(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
    cudaStreamDestroy(s), cudaFree(x);
}
RIGHT(default_stream_is_not_captured) {
    EXPECT(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal) ==
           cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaGetLastError() == cudaErrorStreamCaptureUnsupported);
}
__global__ void past_the_end(int *x) { x[threadIdx.x] = 1; } // wrong fault_in_graph: out-of-bounds
WRONG(fault_in_graph) {
    int *x = device_count<int>(16);
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    past_the_end<<<1, 32, 0, s>>>(x);
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&e, g, 0);
    cudaGraphLaunch(e, s);
    EXPECT(cudaStreamSynchronize(s) == cudaErrorIllegalAddress);
    cudaDeviceReset();
}

// ---- errors of launches ----

WRONG(launch_unasked) {
    int *x = device_count<int>(4096);
    fill<<<1, 2048>>>(x, 1); // wrong launch_unasked: launch-configuration, unchecked-error
    cudaFree(x);
}
RIGHT(launch_asked_about) {
    int *x = device_count<int>(1024);
    fill<<<1, 1024>>>(x, 1);
    EXPECT(cudaGetLastError() == cudaSuccess);
    fill<<<dim3(1, 1, 1), dim3(16, 16, 4)>>>(x, 2);
    EXPECT(cudaPeekAtLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(x);
}
WRONG(empty_block) {
    int *x = device_count<int>(4);
    fill<<<1, 0>>>(x, 1); // wrong empty_block: launch-configuration
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    cudaFree(x);
}
WRONG(deep_block) {
    int *x = device_count<int>(128);
    fill<<<1, dim3(1, 1, 128)>>>(x, 1); // wrong deep_block: launch-configuration
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    cudaFree(x);
}
__global__ void half_and_half(double *x) {
    __shared__ double a[4096];
    extern __shared__ double b[];
    a[threadIdx.x] = b[threadIdx.x] = 1;
    x[threadIdx.x] = a[threadIdx.x];
}
WRONG(shared_together) {
    double *x = device_count<double>(4);
    half_and_half<<<1, 4, 32768>>>(x); // wrong shared_together: shared-too-large
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
    cudaDeviceReset();
}
WRONG(shared_limit) {
    auto limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    auto e = cudaFuncSetAttribute(fill, limit, 300000); // wrong shared_limit: shared-too-large
    EXPECT(e == cudaErrorInvalidValue);
    cudaGetLastError();
}
WRONG(advice_for_all) {
    int *x = device_count<int>(32);
    auto e = cudaMemPrefetchAsync(x, 128, TO_DEVICE_0); // wrong advice_for_all: copy-direction
    EXPECT(e == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaFree(x);
}
RIGHT(advice_on_managed_memory) {
    int *x;
    cudaMallocManaged(&x, 128);
    EXPECT(cudaMemAdvise(x, 128, cudaMemAdviseSetReadMostly, device_0) == cudaSuccess);
    EXPECT(cudaMemPrefetchAsync(x, 128, TO_DEVICE_0, 0) == cudaSuccess);
    cudaFree(x);
}
RIGHT(rows_are_set) {
    int *x;
    size_t pitch;
    char h[3][8];
    cudaMallocPitch(&x, &pitch, 8, 3);
    EXPECT(cudaMemset2D(x, pitch, 5, 8, 3) == cudaSuccess);
    cudaMemcpy2D(h, 8, x, pitch, 8, 3, cudaMemcpyDeviceToHost);
    EXPECT(h[0][0] == 5 && h[2][7] == 5);
    cudaFree(x);
}
RIGHT(errors_stay_until_asked) {
    void *p;
    EXPECT(cudaMalloc(&p, ~(size_t)0 / 2) == cudaErrorMemoryAllocation);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError() == cudaSuccess);
}

// A host function wakes a thread that asks CUDA nothing.
struct bell {
    std::mutex lock;
    std::condition_variable rung;
    bool done;
};
RIGHT(woken_by_a_host_function) {
    int *x = device_count<int>(32), *h;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&h, 32 * sizeof(int));
    bell b = {};
    add<<<1, 32, 0, s>>>(x, 5);
    cudaMemcpyAsync(h, x, 32 * sizeof(int), cudaMemcpyDeviceToHost, s);
    auto ring = [](void *p) {
        bell *b = (bell *)p;
        std::lock_guard<std::mutex> held(b->lock);
        b->done = true;
        b->rung.notify_one();
    };
    cudaLaunchHostFunc(s, ring, &b);
    std::unique_lock<std::mutex> held(b.lock);
    EXPECT(b.rung.wait_for(held, std::chrono::seconds(100), [&] { return b.done; }));
    EXPECT(h[31] == 36);
    held.unlock();
    cudaStreamSynchronize(s);
    cudaFree(x), cudaFreeHost(h), cudaStreamDestroy(s);
}
