// narrow.cu: half precision and bfloat16: conversions, operators, intrinsics, pairs, atomics.
#include "cases.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T> static T *device_copy(const std::vector<T> &host) {
    T *device = nullptr;
    EXPECT(cudaMalloc(&device, host.size() * sizeof(T)) == cudaSuccess);
    cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    return device;
}

// Ties go to even, both ways; the largest, what rounds to it and past it; subnormals; NaN.
__global__ void round_all(unsigned short *h, unsigned short *b, float *back, const float *x,
                          int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    h[2 * i] = __half_as_ushort(__float2half(x[i]));
    h[2 * i + 1] = __half_as_ushort(__float2half_rz(x[i]));
    b[i] = __bfloat16_as_ushort(__float2bfloat16(x[i]));
    back[i] = __half2float(__float2half_rn(x[i]));
}
RIGHT(narrow_rounding) {
    const std::vector<float> x = {
        1.0f,     1.0f + 0x1p-11f, 1.0f + 0x3p-11f, -2.5f,          65504.0f,     65519.0f,
        65520.0f, -1e30f,          0x1p-24f,        0x1p-25f,       0x1.8p-25f,   0x1.ffcp-15f,
        -0.0f,    INFINITY,        1.0f + 0x1p-8f,  1.0f + 0x3p-8f, 0x1.fffffep0f};
    int n = (int)x.size();
    float *in = device_copy(x), *back = device_count<float>(n);
    auto *h = device_count<unsigned short>(2 * n), *b = device_count<unsigned short>(n);
    round_all<<<1, 32>>>(h, b, back, in, n);
    const unsigned short half_near[] = {0x3c00, 0x3c00, 0x3c02, 0xc100, 0x7bff, 0x7bff,
                                        0x7c00, 0xfc00, 0x0001, 0x0000, 0x0001, 0x0400,
                                        0x8000, 0x7c00, 0x3c04, 0x3c0c, 0x4000};
    const unsigned short half_zero[] = {0x3c00, 0x3c00, 0x3c01, 0xc100, 0x7bff, 0x7bff,
                                        0x7bff, 0xfbff, 0x0001, 0x0000, 0x0000, 0x03ff,
                                        0x8000, 0x7c00, 0x3c04, 0x3c0c, 0x3fff};
    const unsigned short brain[] = {0x3f80, 0x3f80, 0x3f80, 0xc020, 0x4780, 0x4780,
                                    0x4780, 0xf14a, 0x3380, 0x3300, 0x3340, 0x3880,
                                    0x8000, 0x7f80, 0x3f80, 0x3f82, 0x4000};
    auto to_half = to_host(h, 2 * n), to_brain = to_host(b, n);
    auto again = to_host(back, n);
    for (int i = 0; i < n; i++) {
        EXPECT(to_half[2 * i] == half_near[i]);
        EXPECT(to_half[2 * i + 1] == half_zero[i]);
        EXPECT(to_brain[i] == brain[i]);
    }
    EXPECT(again[3] == -2.5f && again[8] == 0x1p-24f && again[11] == 0x1p-14f);
    cudaFree(in), cudaFree(back), cudaFree(h), cudaFree(b);
}

// Every half goes to a float and back unchanged, and to an integer as its float would.
__global__ void there_and_back(int *wrong) {
    for (unsigned bits = threadIdx.x; bits < 1 << 16; bits += blockDim.x) {
        __half h = __ushort_as_half((unsigned short)bits);
        float f = __half2float(h);
        bool same = __half_as_ushort(__float2half(f)) == bits || __hisnan(h);
        if (!__hisnan(h) && fabsf(f) < 1e9f) same = same && __half2int_rz(h) == (int)truncf(f);
        if (!same) atomicAdd(wrong, 1);
    }
}
RIGHT(narrow_all_halves) {
    int *wrong = device_count<int>(1);
    there_and_back<<<1, 64>>>(wrong);
    EXPECT(to_host(wrong, 1)[0] == 0);
    cudaFree(wrong);
}

// A fused product and sum rounds once: what the product's own rounding would lose is there, and so
// is a third number that decides a tie, however small.
template <class T> __global__ void fused_once(float *out, T near_one) {
    T square = near_one * near_one;
    out[0] = (float)__hfma(near_one, near_one, -square);
    out[1] = (float)__hfma(T(192.0f), T(174.0f), T(0x1p-60f)); // 0x8280 and a little
}
RIGHT(narrow_fma) {
    float *out = device_count<float>(2);
    fused_once<<<1, 1>>>(out, __float2half(1.0f + 0x1p-10f));
    auto h = to_host(out, 2);
    EXPECT(h[0] == 0x1p-20f && h[1] == 192 * 174);
    fused_once<<<1, 1>>>(out, __float2bfloat16(1.0f + 0x1p-7f));
    h = to_host(out, 2);
    EXPECT(h[0] == 0x1p-14f && h[1] == 0x8300);
    cudaFree(out);
}

// y = a x + y in pairs, as tutorials write it.
__global__ void axpy_of_pairs(half2 *y, const half2 *x, half a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}
RIGHT(narrow_axpy) {
    int n = 100;
    std::vector<half2> x(n), y(n);
    for (int i = 0; i < n; i++) {
        x[i] = __floats2half2_rn((float)i, (float)-i);
        y[i] = make_half2(__int2half_rn(1), __float2half(0.5f));
    }
    half2 *dx = device_copy(x), *dy = device_copy(y);
    axpy_of_pairs<<<1, 128>>>(dy, dx, __float2half(2.0f), n);
    cudaMemcpy(y.data(), dy, n * sizeof(half2), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) {
        EXPECT(__low2float(y[i]) == 1.0f + 2 * i && __high2float(y[i]) == 0.5f - 2 * i);
    }
    cudaFree(dx), cudaFree(dy);
}

// Sums of bfloat16 in shared memory, by shuffles and by atomics; and what compares and chooses.
__global__ void sums(float *out, __nv_bfloat16 *total, const __nv_bfloat16 *x) {
    __shared__ __nv_bfloat16 tile[64];
    int i = threadIdx.x;
    tile[i] = x[i];
    __syncthreads();
    for (int half_way = 32; half_way > 0; half_way /= 2) {
        if (i < half_way) tile[i] += tile[i + half_way];
        __syncthreads();
    }
    __nv_bfloat16 lane = x[i], most = lane;
    for (int d = 16; d > 0; d /= 2) most = __hmax(most, __shfl_xor_sync(~0u, most, d));
    atomicAdd(total, __float2bfloat16(1.0f));
    if (i == 0) out[0] = __bfloat162float(tile[0]), out[1] = most;
    if (i == 63) out[2] = most, out[3] = lane > x[0] && !(lane < x[0]) && __hge(lane, lane);
}
RIGHT(narrow_sums) {
    std::vector<__nv_bfloat16> x;
    for (int i = 0; i < 64; i++) x.push_back(__float2bfloat16((float)(i % 16)));
    __nv_bfloat16 *in = device_copy(x), *total = device_count<__nv_bfloat16>(1);
    float *out = device_count<float>(4);
    sums<<<1, 64>>>(out, total, in);
    auto h = to_host(out, 4);
    EXPECT(h[0] == 480 && h[1] == 15 && h[2] == 15 && h[3] == 1);
    __nv_bfloat16 sum;
    cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost);
    EXPECT((float)sum == 64);
    cudaFree(in), cudaFree(total), cudaFree(out);
}

__global__ void all_but_the_guard(half *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * __float2half(2.0f); // wrong half_past_end: out-of-bounds
} // likely half_past_end: of 4096
WRONG(half_past_end) {
    half *x;
    cudaMalloc(&x, 4096 * sizeof(half));
    cudaMemset(x, 0, 4096 * sizeof(half));
    all_but_the_guard<<<17, 256>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void histogram_of_halves(half *bins) {
    bins[threadIdx.x % 4] += __float2half(1.0f); // check half_race: race
}
RIGHT(half_race) {
    half *bins;
    cudaMalloc(&bins, 4 * sizeof(half));
    cudaMemset(bins, 0, 4 * sizeof(half));
    histogram_of_halves<<<1, 64>>>(bins);
    cudaDeviceSynchronize();
    cudaFree(bins);
    cudaDeviceReset();
}
