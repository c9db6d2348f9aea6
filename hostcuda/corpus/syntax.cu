// syntax.cu: what the rewriter must leave alone or turn right; all are right kernels.
#include "cases.h"

#include <memory>

// k<<<1, 1>>>(x) in a comment
static const char *text = "k<<<1, 2>>>(x)", *raw = R"x(k<<<"1)x";
#define LAUNCH(kernel, grid, block, ...) \
    kernel<<<grid, \
             block>>>(__VA_ARGS__)

namespace outer {
namespace inner {
template <typename T, int N> __global__ void store(T *x, T value) {
    __shared__ T tile[N][N + 1], *unused;
    tile[0][threadIdx.x] = value;
    unused = x;
    __syncthreads();
    unused[threadIdx.x] = tile[0][threadIdx.x];
}
} // namespace inner
} // namespace outer

template <class T> __global__ void __launch_bounds__(64) axpy(T a, T *y, const T *__restrict__ x) {
    y[threadIdx.x] += a * x[threadIdx.x];
}
template <class A, class B> struct pair {
    A a;
    B b;
};
template <class T> __global__ void take(T value, int *x) { x[0] = value.a.b; }
static __global__ void plain(int *x, int n) { x[0] = n; }
__global__ void overloaded(int *x) { x[0] = 1; }
__global__ void overloaded(int *x, int n) { x[0] = n; }

extern __shared__ float pool[];
__device__ float from_pool(int i) { return pool[i]; }
__global__ void file_scope(float *x) {
    int *same = (int *)pool;
    pool[threadIdx.x] = threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = from_pool(blockDim.x - 1 - threadIdx.x) + (same[0] == 0);
}
__global__ void aggregates(int *x) {
    __shared__ struct { int a; float b; } one;
    __shared__ __align__(32) union { int i[4]; float f[4]; } two;
    __shared__ volatile int three;
    if (threadIdx.x == 0) one.a = 1, two.i[3] = 2, three = 4;
    __syncthreads();
    x[threadIdx.x] = one.a + two.i[3] + three + (((size_t)&two) % 32 != 0);
}

RIGHT(launch_forms) {
    int *x = device_count<int>(64);
    float *f = device_count<float>(64), *g = device_count<float>(64);
    outer::inner::store<int, (4 > 3) ? 64 : 1><<<dim3(1, 1),
        64>>>(x, 3);
    ::outer::inner::store<float, 64><<<1, 64, sizeof(int) * 4, 0>>>(f, 7);
    axpy<<<1, 64>>>(2.0f, g, f);
    axpy<float><<<1, 64>>>(1, g, f);
    EXPECT(to_host(x, 64)[63] == 3 && to_host(g, 64)[63] == 63 + 14 + 7);
    LAUNCH(plain, 1, 1, x, 5);
    EXPECT(to_host(x, 1)[0] == 5);
    (plain)<<<1, 1>>>(x, 6);
    EXPECT(to_host(x, 1)[0] == 6);
    void (*table[2])(int *, int) = {plain, plain};
    if (x) table[1]<<<1, 1>>>(x, 8); else plain<<<1, 1>>>(x, 9);
    EXPECT(to_host(x, 1)[0] == 8);
    overloaded<<<1, 1>>>(x, 10);
    EXPECT(to_host(x, 1)[0] == 10 && text[1] == '<' && raw[1] == '<' && (1 << 2 >> 1) == 2);
    pair<int, pair<int, int>> p = {1, {2, 3}};
    pair<pair<int, int>, int> q = {{2, 11}, 3};
    take<pair<pair<int, int>, int>><<<1, 1>>>(q, x);
    EXPECT(to_host(x, 1)[0] == 11 && p.b.b == 3);
    cudaFree(x);
    cudaFree(f);
    cudaFree(g);
}
// The function that launches often has the kernel's name; a template beside it, and a declaration.
static void doubled(int *x, int n);
__global__ void doubled(int *x, int n, int from) { x[from + threadIdx.x % n] *= 2; }
static void doubled(int *x, int n) { doubled<<<1, n>>>(x, n, 0); }
template <class T> __global__ void raised(T *x, T by) { x[threadIdx.x] += by; }
template <class T> static void raised(T *x, int n, T by) { raised<T><<<1, n>>>(x, by); }
RIGHT(host_function_of_equal_name) {
    int *x = device_count<int>(32);
    doubled(x, 32);
    raised(x, 32, 1);
    EXPECT(to_host(x, 32)[31] == 63);
    doubled<<<1, 1>>>(x, 1, 31);
    EXPECT(to_host(x, 32)[31] == 126);
    cudaFree(x);
}
RIGHT(shared_forms) {
    float *f = device_count<float>(64);
    int *x = device_count<int>(64);
    file_scope<<<1, 64, 64 * sizeof(float)>>>(f);
    aggregates<<<3, 64>>>(x);
    EXPECT(to_host(f, 64)[0] == 64 && to_host(x, 64)[63] == 7);
    cudaFree(f);
    cudaFree(x);
}

// The type before the qualifier.
__global__ void turned_round(int *x) {
    extern int __shared__ whole[];
    unsigned int __shared__ few[4];
    int i = threadIdx.x;
    whole[i] = x[i];
    if (i < 4) few[i] = (unsigned)i;
    __syncthreads();
    x[i] = whole[31 - i] + (int)few[i % 4];
}
RIGHT(type_before_shared) {
    int *x = device_count<int>(32);
    turned_round<<<1, 32, 32 * sizeof(int)>>>(x);
    auto h = to_host(x, 32);
    for (int i = 0; i < 32; i++) EXPECT(h[i] == 31 - i + i % 4);
    cudaFree(x);
}

// An array at file scope, one of several dimensions, and dynamic memory by rows.
__shared__ float two_rows[2][64];
__shared__ int one_row[64];
extern __shared__ short dynamic_rows[][64];
__global__ void through_the_file(float *out) {
    int i = threadIdx.x;
    two_rows[i % 2][i] = i;
    one_row[i] = 2 * i;
    dynamic_rows[1][i] = (short)(3 * i);
    __syncthreads();
    out[i] = two_rows[(63 - i) % 2][63 - i] + one_row[63 - i] + dynamic_rows[1][63 - i];
}
__global__ void by_rows(int *out) {
    extern __shared__ int rows[][32 + 1];
    int i = threadIdx.x;
    for (int k = 0; k < 32; k++) rows[k][i] = 32 * k + i;
    __syncthreads();
    for (int k = 0; k < 32; k++) out[32 * k + i] = rows[i][k];
}
RIGHT(shared_by_rows) {
    float *out = device_count<float>(64);
    through_the_file<<<1, 64, 2 * 64 * sizeof(short)>>>(out);
    auto h = to_host(out, 64);
    for (int i = 0; i < 64; i++) EXPECT(h[i] == 6 * (63 - i));
    int *turned = device_count<int>(1024);
    by_rows<<<1, 32, 32 * 33 * sizeof(int)>>>(turned);
    auto t = to_host(turned, 1024);
    for (int i = 0; i < 1024; i++) EXPECT(t[i] == 32 * (i % 32) + i / 32);
    cudaFree(out), cudaFree(turned);
}

// An asm() of one PTX instruction.
__global__ void by_ptx(unsigned *out, const unsigned *x, const float *f) {
    unsigned i = threadIdx.x, lane, below, a = x[i], b = x[63 - i], result;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    out[i] = lane + 100 * __popc(below);
    asm("lop3.b32 %0, %1, %2, %3, 0x96;\n\t" : "=r"(result) : "r"(a), "r"(b), "r"(lane));
    out[64 + i] = result;
    asm("bfind.u32 %0, %1;" : "=r"(out[128 + i]) : "r"(a) : "memory");
    asm("bfe.u32 %0, %1, 2, 3;" : "=r"(result) : "r"(a));
    out[192 + i] = result;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(0x80000000u), "r"(a), "r"(1));
    out[256 + i] = result;
    float sum = f[i];
    asm("fma.rn.f32 %0, %1, %1, %0;" : "+f"(sum) : "f"(f[63 - i]));
    asm("prmt.b32 %0, %1, %2, 0x0123;" : "=r"(result) : "r"((unsigned)sum), "r"(0));
    out[320 + i] = result;
}
RIGHT(inline_ptx) {
    unsigned *x = device_count<unsigned>(64), *out = device_count<unsigned>(384);
    float *f = device_count<float>(64);
    by_ptx<<<1, 64>>>(out, x, f);
    auto h = to_host(out, 384);
    for (unsigned i = 0; i < 64; i++) {
        unsigned sum = i + (63 - i) * (63 - i), highest = 0;
        for (unsigned bit = 0; bit < 6; bit++)
            if (i >> bit & 1) highest = bit;
        EXPECT(h[i] == i % 32 * 101);
        EXPECT(h[64 + i] == (i ^ (63 - i) ^ i % 32));
        EXPECT(h[128 + i] == (i ? highest : ~0u));
        EXPECT(h[192 + i] == (i >> 2 & 7) && h[256 + i] == 2 * i + 1);
        EXPECT(h[320 + i] == __builtin_bswap32(sum));
    }
    cudaFree(x), cudaFree(out), cudaFree(f);
}

// The C++ library writes __attribute__((__noinline__)) in headers such as <memory>.
__noinline__ __device__ int apart_from(int x) { return x + 1; }
__global__ void calls_apart(int *x) { x[threadIdx.x] = apart_from(x[threadIdx.x]); }
RIGHT(noinline_beside_the_library) {
    auto n = std::make_shared<int>(32);
    int *x = device_count<int>(*n);
    calls_apart<<<1, *n>>>(x);
    EXPECT(to_host(x, *n)[31] == 32);
    cudaFree(x);
}

// clock() in a kernel is the device's, not the C library's.
__global__ void two_clocks(int *ordered) {
    long long before = clock64(), between = (long long)clock(), after = clock64();
    *ordered = before <= between && between <= after;
}
RIGHT(clock_of_the_device) {
    int *ordered = device_count<int>(1);
    two_clocks<<<1, 1>>>(ordered);
    EXPECT_HERE(to_host(ordered, 1)[0] == 1);
    EXPECT(clock() < 1000 * CLOCKS_PER_SEC);
    cudaFree(ordered);
}
