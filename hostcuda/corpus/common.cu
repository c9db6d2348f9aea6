// common.cu: what many programs have: functors that are inlined, tables in constant memory,
// histograms, loops by hand, atomics of every scope, PTX.
#include "cases.h"

// ---- functors ----

struct neighbours {
    const float *x;
    int shift;
    __device__ __forceinline__ float operator()(int i) const {
        return x[i] + x[i + shift]; // wrong functor_past_end: out-of-bounds
    }
};
template <class F> struct doubled {
    F inner;
    __device__ __forceinline__ float operator()(int i) const { return 2 * inner(i); }
};
template <class F> __global__ void map(float *out, int n, F f) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = f(i);
}
RIGHT(functors_inlined) {
    float *x = device_count<float>(1024), *out = device_count<float>(1024);
    map<<<2, 128>>>(out, 1023, doubled<neighbours>{{x, 1}});
    auto h = to_host(out, 1024);
    for (int i = 0; i < 1023; i++) EXPECT(h[i] == 4 * i + 2);
    cudaFree(x), cudaFree(out);
}
WRONG(functor_past_end) {
    float *x = device_count<float>(1024), *out = device_count<float>(1024);
    map<<<2, 128>>>(out, 1024, doubled<neighbours>{{x, 1}});
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaDeviceReset();
} // likely functor_past_end: device[1024] of 1024

// ---- constant memory ----

__constant__ float fir[5];
__global__ void filtered(float *out, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 5 && i + k < n; k++) sum += fir[k] * x[i + k];
    if (i < n) out[i] = sum;
}
RIGHT(filter_in_constant_memory) {
    float h[5] = {1, 2, 3, 2, 1}, *x = device_count<float>(256), *out = device_count<float>(256);
    EXPECT(cudaMemcpyToSymbol(fir, h, sizeof h) == cudaSuccess);
    filtered<<<2, 128>>>(out, x, 256);
    EXPECT(to_host(out, 256)[10] == 10 + 22 + 36 + 26 + 14);
    cudaFree(x), cudaFree(out);
}

// ---- a histogram in global memory ----

template <bool ATOMIC> __global__ void count_values(int *bins, const int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (ATOMIC)
        atomicAdd(&bins[x[i] % 8], 1);
    else
        bins[x[i] % 8]++; // check histogram_plain: race
}
template <bool ATOMIC> static void count_case() {
    int *x = device_count<int>(64), *bins = device_count<int>(8);
    cudaMemset(bins, 0, 8 * sizeof(int));
    count_values<ATOMIC><<<1, 64>>>(bins, x, 64);
    cudaDeviceSynchronize();
    if (ATOMIC) EXPECT(to_host(bins, 8)[7] == 8);
    cudaFree(x), cudaFree(bins);
}
RIGHT(histogram_atomic) { count_case<true>(); }
RIGHT(histogram_plain) {
    count_case<false>();
    corpus_open();
} // likely histogram_plain: use atomicAdd(&x[i], v)

// Bins of a block in shared memory, added up by plain or atomic additions.
template <bool ATOMIC> __global__ void count_by_blocks(int *bins, const int *x, int n) {
    __shared__ int mine[128];
    for (int i = threadIdx.x; i < 128; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[x[i] % 128], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 128; i += blockDim.x)
        if (ATOMIC)
            atomicAdd(&bins[i], mine[i]);
        else
            bins[i] += mine[i]; // check blocks_plain: race-between-blocks
}
template <bool ATOMIC> static void count_by_blocks_case() {
    int *x = device_count<int>(1024), *bins = device_count<int>(128);
    cudaMemset(bins, 0, 128 * sizeof(int));
    count_by_blocks<ATOMIC><<<4, 64>>>(bins, x, 1024);
    cudaDeviceSynchronize();
    if (ATOMIC) EXPECT(to_host(bins, 128)[127] == 8);
    cudaFree(x), cudaFree(bins);
}
RIGHT(blocks_atomic) { count_by_blocks_case<true>(); }
RIGHT(blocks_plain) {
    count_by_blocks_case<false>();
    corpus_open();
}

// ---- a loop whose counter stands still ----

__global__ void fill_by(float *x, int n, int step) {
    for (int i = threadIdx.x; i < n; i += step) x[i] = 0.5f; // wrong no_step: endless-kernel
}
RIGHT(step) {
    float *x = device_count<float>(64);
    fill_by<<<1, 32>>>(x, 64, 32);
    EXPECT(to_host(x, 64)[63] == 0.5f);
    cudaFree(x);
}
WRONG(no_step) {
    setenv("HOSTCUDA_TIMEOUT", "0.5", 1);
    float *x = device_count<float>(64);
    fill_by<<<1, 32>>>(x, 64, 0);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    cudaDeviceReset();
}
// It only reads: so it waits, as it seems, for another thread to write.
__global__ void first_of_kind(int *out, const volatile int *x, int kind) {
    int i = 0;
    while (x[i] != kind) continue; // wrong no_increment: spin-wait
    *out = i;
}
WRONG(no_increment) {
    setenv("HOSTCUDA_TIMEOUT", "0.5", 1);
    int *x = device_count<int>(64), *out = device_count<int>(1);
    first_of_kind<<<1, 1>>>(out, x, 5);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
    cudaDeviceReset();
} // likely no_increment: is an i++ missing?

// ---- atomics of every scope ----

template <class T> __global__ void in_every_scope(T *out) {
    T i = (T)threadIdx.x;
    atomicAdd(out, i), atomicAdd_block(out + 1, i), atomicAdd_system(out + 2, i);
    atomicMax(out + 3, i), atomicMax_block(out + 4, i), atomicMax_system(out + 5, i);
    atomicCAS_system(out + 6, (T)0, (T)7);
    atomicExch_system(out + 7, (T)9);
}
template <class T> static void scopes_case() {
    T *out = device_count<T>(8);
    cudaMemset(out, 0, 8 * sizeof(T));
    in_every_scope<<<1, 64>>>(out);
    auto h = to_host(out, 8);
    for (int i = 0; i < 3; i++) EXPECT(h[i] == 63 * 32 && h[3 + i] == 63);
    EXPECT(h[6] == 7 && h[7] == 9);
    cudaFree(out);
}
RIGHT(atomics_of_int) { scopes_case<int>(); }
RIGHT(atomics_of_long) { scopes_case<unsigned long long>(); }
// What the host wrote before a launch, atomics of the system's scope add to.
__global__ void add_for_the_host(int *total) { atomicAdd_system(total, 1); }
RIGHT(atomics_on_pinned_memory) {
    int *total;
    EXPECT(cudaMallocHost(&total, sizeof *total) == cudaSuccess);
    *total = 36;
    add_for_the_host<<<2, 32>>>(total);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && *total == 100);
    cudaFreeHost(total);
}

// ---- PTX of numbers and bits (syntax.cu has that of lanes and shifts) ----

__global__ void more_ptx(float *y, unsigned *out, const float *x) {
    unsigned i = threadIdx.x, r, tid, size;
    float a = x[i] + 1, b;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y[i]) : "f"(a));
    asm("lg2.approx.f32 %0, %1;" : "=f"(b) : "f"(a));
    y[8 + i] = b;
    asm("rcp.approx.f32 %0, %1;" : "=f"(y[16 + i]) : "f"(a));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y[24 + i]) : "f"(a * a));
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(y[32 + i]) : "f"(a * a));
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(tid));
    asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(size));
    asm("add.u32 %0, %1, %2;" : "=r"(out[i]) : "r"(tid), "r"(size));
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(out[8 + i]) : "r"(i << 30), "r"(8u));
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(out[16 + i]) : "r"(i), "r"(i), "r"(3u));
    asm("brev.b32 %0, %1;" : "=r"(r) : "r"(i));
    asm("popc.b32 %0, %1;" : "=r"(out[24 + i]) : "r"(r));
    asm("clz.b32 %0, %1;" : "=r"(out[32 + i]) : "r"(r));
}
RIGHT(ptx_of_numbers) {
    float *x = device_count<float>(8), *y = device_count<float>(40);
    unsigned *out = device_count<unsigned>(40);
    more_ptx<<<1, 8>>>(y, out, x);
    auto h = to_host(y, 40, [](int i) { return i < 8 ? 1e-3 : 1e-5; });
    auto u = to_host(out, 40);
    for (int i = 0; i < 8; i++) {
        float a = (float)i + 1;
        EXPECT(fabsf(h[i] - exp2f(a)) <= 1e-3f && fabsf(h[8 + i] - log2f(a)) <= 1e-5f);
        EXPECT(fabsf(h[16 + i] - 1 / a) <= 1e-5f && fabsf(h[24 + i] - a) <= 1e-5f);
        EXPECT(fabsf(h[32 + i] - 1 / a) <= 1e-5f);
        EXPECT(u[i] == i + 8u && u[8 + i] == 2u * (i % 4) && u[16 + i] == i * i + 3u);
        EXPECT(u[24 + i] == (unsigned)__builtin_popcount(i));
        EXPECT(u[32 + i] == (i ? (unsigned)__builtin_ctz(i) : 32u));
    }
    cudaFree(x), cudaFree(y), cudaFree(out);
}
