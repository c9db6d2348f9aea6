// lockstep.cuh: kernels in which the lanes of a warp part and meet again, and access memory in
// every way that a course shows. What hostcuda counts of them is held against a GPU's counters.
#ifndef HOSTCUDA_LOCKSTEP_CUH
#define HOSTCUDA_LOCKSTEP_CUH

#include <cuda_runtime.h>

static __device__ int global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- strides, vectors, parts of a warp ----

static __global__ void copy_apart(float *y, const float *x, int n, int stride, int offset) {
    int i = global_thread();
    if (i < n) y[i] = x[i * stride + offset];
}

static __global__ void copy_vectors(float4 *y, const float4 *x, int n) {
    int i = global_thread();
    if (i < n) y[i] = x[i];
}

static __global__ void turn_bytes(unsigned char *y, const unsigned char *x, int n) {
    int i = global_thread();
    if (i >= n) return;
    y[n - 1 - i] = x[i];
}

static __global__ void transpose_plainly(float *y, const float *x, int rows, int cols) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < cols) y[j * rows + i] = x[i * cols + j];
}

// ---- products ----

static __global__ void multiply_plainly(float *c, const float *a, const float *b, int m, int n,
                                        int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}

static __global__ void multiply_tiles(float *c, const float *a, const float *b, int m, int n,
                                      int k) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
    float sum = 0;
    for (int l = 0; l < k; l += 16) {
        as[y][x] = i < m && l + x < k ? a[i * k + l + x] : 0;
        bs[y][x] = l + y < k && j < n ? b[(l + y) * n + j] : 0;
        __syncthreads();
        for (int t = 0; t < 16; t++) sum += as[y][t] * bs[t][x];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = sum;
}

// ---- branches ----

static __global__ void even_and_odd(float *y, const float *x, int n) {
    int i = global_thread();
    if (i >= n) return;
    if (i % 2)
        y[i] = x[i] + 1;
    else
        y[i] = x[n - 1 - i] * 2;
}

// One of the neighbours, or none at the border.
static __global__ void smooth(float *y, const float *x, int n) {
    int i = global_thread();
    if (i >= n) return;
    float sum = x[i];
    int count = 1;
    if (i > 0 && x[i - 1] < x[i]) sum += x[i - 1], count++;
    if (i < n - 1 && x[i + 1] < x[i]) sum += x[i + 1], count++;
    y[i] = sum / count;
}

static __global__ void one_of_four(float *y, const float *a, const float *b, const int *kind,
                                   int n) {
    int i = global_thread();
    if (i >= n) return;
    float v = 0;
    switch (kind[i]) {
    case 0:
        v = a[i];
        break;
    case 1:
        v = b[i];
        break;
    case 2:
        v = a[i] * b[i];
        break;
    default:
        v = a[n - 1 - i];
    }
    y[i] = v;
}

static __global__ void either_or(float *y, const float *a, const float *b, int n) {
    int i = global_thread();
    if (i >= n) return;
    if (a[i] > 5 || b[i] > 5) y[i] = a[n - 1 - i];
    y[i + n] = b[i];
}

static __device__ __noinline__ float at(const float *x, int i, int n) { return i < n ? x[i] : 0; }

static __global__ void calls(float *y, const float *a, const float *b, int n) {
    int i = global_thread();
    float sum = 0;
    for (int j = 0; j < 3; j++) {
        if ((i + j) % 3 == 0) sum += at(a, i + j, n);
        sum += at(b, i * 2 + j, n);
    }
    if (i < n) y[i] = sum;
}

// ---- loops ----

static __global__ void triangle(float *y, const float *x, int n) {
    int i = global_thread();
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j <= i; j++) sum += x[i * n + j];
    y[i] = sum;
}

// A matrix of which each row keeps its own number of elements (CSR).
static __global__ void sparse_product(float *y, const int *row, const int *col, const float *value,
                                      const float *x, int n) {
    int i = global_thread();
    if (i >= n) return;
    float sum = 0;
    for (int e = row[i]; e < row[i + 1]; e++) sum += value[e] * x[col[e]];
    y[i] = sum;
}

static __global__ void sum_of_some(float *y, const float *x, int rows, int n) {
    int i = global_thread();
    if (i >= n) return;
    float sum = 0;
    int j = -1;
    while (++j < rows) {
        float v = x[j * n + i];
        if (v < 2) continue;
        if (v > 9) break;
        sum += v * x[j * n + (i + 1) % n];
    }
    y[i] = sum;
}

static __global__ void window_without_border(float *y, const float *x, int h, int w) {
    int t = global_thread();
    if (t >= h * w) return;
    float sum = 0;
    for (int r = -1; r <= 1; r++) {
        for (int s = -1; s <= 1; s++) {
            int i = t / w + r, j = t % w + s;
            if (i < 0 || i >= h || j < 0 || j >= w) continue;
            sum += x[i * w + j];
        }
    }
    y[t] = sum;
}

static __global__ void first_above(int *y, const float *x, const float *limit, int rows, int n) {
    int i = global_thread();
    if (i >= n) return;
    for (int j = 0; j < rows; j++) {
        if (x[j * n + i] > limit[i]) {
            y[i] = j;
            break;
        }
    }
    y[i + n] = rows;
}

static __global__ void bisect(int *y, const float *sorted, const float *x, int rows, int n) {
    int i = global_thread();
    if (i >= n) return;
    int low = 0, high = rows;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < x[i])
            low = middle + 1;
        else
            high = middle;
    }
    y[i] = low;
}

static __global__ void collatz(int *y, const int *x, int n) {
    for (int i = global_thread(); i < n; i += gridDim.x * blockDim.x) {
        int steps = 0;
        for (int v = x[i]; v != 1; steps++) v = v % 2 ? 3 * v + 1 : v / 2;
        y[i] = steps;
    }
}

#endif
