// check_narrow.cu: what CHECK=1 alone names of numbers of 16 bits.
#include "cases.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void pairs_at_odd_places(float *out, const half *x) {
    const half *at = x + 2 * threadIdx.x + 1;
    half2 pair = *(const half2 *)at;      // wrong odd_pair_of_halves: misaligned-address
    out[threadIdx.x] = __low2float(pair); // not by clang: odd_pair_of_halves
}
WRONG(odd_pair_of_halves) {
    half *x;
    float *out = device_count<float>(32);
    cudaMalloc(&x, 256 * sizeof(half));
    cudaMemset(x, 0, 256 * sizeof(half));
    pairs_at_odd_places<<<1, 32>>>(out, x);
    cudaDeviceSynchronize();
    cudaFree(x), cudaFree(out);
    cudaDeviceReset();
}

// Two elements of 16 bits share a word, and each belongs to one block, or to one thread.
__global__ void own_elements(__nv_bfloat16 *sums, short *counts) {
    __shared__ short s[64];
    int i = threadIdx.x;
    sums[blockIdx.x * 64 + i] = __float2bfloat16((float)sums[blockIdx.x * 64 + i] + i);
    if (i == 0) counts[blockIdx.x] += 3;
    s[i] = (short)i;
    __syncthreads();
    short first = s[0];
    if (i > 0) s[i] += first + 1;
    __syncthreads();
    if (i > 0) counts[gridDim.x + blockIdx.x * 64 + i] += s[i];
}
RIGHT(neighbours_in_a_word) {
    __nv_bfloat16 *sums;
    short *counts = device_count<short>(4 + 0x100);
    cudaMalloc(&sums, 0x100 * sizeof *sums);
    cudaMemset(sums, 0, 0x100 * sizeof *sums);
    cudaMemset(counts, 0, (4 + 0x100) * sizeof *counts);
    own_elements<<<4, 64>>>(sums, counts);
    auto h = to_host(counts, 4 + 0x100);
    for (int b = 0; b < 4; b++) EXPECT(h[b] == 3 && h[4 + 64 * b + 63] == 64);
    cudaFree(sums), cudaFree(counts);
}
__global__ void each_others(short *x) {
    x[blockIdx.x] += x[blockIdx.x ^ 1]; // wrong neighbours_meet: race-between-blocks
}
// likely neighbours_meet: blocks run in any order
WRONG(neighbours_meet) {
    short *x = device_count<short>(64);
    each_others<<<64, 1>>>(x);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
