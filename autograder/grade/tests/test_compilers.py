"""test_compilers.py: what gcc and clang say of a build, here and with the C library of tomorrow.

(On whole other systems it is tried by make test-distros.)"""

import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest
from submission import ROOT

CXX = {"gcc": "g++", "clang": "clang++"}
COMPILERS = [cc for cc in CXX if shutil.which(cc) and shutil.which(CXX[cc])]
# Nothing of the make, or of the shell, that these tests run in decides what is compiled.
BARE = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
ANNOUNCED = re.compile(r"  (CC|CUCC|LINK) +\S+")  # what make says of each step

# What <math.h> of glibc 2.41 (sinpi and its like) and 2.42 (rsqrt) declares, as it does: with
# this exception specification, in float, double and long double.
NEWER_MATH_H = """#include_next <math.h>
#if defined __cplusplus && !defined NEWER_MATH_H
#define NEWER_MATH_H
#define NEWER(name) \\
    extern "C" double name(double) noexcept(true), __##name(double) noexcept(true); \\
    extern "C" float name##f(float) noexcept(true), __##name##f(float) noexcept(true); \\
    extern "C" long double name##l(long double) noexcept(true);
NEWER(acospi) NEWER(asinpi) NEWER(atanpi) NEWER(cospi) NEWER(sinpi) NEWER(tanpi) NEWER(rsqrt)
#undef NEWER
#endif
"""
STUDENTS = """#include "tl/cuda.h"
__global__ void k(float *y, const float *x, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = rsqrtf(x[i]) + sinpif(x[i]) + cospif(x[i]) + (float)rsqrt((double)x[i]);
}
"""


@pytest.fixture
def checkout(tmp_path):
    """A copy in which to build: another compiler would have the build/ around us made anew."""
    away = shutil.ignore_patterns("build", ".git", ".venv", "data", "results", "report", "out")
    return Path(shutil.copytree(ROOT, tmp_path / "gradlab", ignore=away, symlinks=True))


def built(checkout: Path, cc: str, *goals: str, **env: str) -> str:
    """What make says of building the goals, without the lines that announce each step."""
    done = subprocess.run(["make", f"CC={cc}", "NVCC=none", *goals], cwd=checkout, text=True,
                          env=BARE | env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=300)  # fmt: skip
    said = [line for line in done.stdout.splitlines() if not ANNOUNCED.fullmatch(line)]
    assert done.returncode == 0, "\n".join(said)
    return "\n".join(said)


def test_both_compilers_are_tried():
    """labs-check compiles every lab's file by each of them with -Werror."""
    for cc in set(CXX) - set(COMPILERS):
        warnings.warn(f"there is no {cc} here: what it says of a build was not tried",
                      stacklevel=1)
    assert COMPILERS


@pytest.mark.parametrize("cc", COMPILERS)
def test_a_build_prints_no_warning(checkout, cc):
    assert built(checkout, cc, "build/hostcuda/hostcuda-rewrite",
                 f"build/hostcuda/{cc}/runtime/launch.o", f"build/hostcuda/{cc}-check/check/race.o",
                 "build/float/tl/shape.o", "build/double/solution/lab1/elementwise.o",
                 "build/float/solution/lab0/vector_add.cu.host.o",
                 "build/float-check/kernels/batch/01_words.cu.host.o",
                 "build/float/kernels/gemm/04_registers.cu.host.o") == ""  # it has loops to unroll


TWO_STEPS = """include hostcuda/hostcuda.mk
x.o: solution/lab1/transpose.cu $(HOSTCUDA_NEEDS)
	@$(call hostcuda_preprocess,{cxx} -Iprecompiled,$(call hostcuda_hooks,{cxx}),-Itl/include)
	@$(call hostcuda_preprocessed,{cxx} -Iprecompiled,$(call hostcuda_hooks,{cxx}))
"""


@pytest.mark.parametrize("cc", COMPILERS)
def test_what_is_preprocessed_first_prints_no_warning(checkout, cc):
    """As a student's .cu file is (mk/workers.mk)."""
    (checkout / "two_steps.mk").write_text(TWO_STEPS.format(cxx=CXX[cc]))
    assert built(checkout, cc, "-f", "two_steps.mk", "x.o") == ""
    assert (checkout / "x.o").stat().st_size


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    @pytest.mark.parametrize("cc", COMPILERS)
    def test_each_compilers_openmp_runs_in_a_box(checkout, cc, tmp_path):
        """LLVM's writes to /dev/shm and binds threads where it may."""
        source = tmp_path / "a.c"
        source.write_text("int main(void) { return 0; }\n")
        if subprocess.run([cc, "-fopenmp", source, "-o", tmp_path / "a"]).returncode:
            warnings.warn(f"there is no OpenMP for {cc} here: it was not tried", stacklevel=1)
            return
        done = subprocess.run(["make", f"CC={cc}", f"CXX={CXX[cc]}", "NVCC=none", "grade", "LAB=3",
                               "LABS=solution", "T=relu"], cwd=checkout, env=BARE, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        assert "lab3: 11/11" in done.stdout, done.stdout[-2000:]


@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize("goal", ["build/float/solution/lab0/vector_add.o",
                                  "build/float/solution/lab0/vector_add.cu.host.o"])
def test_a_students_own_warning_stands_alone(checkout, cc, goal):
    source = "solution/lab0/vector_add" + (".cu" if ".cu." in goal else ".c")
    lines = (checkout / source).read_text().splitlines()
    lines += ["int tl_later(int n) {", "    int forgotten = 3;", "    return n;", "}"]
    lines.insert(-4, "int tl_later(int n);")
    (checkout / source).write_text("\n".join(lines) + "\n")
    said = built(checkout, cc, goal)
    told = [line for line in said.splitlines() if re.search(r"\b(warning|note|error): ", line)]
    assert len(told) == 1, said
    assert told[0].startswith(f"{source}:{len(lines) - 2}:")
    assert "forgotten" in told[0]


@pytest.fixture
def newer_library(tmp_path):
    """A folder of headers that stand before the C library's."""
    (tmp_path / "glibc-2.42").mkdir()
    (tmp_path / "glibc-2.42/math.h").write_text(NEWER_MATH_H)
    return str(tmp_path / "glibc-2.42")


@pytest.mark.parametrize("cc", COMPILERS)
def test_the_c_library_may_have_names_of_cuda(checkout, newer_library, cc):
    source = "solution/lab0/vector_add.cu"
    (checkout / source).write_text(STUDENTS)
    assert built(checkout, cc, *(f"build/{mode}/{source}.host.o"
                                 for mode in ("float", "float-check")),
                 CPLUS_INCLUDE_PATH=newer_library) == ""
    if cc == "clang":  # which also judges whether it is CUDA
        env = BARE | {"HOSTCUDA_LEGALITY": "clang", "CPLUS_INCLUDE_PATH": newer_library}
        done = subprocess.run(["hostcuda/legality.sh", "-Itl/include", source], env=env,
                              cwd=checkout, text=True, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("cc", COMPILERS)
def test_setup_and_doctor_compile_what_hostcuda_includes(tmp_path, cc):
    """A compiler that takes C++17, with a C library that has given a name of hostcuda's away."""
    (tmp_path / "math.h").write_text("#include_next <math.h>\nextern int hc_expf;\n")
    for library, found in (("/nonexistent", 0), (str(tmp_path), 1)):
        done = subprocess.run(["bash", "-c", ". tools/probe.sh; have_cxx"], cwd=ROOT, timeout=60,
                              env=BARE | {"CXX": CXX[cc], "CPLUS_INCLUDE_PATH": library})
        assert done.returncode == found


def test_distros_that_cannot_be_made_have_not_passed(tmp_path):
    """As somebody who is not root, or on a machine without debootstrap: it says so, and fails."""
    for name in ("bash", "dirname", "id", "git"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run([ROOT / "tools/test_distros.sh"], env={"PATH": str(tmp_path)},
                          text=True, capture_output=True, timeout=60)
    first, last = done.stdout.splitlines()
    assert re.match("FAILED distros: .*(sudo make|apt-get install debootstrap)", first)
    assert (done.returncode, last, done.stderr) == (1, "0 passed, 1 failed", "")
