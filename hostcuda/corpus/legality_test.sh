#!/bin/bash
# legality_test.sh [nvcc|clang] [FILE.cu]...: what is not CUDA must be named with its line, and what
# is must pass. Without a compiler's name: by every way that is installed. The files, with the -I
# flags among them, must be legal.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
judge=$here/legality.sh
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
ways=() flags=() files=()
for word in "$@"; do
    case $word in
    nvcc | clang) ways+=("$word") ;;
    -*) flags+=("$word") ;;
    *) files+=("$word") ;;
    esac
done
if [ ${#ways[@]} = 0 ]; then
    command -v "${NVCC:-nvcc}" >/dev/null && ways+=(nvcc)
    command -v "${CLANGXX:-clang++}" >/dev/null && ways+=(clang)
fi
[ ${#ways[@]} -gt 0 ] ||
    { echo "legality_test.sh: neither nvcc nor clang++ is installed" >&2 && exit 2; }
passed=0 failed=0

# illegal LINE NAME SOURCE: refused, with a reason at that line and at no other
illegal() {
    printf '#include <cuda_runtime.h>\n%b' "$3" >"$folder/case.cu"
    "$judge" "$folder/case.cu" >"$folder/said" 2>&1
    local status=$?
    if [ $status = 1 ] && grep -q "case.cu:$1: error: this is not legal CUDA: " "$folder/said" &&
        ! grep -qv "case.cu:$1: error: " "$folder/said"; then
        passed=$((passed + 1))
    else
        echo "$HOSTCUDA_LEGALITY: not refused at line $1: $2 (exit $status)"
        cat "$folder/said"
        failed=$((failed + 1))
    fi
}

# legal NAME FILE
legal() {
    if "$judge" "${flags[@]}" "$2" >"$folder/said" 2>&1; then
        passed=$((passed + 1))
    else
        echo "$HOSTCUDA_LEGALITY: refused by mistake: $1"
        cat "$folder/said"
        failed=$((failed + 1))
    fi
}

all() {
    illegal 3 'a host function in a kernel' \
        'int twice(int x) { return 2 * x; }\n__global__ void k(int *x) { x[0] = twice(x[0]); }\n'
    illegal 4 'a host function in a device function' \
        'int twice(int x) { return 2 * x; }\n\n__device__ int f(int x) { return twice(x); }\n'
    illegal 3 'std::vector in a kernel' \
        '#include <vector>\n__global__ void k(int *x) { std::vector<int> v(3); x[0] = v[0]; }\n'
    illegal 3 'std::sort in a kernel' \
        '#include <algorithm>\n__global__ void k(int *x) { std::sort(x, x + 9); }\n'
    illegal 4 'std::max in a kernel' \
        '#include <algorithm>\n\n__global__ void k(int *x) { x[0] = std::max(x[0], x[1]); }\n'
    illegal 3 'std::swap in a kernel' \
        '#include <utility>\n__global__ void k(int *x) { std::swap(x[0], x[1]); }\n'
    illegal 3 'realloc in a kernel' \
        '#include <cstdlib>\n__global__ void k(int **x) { *x = (int *)realloc(*x, 9); }\n'
    illegal 3 'calloc in a kernel' \
        '#include <cstdlib>\n__global__ void k(int **x) { *x = (int *)calloc(9, 4); }\n'
    illegal 3 'rand in a kernel' \
        '#include <cstdlib>\n__global__ void k(int *x) { *x = rand(); }\n'
    illegal 3 'fprintf in a kernel' \
        '#include <cstdio>\n__global__ void k(int *x) { fprintf(stderr, "x"); }\n'
    illegal 3 'a stream in a kernel' \
        '#include <iostream>\n__global__ void k(int *x) { std::cout << *x; }\n'
    illegal 2 'cudaMemcpy in a kernel' \
        '__global__ void k(int *x, int *y) { cudaMemcpy(x, y, 4, cudaMemcpyDefault); }\n'
    illegal 3 'a launch of what is no kernel' \
        'void k(int *x) { *x = 1; }\nvoid run(int *x) { k<<<1, 1>>>(x); }\n'
    illegal 3 'a launch of a device function' \
        '__device__ void k(int *x) { *x = 1; }\nvoid run(int *x) { k<<<1, 1>>>(x); }\n'
    illegal 3 'a kernel called as a function' \
        '__global__ void k(int *x) { *x = 1; }\nvoid run(int *x) { k(x); }\n'
    illegal 2 'a kernel with a result' '__global__ int k(int *x) { return *x; }\n'
    illegal 3 'a host variable read in a kernel' \
        'static int limit = 3;\n__global__ void k(int *x) { *x = limit; }\n'
    illegal 3 'a host array in a kernel' \
        'float filter[9];\n__global__ void k(float *x) { x[threadIdx.x] = filter[threadIdx.x]; }\n'
    illegal 4 'a device function in host code' \
        '__device__ int f() { return 1; }\nint run() {\n    return f();\n}\n'
    illegal 2 '__syncthreads in host code' 'void run() { __syncthreads(); }\n'
    illegal 2 'an exception in a kernel' '__global__ void k(int *x) { if (!x) throw 1; }\n'
    illegal 2 'a virtual kernel: __global__ in a class' \
        'struct s { __global__ void k(int *x) { *x = 1; } };\n'
    illegal 2 'a __shared__ variable with a value' \
        '__global__ void k(int *x) { __shared__ int s = 1; *x = s; }\n'
    illegal 2 'more __shared__ memory than a block has' \
        '__global__ void k(int *x) { __shared__ int s[13000]; s[*x] = 1; *x = s[3]; }\n'
    cat >"$folder/legal.cu" <<'END'
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <vector>
__constant__ float filter[9];
__device__ int total;
constexpr int WIDTH = 3;
__noinline__ __device__ int apart(int x) { return x; }
__host__ __device__ static inline int round_up(int n, int unit) { return (n + unit - 1) / unit; }
template <int N>
__global__ void __launch_bounds__(128) smooth(float *y, const float *__restrict__ x) {
    extern __shared__ float dynamic[];
    __shared__ float tile[N];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    assert(i >= 0);
    tile[threadIdx.x % N] = fmaxf(x[i], expf(-x[i])) + sqrtf(fabsf(__ldg(x + i)));
    __syncthreads();
    float v = __shfl_xor_sync(0xffffffff, tile[0], 1) + filter[i % (WIDTH * WIDTH)];
    atomicAdd(&total, max(1, round_up(i, 32)));
    int one = apart(1), two = std::move(one);
    total += std::forward<int>(two);
    if (i == 0) printf("%d\n", total), memset(dynamic, 0, 4);
    y[i] = v * rsqrtf(v) + logf(v) + min(v, 2.0f);
}
int main() {
    std::vector<float> host(128);
    std::sort(host.begin(), host.end());
    float *x = nullptr;
    if (cudaMalloc(&x, 512) != cudaSuccess) return 1;
    cudaMemcpyToSymbol(filter, host.data(), sizeof filter);
    smooth<32><<<dim3(1), 128, 64>>>(x, x);
    int n = std::max(round_up(3, 2), 4);
    return cudaFree(x) == cudaSuccess && n ? 0 : 1;
}
END
    legal 'much that is legal' "$folder/legal.cu"
    for file in "${files[@]}"; do legal "$file" "$file"; done
}

for way in "${ways[@]}"; do
    export HOSTCUDA_LEGALITY=$way
    all
done
echo "legality by ${ways[*]}: $passed of $((passed + failed)) verdicts right"
[ "$failed" -eq 0 ]
