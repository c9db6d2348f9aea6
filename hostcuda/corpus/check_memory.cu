// check_memory.cu: bytes that nothing wrote, exact bounds, host memory by a detour. CHECK=1 alone
// names them.
#include "cases.h"

__global__ void twice(int *out, const int *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i]; // wrong never_written: uninitialised
}
WRONG(never_written) {
    int *in, *out = device_count<int>(64);
    cudaMalloc(&in, 64 * sizeof *in);
    twice<<<1, 64>>>(out, in, 64);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
// Of what comes to the host, nothing was written: the kernel got the wrong buffer.
WRONG(copied_before_written) {
    int *a = device_count<int>(64), *b, *c, h[64];
    cudaMalloc(&b, 64 * sizeof *b);
    cudaMalloc(&c, 64 * sizeof *c);
    twice<<<1, 64>>>(c, a, 64);
    auto kind = cudaMemcpyDeviceToHost;
    cudaMemcpy(h, b, sizeof h, kind); // wrong copied_before_written: uninitialised
    cudaFree(a), cudaFree(b), cudaFree(c);
}
RIGHT(copied_with_a_hole) {
    int *a = device_count<int>(64), *b, h[64];
    cudaMalloc(&b, 64 * sizeof *b);
    twice<<<1, 32>>>(b, a, 64);
    cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
    EXPECT(h[31] == 62);
    cudaFree(a), cudaFree(b);
}
RIGHT(set_by_memset) {
    int *in, *out = device_count<int>(64);
    cudaMalloc(&in, 64 * sizeof *in);
    cudaMemset(in, 1, 64 * sizeof *in);
    twice<<<1, 64>>>(out, in, 64);
    EXPECT(to_host(out, 64)[63] == 0x02020202);
    cudaFree(in);
    cudaFree(out);
}
RIGHT(set_by_a_kernel) {
    int *a = device_count<int>(64), *b, *c;
    cudaMalloc(&b, 64 * sizeof *b);
    cudaMalloc(&c, 64 * sizeof *c);
    twice<<<1, 64>>>(b, a, 64);
    twice<<<1, 64>>>(c, b, 64);
    EXPECT(to_host(c, 64)[63] == 252);
    cudaFree(a), cudaFree(b), cudaFree(c);
}

__global__ void sum_of(float *out, const float *x, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i]; // wrong last_element_unset: uninitialised
    *out = sum;
}
WRONG(last_element_unset) {
    float *x, *out = device_count<float>(1);
    cudaMalloc(&x, 100 * sizeof *x);
    cudaMemset(x, 0, 100 * sizeof *x - 1);
    sum_of<<<1, 1>>>(out, x, 100);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// A copy within the device copies no more than was there.
__global__ void first_of(int *out, const int *x, int i) {
    *out = x[i]; // wrong copied_hole: uninitialised
}
WRONG(copied_hole) {
    int *a, *b, *out = device_count<int>(1);
    cudaMalloc(&a, 64 * sizeof *a);
    cudaMalloc(&b, 64 * sizeof *b);
    cudaMemset(a, 0, 32 * sizeof *a);
    cudaMemcpy(b, a, 64 * sizeof *a, cudaMemcpyDeviceToDevice);
    first_of<<<1, 1>>>(out, b, 32);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(copied_part) {
    int *a, *b, *out = device_count<int>(1);
    cudaMalloc(&a, 64 * sizeof *a);
    cudaMalloc(&b, 64 * sizeof *b);
    cudaMemset(a, 0, 32 * sizeof *a);
    cudaMemcpy(b, a, 64 * sizeof *a, cudaMemcpyDeviceToDevice);
    first_of<<<1, 1>>>(out, b, 31);
    EXPECT(to_host(out, 1)[0] == 0);
    cudaFree(a), cudaFree(b), cudaFree(out);
}
__global__ void pad_row(float *out, const float *x, int n) {
    __shared__ float row[66];
    int i = threadIdx.x;
    row[i + 1] = x[i];
    __syncthreads();
    out[i] = row[i] + row[i + 1] + row[i + 2]; // wrong border_unset: uninitialised
    if (n < 0) row[0] = 0;
}
WRONG(border_unset) {
    float *x = device_count<float>(64), *out = device_count<float>(64);
    pad_row<<<1, 64>>>(out, x, 64);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void pad_row_whole(float *out, const float *x) {
    __shared__ float row[66];
    int i = threadIdx.x;
    row[i + 1] = x[i];
    if (i < 2) row[i * 65] = 0;
    __syncthreads();
    out[i] = row[i] + row[i + 1] + row[i + 2];
}
RIGHT(border_set) {
    float *x = device_count<float>(64), *out = device_count<float>(64);
    pad_row_whole<<<4, 64>>>(out, x);
    EXPECT(to_host(out, 64)[63] == 125);
    cudaFree(x), cudaFree(out);
}
__global__ void dynamic_sum(float *out, const float *x) {
    extern __shared__ float s[];
    int i = threadIdx.x;
    if (i % 2) s[i] = x[i];
    __syncthreads();
    if (i == 0) *out = s[1] + s[2]; // wrong dynamic_unset: uninitialised
}
WRONG(dynamic_unset) {
    float *x = device_count<float>(64), *out = device_count<float>(1);
    dynamic_sum<<<1, 64, 64 * sizeof *x>>>(out, x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
// What the block before left in shared memory is not there for the next.
__global__ void once_per_grid(int *out) {
    __shared__ int table[32];
    if ((int)blockIdx.x == out[0]) table[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[1 + blockIdx.x * 32 + threadIdx.x] =
        table[threadIdx.x]; // wrong other_blocks_table: uninitialised
}
WRONG(other_blocks_table) {
    int *out = device_count<int>(1 + 8 * 32);
    once_per_grid<<<8, 32>>>(out);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// ---- exact bounds ----

__global__ void next_byte(char *out, const char *x, int n) {
    *out = x[n]; // wrong one_byte_past: out-of-bounds
}
WRONG(one_byte_past) {
    char *x = device_count<char>(1001), *out = device_count<char>(1);
    next_byte<<<1, 1>>>(out, x, 1001);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(byte_before_the_end) {
    char *x = device_count<char>(1001), *out = device_count<char>(1);
    next_byte<<<1, 1>>>(out, x, 1000);
    EXPECT(to_host(out, 1)[0] == (char)1000);
    cudaFree(x), cudaFree(out);
}
__global__ void fifteen_floats(float *out, const float4 *x) {
    float4 v = x[threadIdx.x]; // wrong half_a_vector: out-of-bounds
    out[threadIdx.x] = v.x + v.w;
}
WRONG(half_a_vector) {
    float *x = device_count<float>(15), *out = device_count<float>(4);
    fifteen_floats<<<1, 4>>>(out, (float4 *)x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(whole_vectors) {
    float *x = device_count<float>(16), *out = device_count<float>(4);
    fifteen_floats<<<1, 4>>>(out, (float4 *)x);
    EXPECT(to_host(out, 4)[3] == 27);
    cudaFree(x), cudaFree(out);
}
__global__ void far_write(float *x, int i) { x[i] = 1; } // wrong before_the_start: out-of-bounds
WRONG(before_the_start) {
    float *x = device_count<float>(16);
    far_write<<<1, 1>>>(x, -1);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void two_tiles(int *out, int i) {
    __shared__ int a[32], b[32];
    a[threadIdx.x] = b[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x + i] + b[threadIdx.x]; // wrong tile_read_past: out-of-bounds
}
WRONG(tile_read_past) {
    int *out = device_count<int>(32);
    two_tiles<<<1, 32>>>(out, 1);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__shared__ int file_tile[64];
__global__ void past_the_file_scope(int *out, int by) {
    file_tile[threadIdx.x + by] = 1; // wrong file_scope_overrun: out-of-bounds
    __syncthreads();
    out[threadIdx.x] = file_tile[threadIdx.x];
}
WRONG(file_scope_overrun) {
    int *out = device_count<int>(64);
    past_the_file_scope<<<1, 64>>>(out, 1);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(tiles_side_by_side) {
    int *out = device_count<int>(32);
    two_tiles<<<1, 32>>>(out, 0);
    EXPECT(to_host(out, 32)[31] == 62);
    cudaFree(out);
}
struct pixel {
    unsigned char r, g, b;
};
__global__ void copy_pixels(pixel *out, const pixel *in, int n) {
    int i = threadIdx.x;
    if (i <= n) out[i] = in[i]; // wrong struct_past_end: out-of-bounds
}
WRONG(struct_past_end) {
    unsigned char *x = device_count<unsigned char>(30), *y = device_count<unsigned char>(33);
    copy_pixels<<<1, 11>>>((pixel *)y, (pixel *)x, 10);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(structs_by_their_bytes) {
    unsigned char *x = device_count<unsigned char>(30), *y = device_count<unsigned char>(33);
    copy_pixels<<<1, 10>>>((pixel *)y, (pixel *)x, 10);
    EXPECT(to_host(y, 30)[29] == 29);
    cudaFree(x), cudaFree(y);
}

struct pair {
    double first, second;
};
__device__ __noinline__ double total(pair p) { return p.first + p.second; }
__device__ __noinline__ pair twice(double x) { return {x, x}; }
__global__ void totals(double *out, const pair *in, int n) {
    int i = threadIdx.x;
    if (i <= n) out[i] = total(in[i]); // wrong struct_argument_past: out-of-bounds
}
__global__ void pairs(pair *out, const double *in, int n) {
    int i = threadIdx.x;
    if (i <= n) out[i] = twice(in[i]); // wrong struct_result_past: out-of-bounds
}
WRONG(struct_argument_past) {
    double *x = device_count<double>(20), *y = device_count<double>(11);
    totals<<<1, 11>>>(y, (pair *)x, 10);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
WRONG(struct_result_past) {
    double *x = device_count<double>(11), *y = device_count<double>(20);
    pairs<<<1, 11>>>((pair *)y, x, 10);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(structs_of_16_bytes_at_8) {
    double *x = device_count<double>(21), *y = device_count<double>(21), *z;
    cudaMalloc(&z, 11 * sizeof *z);
    totals<<<1, 10>>>(z, (pair *)(x + 1), 10);
    pairs<<<1, 10>>>((pair *)(y + 1), z, 10);
    EXPECT(to_host(z, 10)[9] == 39 && to_host(y, 21)[20] == 39);
    cudaFree(x), cudaFree(y), cudaFree(z);
}

// ---- memcpy and memset in a kernel ----

__global__ void copy_rows(char *to, const char *from, int bytes) {
    int at = threadIdx.x * 10;
    memcpy(to + at, from + at, bytes); // wrong memcpy_past: out-of-bounds
}
WRONG(memcpy_past) {
    char *x = device_count<char>(100), *y = device_count<char>(200);
    copy_rows<<<1, 10>>>(y, x, 11);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(memcpy_in_bounds) {
    char *x = device_count<char>(100), *y = device_count<char>(200);
    copy_rows<<<1, 10>>>(y, x, 10);
    EXPECT(to_host(y, 200)[99] == 99);
    cudaFree(x), cudaFree(y);
}
struct block_of_64 {
    int v[16];
};
__global__ void clear(block_of_64 *x) {
    memset(x + threadIdx.x, 0, sizeof *x); // wrong memset_past: out-of-bounds
}
WRONG(memset_past) {
    int *x = device_count<int>(60);
    clear<<<1, 4>>>((block_of_64 *)x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void move_struct(block_of_64 *x) {
    x[0] = x[1]; // wrong struct_of_freed: use-after-free
}
WRONG(struct_of_freed) {
    int *x = device_count<int>(64);
    cudaFree(x);
    move_struct<<<1, 1>>>((block_of_64 *)x);
    cudaDeviceSynchronize();
}

// ---- host memory by a detour ----

struct view {
    float *data;
    int n;
};
__global__ void fill_view(view v) {
    if ((int)threadIdx.x < v.n) v.data[threadIdx.x] = 1; // wrong pointer_in_struct: host-pointer
}
WRONG(pointer_in_struct) {
    std::vector<float> host(32);
    fill_view<<<1, 32>>>(view{host.data(), 32});
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}
RIGHT(device_pointer_in_struct) {
    float *x = device_count<float>(32);
    fill_view<<<1, 32>>>(view{x, 32});
    EXPECT(to_host(x, 32)[31] == 1);
    cudaFree(x);
}
__global__ void sum_rows(float *out, float **rows, int n) {
    for (int i = 0; i < n; i++) out[i] = rows[i][0]; // wrong table_of_host_rows: host-pointer
}
WRONG(table_of_host_rows) {
    std::vector<float> a(4), b(4);
    float *rows[2] = {a.data(), b.data()}, **device, *out = device_count<float>(2);
    cudaMalloc(&device, sizeof rows);
    cudaMemcpy(device, rows, sizeof rows, cudaMemcpyHostToDevice);
    sum_rows<<<1, 1>>>(out, device, 2);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
RIGHT(table_of_device_rows) {
    float *a = device_count<float>(4), *b = device_count<float>(4), *rows[2] = {a, b + 1};
    float **device, *out = device_count<float>(2);
    cudaMalloc(&device, sizeof rows);
    cudaMemcpy(device, rows, sizeof rows, cudaMemcpyHostToDevice);
    sum_rows<<<1, 1>>>(out, device, 2);
    EXPECT(to_host(out, 2)[1] == 1);
    cudaFree(a), cudaFree(b), cudaFree(device), cudaFree(out);
}
__constant__ float weights[4];
__global__ void use_locals(float *out, const int *index) {
    static constexpr int order[4] = {3, 1, 2, 0};
    float local[4];
    for (int i = 0; i < 4; i++) local[order[i]] = weights[i];
    out[threadIdx.x] = local[index[threadIdx.x] % 4];
}
__global__ void weigh(float *x, int n) {
    for (int i = 0; i < n; i++) x[i] *= weights[i]; // wrong weights_past_end: out-of-bounds
}
WRONG(weights_past_end) {
    float *x = device_count<float>(8);
    weigh<<<1, 1>>>(x, 5);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaDeviceReset();
}
RIGHT(locals_and_constants) {
    float w[4] = {1, 2, 3, 4}, *out = device_count<float>(8);
    int *index = device_count<int>(8);
    cudaMemcpyToSymbol(weights, w, sizeof w);
    use_locals<<<1, 8>>>(out, index);
    EXPECT(to_host(out, 8)[4] == 4);
    cudaFree(out), cudaFree(index);
}
__global__ void share_a_local(int *out) {
    __shared__ int *pointer;
    int local = threadIdx.x;
    if (threadIdx.x == 3) pointer = &local;
    __syncthreads();
    out[threadIdx.x] = *pointer; // wrong anothers_local: foreign-local
    __syncthreads();
    out[threadIdx.x] += local;
}
WRONG(anothers_local) {
    int *out = device_count<int>(32);
    share_a_local<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
__global__ void pairs(float2 *out, const float *x) {
    out[threadIdx.x] = *(const float2 *)(x + threadIdx.x); // wrong odd_pair: misaligned-address
}
WRONG(odd_pair) {
    float *x = device_count<float>(64), *out = device_count<float>(64);
    pairs<<<1, 32>>>((float2 *)out, x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

// A class with virtual functions, made in the kernel: its table of functions is a constant.
struct shape {
    float side;
    __device__ virtual float area() const { return side; }
};
struct square : shape {
    __device__ float area() const override { return side * side; }
};
__global__ void areas(float *out) {
    square s;
    s.side = threadIdx.x;
    const shape *p = &s;
    out[threadIdx.x] = p->area();
}
RIGHT(virtual_functions) {
    float *out = device_count<float>(32);
    areas<<<1, 32>>>(out);
    EXPECT(to_host(out, 32)[5] == 25);
    cudaFree(out);
}
// likely tile_read_past: ] of 32
