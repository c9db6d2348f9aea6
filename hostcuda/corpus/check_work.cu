// check_work.cu: who did the work of a call (counts->watch), what host code may touch meanwhile
// (counts->guard), and arrays that are narrower than their allocation (counts->confine).
#include "cases.h"

#include "hostcuda/counts.h"

enum { N = 3000 };

// Work on y[N] = f(x[N]) by `run`, with y the output and x the input.
template <class F> static hostcuda_work work_of(float *y, const float *x, F run) {
    const hostcuda_counts *counts = hostcuda_counts_get();
    hostcuda_work work = {};
    const hostcuda_array arrays[] = {{y, N * sizeof *y, true}, {x, N * sizeof *x, false}};
    EXPECT(counts->abi == HOSTCUDA_COUNTS_ABI && outside(counts->watch, arrays, 2));
    run();
    outside(counts->worked, &work);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    return work;
}

__global__ void twice(float *y, const float *x, int n) {
    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) y[i] = 2 * x[i];
}
static bool was(const hostcuda_launch &l, const char *kernel, dim3 grid, dim3 block) {
    return l.kernel && strcmp(l.kernel, kernel) == 0 && l.grid[0] == grid.x &&
           l.grid[1] == grid.y && l.grid[2] == grid.z && l.block[0] == block.x &&
           l.block[1] == block.y && l.block[2] == block.z;
}
RIGHT(threads_that_store) {
    float *x = device_count<float>(N), *y = device_count<float>(N), *m = device_count<float>(N);
    auto grid = work_of(y, x, [=] { twice<<<3, 128>>>(y, x, N); });
    EXPECT(grid.storers == 384 && grid.loaders == 384 && grid.carried == 0 && grid.to_host == 0);
    auto many = work_of(y, x, [=] { twice<<<8, 512>>>(y, x, N); });
    EXPECT(many.storers == N); // the others had nothing to do
    auto alone = work_of(y, x, [=] { twice<<<1, 1>>>(y, x, N); });
    EXPECT(alone.storers == 1 && alone.loaders == 1);
    EXPECT(was(alone.storing, "twice", dim3(1), dim3(1)));
    // one thread, launched for each element, is one thread
    auto again = work_of(y, x, [=] {
        for (int i = 0; i < 100; i++) twice<<<1, 1>>>(y + i, x + i, 1);
    });
    EXPECT(again.storers == 1 && again.loaders == 1);
    // who stored last counts
    auto last = work_of(y, x, [=] { twice<<<3, 128>>>(y, x, N), twice<<<1, 2>>>(y, x, N); });
    EXPECT(last.storers == 2 && last.loaders == 2);
    EXPECT(was(last.storing, "twice", dim3(1), dim3(2)) &&
           was(last.loading, "twice", dim3(1), dim3(2)));
    // of several launches, the one with most words, of outputs and of inputs
    auto parts = work_of(y, x, [=] {
        twice<<<dim3(2, 1, 1), 64>>>(y, x, N), twice<<<1, 1>>>(y, x, 10), twice<<<1, 7>>>(m, x, N);
    });
    EXPECT(was(parts.storing, "twice", dim3(2), dim3(64)) &&
           was(parts.loading, "twice", dim3(1), dim3(7)));
    auto none = work_of(y, x, [] {});
    EXPECT(!none.storing.kernel && !none.loading.kernel);
    cudaFree(x), cudaFree(y), cudaFree(m);
}

__global__ void total(float *y, const float *x, int n) {
    __shared__ float part[256];
    float mine = 0;
    for (int i = threadIdx.x; i < n; i += 256) mine += x[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *y = part[0];
}
RIGHT(threads_that_load) {
    float *x = device_count<float>(N), *y = device_count<float>(N);
    auto sum = work_of(y, x, [=] { total<<<1, 256>>>(y, x, N); });
    EXPECT(sum.storers == 1 && sum.loaders == 256);
    cudaFree(x), cudaFree(y);
}

RIGHT(copies_are_no_threads) {
    float *x = device_count<float>(N), *y = device_count<float>(N);
    std::vector<float> host(N);
    auto copied = work_of(y, x, [=] { cudaMemcpy(y, x, N * sizeof *y, cudaMemcpyDeviceToDevice); });
    EXPECT(copied.storers == 0 && copied.carried == N && copied.to_host == 0);
    float *p = host.data();
    auto through = work_of(y, x, [=] {
        cudaMemcpy(p, x, N * sizeof *p, cudaMemcpyDeviceToHost);
        cudaMemcpy(y, p, N * sizeof *p, cudaMemcpyHostToDevice);
        twice<<<1, 32>>>(y, x, 32);
    });
    EXPECT(through.storers == 32 && through.carried == N - 32);
    EXPECT(through.to_host == N * sizeof *p);
    auto set = work_of(y, x, [=] { cudaMemset(y, 0, N * sizeof *y); });
    EXPECT(set.storers == 0 && set.carried == 0);
    cudaFree(x), cudaFree(y);
}

RIGHT(managed_and_pinned_memory_is_the_hosts) {
    float *x = device_count<float>(N), *y = device_count<float>(N), *m, *p;
    EXPECT(cudaMallocManaged(&m, N * sizeof *m) == cudaSuccess);
    EXPECT(cudaMallocHost(&p, N * sizeof *p) == cudaSuccess);
    auto managed = work_of(y, x, [=] { twice<<<3, 128>>>(m, x, N); });
    EXPECT(managed.to_host == N * sizeof *m && managed.storers == 0);
    auto pinned = work_of(y, x, [=] { twice<<<3, 128>>>(p, x, N); });
    EXPECT(pinned.to_host == N * sizeof *p);
    cudaFree(x), cudaFree(y), cudaFree(m), cudaFreeHost(p);
}

// ---- the guard ----

static int own[4] = {1, 2, 3, 4}, empty[4];
static const int table[] = {5, 6, 7};

// As an operation: everything here is its own.
static __attribute__((noinline)) int within(float *y, const float *x, int k) {
    int local[3] = {k, k, k};
    static int calls;
    local[k % 3] += own[k % 4] + table[k % 3] + ++calls;
    empty[k % 4] = local[1];
    memcpy(local, own, sizeof local);
    EXPECT(cudaMemcpy(empty, x, sizeof empty, cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(cudaMemcpy(local, x, sizeof local, cudaMemcpyDeviceToHost) == cudaSuccess);
    twice<<<3, 128>>>(y, x, N);
    return local[k % 3];
}
RIGHT(guarded_code_has_its_own) {
    float *x = device_count<float>(N), *y = device_count<float>(N);
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    int got = within(y, x, 1);
    outside(hostcuda_counts_get()->guard, nullptr);
    EXPECT(got != 0 || got == 0);
    cudaFree(x), cudaFree(y);
}

static __attribute__((noinline)) void store(int *p) {
    *p = 1; // wrong guarded_store_to_the_heap: host-access
}
WRONG(guarded_store_to_the_heap) {
    int *p = new int[4];
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    store(p);
}
static __attribute__((noinline)) int load(const int *p) {
    return *p; // wrong guarded_load_of_the_heap: host-access
}
WRONG(guarded_load_of_the_heap) {
    int *p = new int[4]();
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    EXPECT(load(p) == 0);
}
static __attribute__((noinline)) void store_above(int *p) {
    *p = 1; // wrong guarded_store_to_the_callers_stack: host-access
}
WRONG(guarded_store_to_the_callers_stack) {
    int mine[64] = {};
    int *p = mine;
    asm volatile("" : "+r"(p)::"memory");
    auto called = [](int *q) __attribute__((noinline)) {
        outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
        store_above(q);
    };
    called(p);
}
static __attribute__((noinline)) void copy_over(int *p, const int *from) {
    memcpy(p, from, sizeof own); // wrong guarded_memcpy: host-access
}
WRONG(guarded_memcpy) {
    int *p = new int[4];
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    copy_over(p, own);
}
WRONG(guarded_cuda_memcpy) {
    int *p = new int[4];
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    cudaMemcpy(p, own, sizeof own, cudaMemcpyHostToHost); // wrong guarded_cuda_memcpy: host-access
}
WRONG(guarded_cuda_malloc) {
    void **p = new void *[1];
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    cudaMalloc(p, 64); // wrong guarded_cuda_malloc: host-access
}
static __device__ int devices;
static __attribute__((noinline)) int load_variable(const int *p) {
    return *p; // wrong guarded_load_of_a_device_variable: host-access
}
WRONG(guarded_load_of_a_device_variable) {
    void *p;
    EXPECT(cudaGetSymbolAddress(&p, devices) == cudaSuccess);
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    EXPECT(load_variable((const int *)p) == 0);
}

// Where its own frames end are those of whom it calls, and what these return to.
static __attribute__((noinline)) void copy_below(const int *from) {
    int mine[4] = {1};
    int *p = mine;
    asm volatile("" : "+r"(p) : "r"(mine) : "memory");
    for (uintptr_t at = (uintptr_t)(p - 2); at > (uintptr_t)mine - 512; at -= sizeof(void *))
        memcpy((void *)at, from, sizeof *from); // wrong guarded_copy_below_its_frame: host-access
}
WRONG(guarded_copy_below_its_frame) {
    outside(hostcuda_counts_get()->guard, __builtin_frame_address(0));
    copy_below(own);
}
WRONG(copy_past_a_variable) {
    int *p = device_count<int>(4096);
    void *to;
    EXPECT(cudaGetSymbolAddress(&to, devices) == cudaSuccess);
    cudaMemcpy(to, p, 16384, cudaMemcpyDeviceToDevice); // wrong copy_past_a_variable: copy-size
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    cudaFree(p);
}

// What one thread leaves on its stack is nothing to the next.
static __attribute__((noinline)) __device__ void leave(int *found) {
    volatile int local[64];
    volatile int *volatile p = local;
    if (p[7] == 12345) atomicAdd(found, 1);
    p[7] = 12345;
}
static __global__ void leaves(int *found) { leave(found); }
RIGHT(stack_is_no_threads_memory) {
    int *found, n = -1;
    cudaMalloc(&found, sizeof n);
    cudaMemset(found, 0, sizeof n);
    leaves<<<1, 32>>>(found);
    EXPECT(cudaMemcpy(&n, found, sizeof n, cudaMemcpyDeviceToHost) == cudaSuccess && n == 0);
    cudaFree(found);
}

// ---- arrays in wider allocations ----

enum { FENCE = 64 }; // elements on either side of the array

// Threads beside the row read, but store nothing: no value tells.
__global__ void copy_row(float *y, const float *x, int n) {
    int i = threadIdx.x;
    float value = x[i]; // wrong read_into_the_fence: out-of-bounds
    if (i < n) y[i] = value;
}
__global__ void shift_row(float *y, const float *x) {
    int i = threadIdx.x;
    float left = x[i - 1]; // wrong read_before_it: out-of-bounds
    if (i > 0) y[i] = left;
}
// likely read_into_the_fence: right past the end of a buffer: device[30] of 30
// likely read_before_it: 4 bytes before the start of a buffer: device[-1] of 30
static bool confined(const float *array, int n) {
    const hostcuda_array arrays[] = {{array, n * sizeof *array, false}};
    return outside(hostcuda_counts_get()->confine, arrays, 1);
}
static bool none_confined() { return outside(hostcuda_counts_get()->confine, nullptr, 0); }

RIGHT(confined_and_whole_again) {
    float *x = device_count<float>(N), *y = device_count<float>(N);
    float *array = x + FENCE;
    EXPECT(confined(array, 30));
    copy_row<<<1, 30>>>(y, array, 30);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && none_confined());
    copy_row<<<1, 32>>>(y, array, 30); // reads that stay in the allocation
    EXPECT(to_host(y, N)[29] == FENCE + 29);
    EXPECT(to_host(x, N)[N - 1] == N - 1);
    EXPECT(!confined(x + N - 1, 2)); // ends outside of it
    cudaFree(x), cudaFree(y);
}
WRONG(read_into_the_fence) {
    float *x = device_count<float>(N), *y = device_count<float>(N);
    EXPECT(confined(x + FENCE, 30));
    copy_row<<<1, 32>>>(y, x + FENCE, 30);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaDeviceReset();
}
WRONG(read_before_it) {
    float *x = device_count<float>(N), *y = device_count<float>(N);
    EXPECT(confined(x + FENCE, 30));
    shift_row<<<1, 30>>>(y, x + FENCE);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaDeviceReset();
}

// ---- whither code goes ----

#if defined __x86_64__ && !defined __clang__ // who can tell
static __attribute__((noinline)) int one() { return 1; }
static int (*volatile chosen)() = one;
RIGHT(call_of_an_own_function) { EXPECT(chosen() == 1); }
WRONG(call_of_the_c_library) {
    auto end = (int (*)())(void *)&abort;
    chosen = end;
    chosen(); // wrong call_of_the_c_library: foreign-call
}
WRONG(call_into_a_function) {
    chosen = (int (*)())((char *)one + 4);
    chosen(); // wrong call_into_a_function: foreign-call
}

static __attribute__((noinline)) int recursion(int n, volatile int *sum) {
    if (n > 0) recursion(n - 1, sum);
    *sum += n;
    return *sum;
}
RIGHT(recursion_returns) {
    volatile int sum = 0;
    EXPECT(recursion(1000, &sum) == 500500);
}
static __attribute__((noinline)) void leave(volatile long *word, volatile long *sum) {
    for (int i = 0; i < 40; i++) // its own return address is among them
        if (word[i] == (long)__builtin_return_address(0)) word[i] += 1;
    *sum += 1;
}
WRONG(return_to_elsewhere) {
    volatile long sum = 0;
    volatile long *below = (volatile long *)((char *)__builtin_frame_address(0) - 256);
    leave(below, &sum); // wrong return_to_elsewhere: foreign-call
}
#endif
