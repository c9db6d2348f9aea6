"""Who says what is CUDA: nvcc, with and without cuBLAS, or clang; and whose fault it is if nobody
can."""

import shutil
import subprocess
from pathlib import Path

import cuda_legality
import machines
import pytest
from conftest import ROOT

TOO_LARGE = """#include "tl/cuda.h"

template <int N>
__global__ void tiled(float *x) {
    __shared__ float tile[N], sums[64];
    tile[threadIdx.x] = sums[threadIdx.x] = x[0];
    __syncthreads();
    x[1] = tile[3] + sums[2];
}
void run(float *x) { tiled<32><<<1, 32>>>(x), tiled<12250><<<1, 32>>>(x); }
"""
CALLS_HOST = """#include "tl/cuda.h"
static int host() { return 1; }
__global__ void k(int *x) { x[0] = host(); }
"""


def cublas_include() -> str:
    """Of the cuBLAS that this machine has for its nvcc, beside it or in .venv; or nothing."""
    found = subprocess.run([ROOT / "tools/find_cuda.sh"], cwd=ROOT, capture_output=True, text=True)
    return (found.stdout.split() + ["", ""])[1]


@pytest.fixture(autouse=True)
def another_machine():
    """What is remembered of this one's compilers is not true of the next one's."""
    cuda_legality.judge_headers.cache_clear()
    yield
    cuda_legality.judge_headers.cache_clear()


@pytest.fixture
def machine(tmp_path, monkeypatch, say):
    """Makes this process one on a machine with this nvcc and with or without clang; None, and a
    line that says so, where what is wanted is not there."""
    def make(nvcc: str, clang: bool) -> bool:
        lacking = ([] if clang else ["clang*"]) + ([] if nvcc != "none" else ["nvcc"])
        path = machines.links(tmp_path / "bin", *lacking)
        real, include = shutil.which("nvcc"), cublas_include()
        beside = include and not include.startswith(str(ROOT))
        wanting = [what for what, there in [
            ("clang++", not clang or shutil.which("clang++")), ("nvcc", nvcc == "none" or real),
            ("cuBLAS", nvcc != "with cuBLAS" or include),
            ("an nvcc without cuBLAS", nvcc != "alone" or not beside)] if not there]
        if wanting:
            say(f"nvcc {nvcc}, clang {clang}: not tried, no {' and no '.join(wanting)} here")
            return False
        if nvcc == "with cuBLAS" and not beside:
            machines.script(path / "nvcc", f'exec {real} -I{include} "$@"')
        monkeypatch.setenv("PATH", str(path))
        if nvcc == "none":
            monkeypatch.setenv("NVCC", "none")  # (nor the one in the toolkit's usual place)
        else:
            monkeypatch.delenv("NVCC", raising=False)
        monkeypatch.setattr(cuda_legality, "CACHE", tmp_path / "cache")
        return True
    return make


def findings(folder: Path, text: str) -> list:
    path = folder / "x.cu"
    path.write_text(text)
    return [(line, said) for _, line, said in cuda_legality.findings(path, cuda_legality.key())]


@pytest.mark.parametrize("clang", [True, False])
@pytest.mark.parametrize("nvcc", ["none", "alone", "with cuBLAS"])
def test_every_toolkit_judges_a_lab_or_says_what_is_missing(machine, tmp_path, nvcc, clang):
    if not machine(nvcc, clang):
        return
    gemm = (ROOT / "labs/lab1/gemm.cu").read_text()
    assert '#include "tl/cublas.h"' in gemm
    if nvcc == "none" and not clang:
        with pytest.raises(cuda_legality.CannotGrade, match=r"neither nvcc nor clang\+\+"):
            findings(tmp_path, gemm)
        return
    assert findings(tmp_path, gemm) == []
    (line, said), = findings(tmp_path, TOO_LARGE)
    assert line == 4
    assert said.startswith("this is not legal CUDA: Entry function 'tiled<12250>(float*)' uses too "
                           "much shared data (0xc068 bytes, 0xc000 max) (a block has 48 KiB"), said



BOMB = """#include "tl/cuda.h"
template <int N, int M> struct bomb {
    typedef typename bomb<N - 1, 2 * M>::type a;
    typedef typename bomb<N - 1, 2 * M + 1>::type type;
};
template <int M> struct bomb<0, M> { typedef int type; };
bomb<26, 0>::type x;
"""


def test_a_template_without_end_costs_its_own_file_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_legality, "CACHE", tmp_path / "cache")
    # (what is right takes less, on a busy machine too)
    monkeypatch.setenv("HOSTCUDA_LEGALITY_SECONDS", "6")
    (line, said), = findings(tmp_path, BOMB)
    assert line == 1 and "was stopped: for this file it took more than 6 s" in said, said
    assert not list((tmp_path / "cache").glob("*.txt"))  # the next time it is asked again
    assert findings(tmp_path, CALLS_HOST)[0][0] == 3


def test_messages_without_end_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_legality, "CACHE", tmp_path / "cache")
    clang = machines.script(tmp_path / "clang++", """case $* in
*x.cu) yes "${@: -1}:1:1: error: no" ;;
*) echo /nonexistent ;;
esac""")
    monkeypatch.setenv("CLANGXX", str(clang))
    assert findings(tmp_path, "int x;\n") == [(1, "this is not legal CUDA: no")]


# ---- reasons that stand outside of the student's file --------------------------------------------

def says(folder: Path, given: str, student: str) -> Path:
    """A legality.sh that says one thing of given headers and another of a student's file."""
    return machines.script(folder / "legality.sh", f"""for file; do :; done
case $file in */given.cu) {given} ;; *) {student} ;; esac""")


HEADER = "echo 'tl/include/tl/cublas.h:5: error: this is not legal CUDA: no cublas_v2.h'; exit 1"


@pytest.mark.parametrize("student, line", [
    (HEADER, "this is not legal CUDA: tl/include/tl/cublas.h:5: no cublas_v2.h"),
    ("echo 'legality.sh: nvcc failed: two\nlines' >&2; exit 2",
     f"{cuda_legality.UNSURE}: nvcc failed: two lines"),
])
def test_a_reason_outside_of_the_file_is_the_files_where_headers_are_right(
        tmp_path, monkeypatch, student, line):
    monkeypatch.setattr(cuda_legality, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(cuda_legality, "LEGALITY", says(tmp_path, "exit 0", student))
    assert findings(tmp_path, "int x;\n") == [(1, line)]


def test_where_given_headers_are_wrong_nothing_is_graded_and_it_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_legality, "LEGALITY", says(tmp_path, HEADER, HEADER))
    with pytest.raises(cuda_legality.CannotGrade, match=r"tl/cublas.h:5: no cublas_v2.h$"):
        findings(tmp_path, "int x;\n")


def test_what_is_refused_is_shown_to_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_legality, "LEGALITY", says(tmp_path, "exit 0", "exit 9"))
    (tmp_path / "x.cu.refused").write_text("x.cu:1: not compiled: …\n")
    assert findings(tmp_path, "#include \"/etc/passwd\"\n") == []
