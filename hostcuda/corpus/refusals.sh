#!/bin/bash
# refusals.sh REWRITE: what is not supported must be refused with name and line, and no more.
set -euo pipefail
rewrite=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
passed=0 failed=0

# refused LINE NAME SOURCE: the rewriter fails and says FILE:LINE: error: NAME is not supported …
refused() {
    printf '%b' "$3" >"$folder/case.cu"
    if "$rewrite" "$folder/case.cu" >/dev/null 2>"$folder/said"; then
        echo "not refused: $2"
        failed=$((failed + 1))
    elif grep -qF "case.cu:$1: error: $2 is not supported by hostcuda: " "$folder/said"; then
        passed=$((passed + 1))
    else
        echo "refused with other words: $2"
        cat "$folder/said"
        failed=$((failed + 1))
    fi
}

accepted() {
    printf '%b' "$2" >"$folder/case.cu"
    if "$rewrite" "$folder/case.cu" >/dev/null 2>"$folder/said"; then
        passed=$((passed + 1))
    else
        echo "refused by mistake: $1"
        cat "$folder/said"
        failed=$((failed + 1))
    fi
}

refused 2 'a texture' '\ntexture<float, 1> t;\n'
refused 3 'a texture of three dimensions' \
    '__global__ void k(cudaStream_t s) {\n\nfloat x = tex3D<float>(t, 1, 2, 3); }\n'
refused 1 'a surface' '__global__ void k() { surf2Dwrite(1, s, 2, 3); }\n'
refused 1 'libcu++' '#include <cuda/semaphore>\n'
refused 2 'a group of several devices' \
    'int n;\n__global__ void k() { auto g = this_multi_grid(); }\n'
refused 1 'a launch on several devices' \
    'int main() { cudaLaunchCooperativeKernelMultiDevice(0, 0); }\n'
refused 2 'dynamic parallelism (a launch within a kernel)' \
    '__global__ void child();\n__global__ void k() { child<<<1, 1>>>(); }\n'
refused 1 'this inline PTX (asm)' '__device__ void f() { asm("nop;"); }\n'
refused 2 'this inline PTX (asm)' \
    '__device__ void f(int x) {\nasm("add.s32 %0, %1, %2;" : "=r"(x) : "r"(x), "r"(x)); }\n'
refused 1 'this inline PTX (asm)' \
    '__device__ void f(float x) { asm("rcp.approx.f32 %0, 3, 4;" : "=f"(x)); }\n'
refused 1 'wgmma (tensor cores of sm_90)' \
    '__device__ void f() { asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory"); }\n'
refused 2 'mma in PTX (tensor cores)' \
    '__device__ void f(float *d) {\nasm("mma.sync.aligned.m16n8k8.row.col" : "+f"(*d)); }\n'
refused 1 'a bulk copy (TMA)' \
    '__device__ void f() { asm volatile("cp.async.bulk.commit_group;"); }\n'
refused 2 'a copy by a tensor map (TMA)' \
    '\n__global__ void k(const __grid_constant__ CUtensorMap map) {}\n'
refused 2 'graphics' '\n#include <cuda_gl_interop.h>\n'
refused 1 'graphics' 'void f() { cudaGraphicsMapResources(1, &pixels, 0); }\n'
refused 2 'dynamic parallelism (a launch within a kernel)' \
    '__global__ void k(int n) {\nif (n > 0) k<<<1, 1>>>(n - 1); }\n'
accepted 'PTX of one known instruction' \
    '__device__ void f(int x) { asm volatile("mov.u32 %0, %%laneid;" : "=r"(x)); }\n'
refused 3 '8-bit floating point' '\n\n#include <cuda_fp8.h>\n'
refused 1 'an initial value of a __shared__ variable' \
    '__global__ void k() { __shared__ int x = 1; }\n'
refused 2 'a __shared__ variable outside of a function that is no array' '\n__shared__ int x;\n'
refused 1 'memory that a graph allocates' \
    'int main() { cudaGraphAddMemAllocNode(0, 0, 0, 0, 0); }\n'
refused 2 'a condition in a graph' 'int n;\nvoid f() { cudaGraphConditionalHandleCreate(0, 0); }\n'
refused 1 'a node of a graph of this kind' \
    'void f() { cudaGraphAddEventRecordNode(0, 0, 0, 0, 0); }\n'
refused 1 'changing a copy in a graph' 'void f() { cudaGraphExecMemcpyNodeSetParams(0, 0, 0); }\n'
refused 1 'an array of three dimensions or layers' 'int main() { cudaMalloc3DArray(0, 0, 1); }\n'
refused 1 'a product by cuBLASLt' 'int main() { cublasLtMatmulDescCreate(0); }\n'
refused 1 'cuRAND' '#include <curand_kernel.h>\n'
refused 1 'Thrust' '#include <thrust/device_vector.h>\n'
refused 1 'CUB' '#include <cub/cub.cuh>\n'
refused 1 'cuDNN' '#include <cudnn.h>\n'
refused 1 'a thread-block cluster' '__global__ void __cluster_dims__(2) k() {}\n'
refused 3 'this form of <<< >>>' '__global__ void k();\nint main() {\n+k<<<1, 1>>>; }\n'
accepted 'malloc in a kernel' '__global__ void k() { int *p = (int *)malloc(4); }\n'
refused 2 'a [=] lambda that uses a __shared__ array' \
    '__global__ void k(int *o) { __shared__ int s[4];\nauto f = [=](int i) { return s[i]; }; }\n'
refused 2 '__CUDA_ARCH__ in a __host__ __device__ function' \
    '__host__ __device__ int f() {\n#ifdef __CUDA_ARCH__\nreturn 1;\n#endif\nreturn 0; }\n'
accepted '__CUDA_ARCH__ outside of functions' '#if __CUDA_ARCH__ >= 600\nint n;\n#endif\n'
accepted 'malloc in host code' 'int main() { free(malloc(4)); int *p = new int; delete p; }\n'
accepted 'placement new' '__device__ void f(int *p) { new (p) int(3); }\n'
accepted 'asm in host code' 'int main() { asm("nop"); }\n'
accepted 'a name in a string' 'const char *s = "tex2D asm wmma"; // texture<int>\n'
accepted 'a branch not taken' '#ifdef NEVER\n#include <cub/cub.cuh>\n#endif\n'
accepted 'a variable called texture' 'int texture = 3;\n'

echo "refusals: $passed of $((passed + failed)) sources refused or accepted as they should be"
[ "$failed" -eq 0 ]
