# probe.sh: what this machine has; sourced by setup.sh and doctor.sh. Everything is found by using
# it (a test program, an import), never by asking a package manager, so that a compiler module, a
# hand-built OpenBLAS or somebody's own Python counts as well as a package does.

CC=${CC:-gcc}
CXX=${CXX:-g++}
FUZZ_CC=${FUZZ_CC:-clang}
PYTHON=${PYTHON:-.venv/bin/python}
REQUIREMENTS=baseline/requirements.txt
TORCH=$(sed -n 's/^torch==//p' "$REQUIREMENTS")

# links SOURCE FLAG...: true if this C program compiles and links.
links() {
    local source=$1 dir rc=0
    shift
    dir=$(mktemp -d)
    printf '%s\n' "$source" >"$dir/probe.c"
    "$CC" -o "$dir/probe" "$dir/probe.c" "$@" >/dev/null 2>&1 || rc=1
    rm -rf "$dir"
    return $rc
}

have_compiler() { links '#include <stdio.h>
int main(void) { return puts("") < 0; }'; }
# hostcuda compiles .cu files with it: every one of them begins with this header, which takes the
# standard headers of C++, and a C library that has not given its names to something else.
have_cxx() {
    printf '#include <hostcuda/hostcuda.h>\nint main() { return 0; }\n' |
        $CXX -std=c++17 -Ikernels/hostcuda/include -x c++ -o /dev/null - >/dev/null 2>&1
}
have_openmp() { links '#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }' -fopenmp; }
have_openblas() { links '#include <cblas.h>
#include <openblas_config.h>
int main(void) { openblas_set_num_threads(1); return 0; }' -lopenblas; }
have_criterion() { links '#include <criterion/criterion.h>
Test(probe, links) { cr_assert(1); }' -lcriterion; }

# What autograder/fuzz links: Debian and Ubuntu ship the runtime apart from clang.
have_fuzzer() { CC=$FUZZ_CC links 'int LLVMFuzzerTestOneInput(void) { return 0; }' \
    -fsanitize=fuzzer,address,undefined; }

# python_version PYTHON: 3.11, or nothing if it does not start.
python_version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

# torch_version PYTHON: the version that it would import, from metadata: importing takes seconds.
torch_version() {
    "$1" -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null || true
}

# has_torch PYTHON: the pinned version is there, in any build (2.13.0, 2.13.0+cpu).
has_torch() {
    case $(torch_version "$1") in
    "$TORCH" | "$TORCH"+*) ;;
    *) return 1 ;;
    esac
}

# What grading runs on: the Makefile takes $PYTHON if it is there, else this one.
have_grading_python() { python3 -c 'import tomllib' 2>/dev/null; }
have_cuda_syntax() { command -v clang++ >/dev/null || command -v nvcc >/dev/null; }

# have_packages PYTHON: the pinned torch, numpy and pytest with xdist are there.
have_packages() {
    has_torch "$1" || return 1
    "$1" -c 'from importlib.util import find_spec as f; import sys
sys.exit(not all(map(f, ("numpy", "pytest", "xdist"))))' 2>/dev/null
}

# have_plotting PYTHON: what the report's scripts import.
have_plotting() {
    "$1" -c 'from importlib.util import find_spec as f; import sys
sys.exit(not all(map(f, ("matplotlib", "jinja2"))))' 2>/dev/null
}

# have_files NAME...: TeX finds each of these files.
have_files() { kpsewhich "$@" 2>/dev/null | wc -l | grep -qx $#; }
have_latex() {
    command -v latexmk >/dev/null && command -v pdflatex >/dev/null &&
        command -v pdftotext >/dev/null &&
        have_files booktabs.sty lmodern.sty microtype.sty caption.sty xcolor.sty hyperref.sty
}
have_chinese() {
    command -v xelatex >/dev/null && have_files ctex.sty xeCJK.sty fontspec.sty &&
        ls /usr/share/fonts/*/droid/DroidSansFallbackFull.ttf >/dev/null 2>&1
}

# A GPU that a CUDA build of torch could use.
have_gpu() { [ -e /dev/nvidia0 ] || [ -e /dev/dxg ] || nvidia-smi -L >/dev/null 2>&1; }
