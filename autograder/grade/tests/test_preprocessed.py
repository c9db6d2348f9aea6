"""The gate on preprocessed C: whose line is whose, and that what macros hide is seen."""

import re
import subprocess
from pathlib import Path

import gate
import preprocessed
import pytest

ROOT = Path(__file__).resolve().parents[3]


def judged(tmp_path, source: str) -> list:
    """Findings in what gcc makes of a file, and nowhere else."""
    path = tmp_path / "vector_add.c"
    path.write_text(source)
    subprocess.run(["gcc", "-std=gnu11", "-fopenmp", f"-I{ROOT / 'tl/include'}", "-E", path, "-o",
                    f"{path}.i"], check=True)
    return preprocessed.findings(Path(f"{path}.i"), gate.Rules(0, path),
                                 (gate.token_findings, gate.directive_findings))


def judged_cuda(tmp_path, source: str) -> list:
    """The same of what hostcuda's rewriter and g++ make of a CUDA file."""
    path, made = tmp_path / "vector_add.cu", tmp_path / "vector_add.cu.hostcuda.o.ii"
    path.write_text(source)
    rewriter = "build/hostcuda/hostcuda-rewrite"
    subprocess.run(["make", "-s", rewriter], cwd=ROOT, check=True)
    subprocess.run([rewriter, "-Itl/include", "-o", f"{path}.cpp", path], cwd=ROOT, check=True)
    subprocess.run(["g++", "-std=c++17", "-Ihostcuda/include", "-Itl/include", "-E", f"{path}.cpp",
                    "-o", made], cwd=ROOT, check=True)
    return preprocessed.findings(made, gate.Rules(0, path),
                                 (gate.token_findings, gate.directive_findings))


def test_lines_of_headers_are_not_the_students():
    text = ('# 0 "labs/a.c"\n# 0 "<built-in>"\n#define x\n# 1 "labs/a.c"\none\n\n'
            '# 1 "/usr/include/h.h" 1 3 4\nof a header\n# 4 "labs/a.c" 2\nfour\n'
            '# 9 "labs/a.c" 3 4\nnine\n # 1 "/usr/include/h.h"\nten')
    lines, numbers = preprocessed.own_lines(text)
    assert lines.split("\n") == ["one", "", ";", "four", "nine", ' # 1 "/usr/include/h.h"', "ten"]
    assert numbers == [1, 2, 2, 4, 9, 10, 11]


@pytest.mark.parametrize("source, line, said", [
    ('#define A(x) __##x##__\nA(asm)("nop");\n', 2, "assembly"),
    ('#define J(a, b) a##b\nint f(void) { return J(sys, call)(1); }\n', 2, "syscall"),
    ('#define N "%n"\n#include <stdio.h>\n\nvoid f(int *a) { printf(N, a); }\n', 4, "%n"),
    ('#define HASH #\nHASH pragma GCC optimize("O3")\n', 2, "only omp"),
    ('#define HASH #\nHASH 1 "/usr/include/x.h"\n', 2, "at the beginning"),
    ('#define S _Pragma("GCC optimize(3)")\nS\n', 2, "pragma"),
    ('#define B(x) __builtin_##x\nint a = B(ctz)(8);\n', 2, "__builtin_ctz"),
    ('#define D(x) x x x x x x x x\nint a = D(D(D(D(D(D(D(+1)))))));\n', 1, "macros make")])
def test_what_macros_hide_is_seen(tmp_path, source, line, said):
    assert any(at == line and said in text for at, text in judged(tmp_path, source)), source


@pytest.mark.parametrize("source, line, said", [
    ('#define A(x) __##x##__\nA(asm)("nop");\n', 2, "assembly"),
    ('#define J(a, b) a##b\nint f() { return J(sys, call)(1); }\n', 2, "syscall"),
    ('#define HASH #\nHASH pragma GCC optimize("O3")\n', 2, "only omp"),
    ('#define D(x) x x x x x x x x\nint a = D(D(D(D(D(D(D(+1)))))));\n', 1, "macros make"),
    ('#include "tl/cuda.h"\n#define B(x) __builtin_##x\n\nint a = B(ctz)(8);\n', 4,
     "__builtin_ctz"),
    ('#include "tl/cuda.h"\n__global__ void k() {}\n#define N(f, x) f##printf(x, 0)\n\n'
     'void f(char *a) { k<<<1, 1>>>(); N(, a); }\n', 5, "its format has to stand")])
def test_what_macros_hide_is_seen_in_cuda(tmp_path, source, line, said):
    assert any(at == line and said in text for at, text in judged_cuda(tmp_path, source)), source


def test_what_the_rewriter_writes_is_nobodys_fault(tmp_path):
    assert judged_cuda(tmp_path, """#include "tl/cuda.h"
#include <assert.h>
#include <math.h>
__constant__ float scale[4];
template <typename T> __global__ void __launch_bounds__(256) twice(T *x, int n) {
    __shared__ __align__(16) T tile[256];
    extern __shared__ float more[];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = at < n ? x[at] : (T)0;
    __syncthreads();
    assert(n > 0 && isfinite(tile[0]));
    if (at < n) atomicAdd(&x[at], __shfl_down_sync(0xffffffffu, tile[threadIdx.x], 1) * scale[1]);
    if (at == 0) printf("%f\\n", (double)__ldg(x));
}
tl_status f(tl_ctx *ctx, float *x, int n) {
    TL_NEED(ctx && x, TL_EINVAL, "no x");
    TL_CUDA(cudaMemcpyToSymbolAsync(scale, x, sizeof scale));
    twice<<<tl_blocks(n), 256, 0, tl_stream(ctx)>>>(x, n);
    TL_LAUNCHED();
    return TL_OK;
}
""") == []


def test_the_rewriters_macros_are_known():
    text = "".join(p.read_text() for p in (ROOT / "hostcuda/rewriter").glob("*.c"))
    assert preprocessed.WRITTEN == set(re.findall(r"\bHC_[A-Z_]+", text)) - {"HC_CUDA_ARCH"}


def test_what_headers_bring_is_nobodys_fault(tmp_path):
    assert judged(tmp_path, """#include "tl/vector.h"
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
bool f(double x, uint64_t n) {
    assert(x > 0 && n);
    fprintf(stderr, "%" PRIu64 "\\n", n);
    if (isnan(x) || isinf(x) || x > DBL_MAX) return x == INFINITY || x != NAN;
    return signbit(x) || fpclassify(x) == FP_ZERO || offsetof(div_t, rem) > sizeof NULL;
}
tl_status g(size_t n) {
    TL_NEED(n < UINT64_C(4), TL_EINVAL, "%zu is too much", n);
    return TL_OK;
}
""") == []


def test_a_file_that_is_gone_is_no_students_fault(tmp_path):
    with pytest.raises(preprocessed.Lost, match="make clean"):
        preprocessed.tokens_of(tmp_path / "a.o.i", gate.Rules(0, Path("vector_add.c")))
