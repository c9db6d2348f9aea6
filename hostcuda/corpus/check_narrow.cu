// check_narrow.cu: what CHECK=1 alone names of numbers of 16 bits.
#include "cases.h"

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
