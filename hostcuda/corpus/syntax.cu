// syntax.cu: what the rewriter must leave alone or turn right; all are right kernels.
#include "cases.h"

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
