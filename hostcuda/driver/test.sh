#!/bin/bash
# test.sh: hostcuda as somebody has it who copied this folder alone: built, installed, moved, used.
set -uo pipefail
own=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0
unset CXX NVCC_CCBIN MAKEFLAGS MAKELEVEL
export LC_ALL=C

# says STATUS TEXT COMMAND…: it ends with STATUS and says TEXT, which may be empty.
says() {
    local status=$1 text=$2 got
    shift 2
    "$@" >said 2>&1
    got=$?
    if [ $got -eq "$status" ] && { [ -z "$text" ] || grep -qF -e "$text" said; }; then
        passed=$((passed + 1))
    else
        echo "not so: $*"
        echo "  wanted $status and: $text"
        echo "  got $got and:"
        sed 's/^/    /' said
        failed=$((failed + 1))
    fi
}
# ... and in one line.
says_alone() {
    says "$@"
    says 1 '' test "$(wc -l <said)" -ne 1
}

# ---- built from a copy under another name, installed, moved ----

cd "$folder" || exit 1
mkdir elsewhere 'a place' tmp
(cd "$own" && tar cf - --exclude=./build .) | tar xf - -C elsewhere
says 0 'installed' make -s -j "$(nproc)" -C elsewhere install PREFIX="$folder/prefix"
[ $failed -eq 0 ] || exit 1
rm -r elsewhere
mv prefix 'a place/moved'
mkdir bin && ln -s "$folder/a place/moved/bin/hostcuda" bin/hostcuda
PATH=$folder/bin:$PATH
export TMPDIR=$folder/tmp

cat >scale.cu <<'CU'
#include <cstdio>
#include <cstdlib>
#include "factor.h"

__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= FACTOR;
}

int main(int count, char **arguments) {
    int n = count > 1 ? atoi(arguments[1]) : 4;
    float *x, last;
    cudaMalloc(&x, n * sizeof *x);
    cudaMemset(x, 0, n * sizeof *x);
    scale<<<(n + 255) / 256, 256>>>(x, n);
    cudaMemcpy(&last, x + n - 1, sizeof last, cudaMemcpyDeviceToHost);
    cudaFree(x);
    printf("%d of %g\n", n, last);
    return n % 256;
}
CU
mkdir include && echo '#define FACTOR 2' >include/factor.h
says 4 '4 of 0' hostcuda run -I include scale.cu
says 7 '7 of 0' hostcuda run -Iinclude scale.cu -- 7
says 0 '' hostcuda -I=include -o 'with space' scale.cu
says 5 '5 of 0' './with space' 5
cp scale.cu 'a place/my scale.cu'
says 4 '4 of 0' hostcuda --run --include-path=include 'a place/my scale.cu'
says 0 '' hostcuda -Iinclude -x cu scale.cu
says 4 '4 of 0' ./a.out
cp scale.cu scale.cuda
says 4 '4 of 0' hostcuda run -Iinclude -x cu scale.cuda
says_alone 2 'scale.cuda: neither a source' hostcuda scale.cuda

# ---- several files; nvcc's usual options ----

cat >main.cpp <<'CPP'
#include <cstdio>
#include <cuda_runtime.h>
int twice(int);
extern "C" int thrice(int);
int main() {
    int devices = 0;
    cudaGetDeviceCount(&devices);
    std::printf("%d devices, %d\n", devices, twice(N) + thrice(N));
}
CPP
echo 'int thrice(int n) { return 3 * n; }' >thrice.c
cat >twice.cu <<'CU'
__global__ void k(int *x) { *x *= 2; }
int twice(int n) {
    int *x;
    cudaMalloc(&x, sizeof n);
    cudaMemcpy(x, &n, sizeof n, cudaMemcpyHostToDevice);
    k<<<1, 1>>>(x);
    cudaMemcpy(&n, x, sizeof n, cudaMemcpyDeviceToHost);
    cudaFree(x);
    return n;
}
CU
usual=(-arch=sm_80 -gencode arch=compute_90,code=sm_90 -std=c++14 -O2 --use_fast_math -lineinfo
    --expt-relaxed-constexpr -Xptxas -v,-O3 -maxrregcount=32 -rdc=true -m64
    -Xcompiler -Wall,-fopenmp -Xcompiler '-Wextra -Werror' -lcudart -lm -L/usr/local/cuda/lib64
    -Wno-deprecated-gpu-targets)
says 0 '' hostcuda "${usual[@]}" -DN=4 main.cpp twice.cu thrice.c -o all
says 0 '1 devices, 20' ./all
says 0 '' hostcuda "${usual[@]}" -D N=5 -dc main.cpp twice.cu thrice.c
says 0 '' hostcuda main.o twice.o thrice.o -lm -Xcompiler -fopenmp -o all
says 0 '1 devices, 25' ./all
says_alone 2 '-c with -o makes one object' hostcuda -c twice.cu thrice.c -o both.o
says 0 '' hostcuda --check -c twice.cu -o checked.o
says 0 '1 devices, 20' hostcuda run --check -DN=4 main.cpp checked.o thrice.c
says 0 '-O0 -g' hostcuda --dryrun -g twice.cu

# ---- what compilers say of a file stands at its own line ----

printf '#include "inner.cuh"\n\n__global__ void k(int *x) { *x = y; }\nint main() {}\n' >bad.cu
echo '__device__ int inner() { return 1; }' >inner.cuh
says 1 'bad.cu:3:' hostcuda bad.cu
cp bad.cu 'a place'
says 1 'a place/bad.cu:3:' hostcuda 'a place/bad.cu' -I .
echo '__device__ int inner() { return nothing; }' >inner.cuh
says 1 'inner.cuh:1:' hostcuda bad.cu
printf '\n#include <cub/cub.cuh>\nint main() {}\n' >refused.cu
says 1 'refused.cu:2: error: CUB is not supported' hostcuda refused.cu
echo 'void gone(); int main() { gone(); }' >gone.cu
says 1 "undefined reference to \`gone()'" hostcuda gone.cu

# ---- checkers ----

cat >race.cu <<'CU'
#include <cstdio>
__global__ void shift(int *x) {
    x[threadIdx.x] = x[threadIdx.x + 1];
}
__global__ void past(int *x) {
    atomicAdd(&x[threadIdx.x], 1);
}
int main() {
    int *x;
    cudaMalloc(&x, 68 * sizeof *x);
    cudaMemset(x, 0, 68 * sizeof *x);
#ifdef PAST
    past<<<1, 69>>>(x);
#else
    shift<<<1, 64>>>(x);
#endif
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(x);
}
CU
says 0 'no error' hostcuda run race.cu
says 0 'race.cu:3: hostcuda [race]' hostcuda run --check race.cu
says 0 'race.cu:6: hostcuda [out-of-bounds]' hostcuda run -DPAST race.cu
says 0 'race.cu:6: hostcuda [out-of-bounds]' hostcuda run --check -DPAST race.cu
if command -v clang++ >/dev/null; then
    says 0 'race.cu:3: hostcuda [race]' hostcuda run --check -ccbin clang++ race.cu
    says 4 '4 of 0' env CXX=clang++ hostcuda run -Iinclude scale.cu
else
    echo "driver: clang++ is not here, so it is not tried"
fi

# ---- cuBLAS ----

cat >blas.cu <<'CU'
#include <cublas_v2.h>
#include <cstdio>
int main() {
    cublasHandle_t handle;
    float *x, h[2] = {3, 4}, norm;
    cublasCreate(&handle);
    cudaMalloc(&x, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    cublasSdot(handle, 2, x, 1, x, 1, &norm);
    printf("dot %g\n", norm);
    cublasDestroy(handle);
    cudaFree(x);
}
CU
says 0 'dot 25' hostcuda run blas.cu -lcublas
says 0 'dot 25' hostcuda run --check blas.cu -lcublas -lcublasLt
says 1 'this program calls cuBLAS: add -lcublas' hostcuda blas.cu

# ---- what NVIDIA's helper_cuda.h asks before it offers its functions ----

cat >helper.cu <<'CU'
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
#if !defined(__DRIVER_TYPES_H__) || !defined(__CUDA_RUNTIME_H__) || !defined(CUBLAS_API_H_)
#error "a guard is missing"
#endif
int main() {
    int mode, major, processors;
    cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    printf("helped: %d %d\n", mode == cudaComputeModeProhibited, major > 0 && processors > 0);
}
CU
says 0 'helped: 0 1' hostcuda run helper.cu
printf '#!/bin/bash\n[ "${*: -1}" != -print-file-name=libopenblas.so ] && exec g++ "$@"\n%s\n' \
    'echo libopenblas.so' >bin/g++-bare && chmod +x bin/g++-bare
says_alone 1 'apt install libopenblas-dev' hostcuda -ccbin g++-bare blas.cu -lcublas

# ---- what was typed, and what is not there ----

says_alone 2 "-foo: no option that hostcuda knows" hostcuda -foo scale.cu
says_alone 2 '-o wants a value: -o FILE' hostcuda scale.cu -o
says_alone 2 'makes code for a CPU' hostcuda -ptx scale.cu
says_alone 2 'hostcuda has no cuRAND' hostcuda scale.cu -lcurand
says_alone 2 'nothing.cu: no such file' hostcuda nothing.cu
says_alone 2 'no file is named' hostcuda -O2
says_alone 2 "only 'hostcuda run' takes arguments" hostcuda scale.cu -- 4
says_alone 1 'apt install g++' hostcuda -ccbin no-such-compiler scale.cu
mkdir few
for tool in bash readlink dirname; do ln -s "$(command -v $tool)" few; done
says_alone 1 'apt install g++' env PATH="$folder/few" "$folder/bin/hostcuda" scale.cu
says 0 '--check' hostcuda --help
says 0 'hostcuda run' hostcuda

# ---- hostcuda init ----

mkdir project && cd project || exit 1
cp ../twice.cu ../race.cu . && sed 's/ + thrice(N)//; s/(N)/(6)/' ../main.cpp >six.cu
says 0 'a Makefile is written' hostcuda init
says_alone 2 'there is a Makefile here already' hostcuda init
says 0 '' make
says 0 '1 devices, 12' ./six
says 0 'race.cu:3: hostcuda [race]' make check
says 0 '' make clean
says 0 'twice.cu' find . -name '*.cu'
says 1 '' test -e six -o -e six-check
cd ..

# ---- how much of a folder runs ----

says 0 '2 programs: 2 compile, 2 of them run' "$own/corpus/try_folder.sh" project
echo 'int main() { return 3; }' >project/third.cu
says 1 'status 3' "$own/corpus/try_folder.sh" project
says 1 '3 programs: 3 compile, 2 of them run' "$own/corpus/try_folder.sh" project

says 1 '' test -n "$(ls tmp)"
echo "driver: $passed of $((passed + failed)) commands do as they should"
[ $failed -eq 0 ]
