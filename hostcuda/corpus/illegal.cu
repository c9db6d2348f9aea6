// illegal.cu: what is not legal CUDA, and named all the same when it runs. A GPU is not asked, for
// what nvcc refuses depends on what its optimiser leaves.
#include "cases.h"

__global__ void much_shared(int *x) {
    __shared__ double a[4096], b[4096];
    a[threadIdx.x] = b[threadIdx.x] = 1;
    x[threadIdx.x] = a[threadIdx.x];
}
WRONG(static_shared_too_large) {
    int *x = device_count<int>(4);
    much_shared<<<1, 4>>>(x); // wrong static_shared_too_large: shared-too-large
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
    cudaDeviceReset();
}
