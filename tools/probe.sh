# probe.sh: what this machine has, and what goals need; sourced by setup.sh, doctor.sh and needs.sh.
# Everything is found by using it (a test program, an import), never by asking a package manager, so
# that a compiler module, a hand-built OpenBLAS or somebody's own Python counts as well as a package
# does.

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
        $CXX -std=c++17 -Ihostcuda/include -x c++ -o /dev/null - >/dev/null 2>&1
}
have_openmp() { links '#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }' -fopenmp; }
have_openblas() { links '#include <cblas.h>
#include <openblas_config.h>
int main(void) { openblas_set_num_threads(1); return 0; }' -lopenblas; }
# What libtl.so takes in; the packages that hold OpenBLAS hold both.
have_openblas_archive() {
    [ -e "$(pkg-config --variable=libdir openblas 2>/dev/null)/libopenblas.a" ] ||
        [ -e "$($CC -print-file-name=libopenblas.a 2>/dev/null)" ]
}
have_criterion() { links '#include <criterion/criterion.h>
Test(probe, links) { cr_assert(1); }' -lcriterion; }

# What tests/fuzz links: Debian and Ubuntu ship the runtime apart from clang.
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

# What grading runs on: the Makefile takes $PYTHON if it is there, else python3. (Python 3.10 reads
# the list of claims by tomli.)
have_grading() {
    local python
    python=$(command -v "$PYTHON" || command -v python3) || return 1
    "$python" -c 'import tomllib' 2>/dev/null || "$python" -c 'import tomli' 2>/dev/null
}
have_binutils() { command -v nm objcopy objdump addr2line | wc -l | grep -qx 4; }
# Criterion lays its memory there.
have_shm() { (: >"/dev/shm/gradlab-$$") 2>/dev/null && rm -f "/dev/shm/gradlab-$$"; }

# What says which .cu file is CUDA: an nvcc or a clang++ that judges a header with everything. Why
# none does is printed to stderr.
have_legality() {
    local dir rc=0
    dir=$(mktemp -d)
    echo '#include "tl/cublas.h"' >"$dir/probe.cu"
    HOSTCUDA_LEGALITY=quick hostcuda/legality.sh -Itl/include "$dir/probe.cu" >&2 || rc=1
    rm -rf "$dir"
    return $rc
}

# The pinned torch, numpy, pytest with xdist and expecttest, and PyYAML are there.
have_packages() {
    has_torch "$PYTHON" || return 1
    "$PYTHON" -c 'from importlib.util import find_spec as f; import sys
sys.exit(not all(map(f, ("numpy", "pytest", "xdist", "expecttest", "yaml"))))' 2>/dev/null
}

# What the report's scripts import.
have_plotting() {
    "$PYTHON" -c 'from importlib.util import find_spec as f; import sys
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

have_curl() { command -v curl >/dev/null; }
have_python3() { command -v python3 >/dev/null; }
have_clang_format() { command -v clang-format >/dev/null; }
have_clang() { command -v "${CLANGXX:-clang++}" >/dev/null; }
have_nvcc() {
    [ "${NVCC:-}" != none ] && command -v "${NVCC:-nvcc}" /usr/local/cuda/bin/nvcc >/dev/null
}
have_gdb() { command -v gdb >/dev/null; }
have_entr() { command -v entr >/dev/null; }
have_zsh() { command -v zsh >/dev/null; }
have_bubblewrap() { command -v bwrap >/dev/null; }
have_zstd() { command -v zstd >/dev/null; }
# (Debian has the daemons in sbin, which is not on everybody's path)
have_slurm() {
    PATH=$PATH:/usr/sbin command -v slurmctld slurmd sbatch munged | wc -l | grep -qx 4
}
have_mmdebstrap() { command -v mmdebstrap >/dev/null; }
have_sphinx() {
    command -v sphinx-build >/dev/null && ls /usr/lib/python3/dist-packages 2>/dev/null |
        grep -cxE 'myst_parser|furo' | grep -qx 2
}
have_gettext() { command -v msgfmt msgmerge | wc -l | grep -qx 2; }
have_buildah() { command -v buildah >/dev/null; }
have_cublas() { tools/find_cuda.sh | grep -qv '^error:'; }

# A GPU that a CUDA build of torch could use.
have_gpu() { [ -e /dev/nvidia0 ] || [ -e /dev/dxg ] || nvidia-smi -L >/dev/null 2>&1; }

# ---- what goals need -----------------------------------------------------------------------------

# needs_of GOAL: what it cannot do without, each a have_ function above. FROM, DRAFT, DATASET and
# GRADLAB_DATA are the options of that name; ALONE: SAN=1 or CHECK=1, the C suites run alone.
needs_of() {
    local build="compiler openmp openblas" labs="cxx criterion grading binutils"
    if [ -d given ]; then labs=${labs/criterion /}; fi # a handout's graders hold it
    case $1 in
    train | predict | prototypes | bench) echo $build ;;
    show) echo $build grading ;; # and a picture where matplotlib is
    lib) echo $build openblas_archive cxx binutils ;;
    bridge | bridge-bench) echo $build openblas_archive cxx binutils packages ;;
    lab[0-9]) echo $build $labs ;;
    grade | gradcheck | grade-class | regrade | replay | grade-cost | grader-soak | hostile | \
        broken | mutants | taskwise | labs-check)
        echo $build $labs legality shm
        ;;
    watch) echo $build $labs legality shm entr ;;
    debug) echo $build $labs legality shm gdb ;;
    bundle | claims | export | forget | gradescope | grade-slurm | merge | restore | secret | \
        similarity | skeletons | submit | update)
        echo grading
        ;;
    handout | handout-check) echo $build cxx criterion grading binutils legality shm ;;
    image) echo mmdebstrap buildah ;;
    site) echo grading sphinx ;;
    update-po) echo grading sphinx gettext ;;
    data)
        if [ "${DATASET:-}" = shapes10 ]; then
            echo $build
        elif [ -z "${FROM:-}" ] && [ ! -d "${GRADLAB_DATA:-data}/${DATASET:-cifar10}" ]; then
            echo curl
        fi
        ;;
    baseline | parity | bench-step | bench-ops) echo $build packages ;;
    report | report-zh)
        if [ -z "${FROM:-}${DRAFT:-}" ]; then echo $build packages; fi
        echo plotting latex
        if [ "$1" = report-zh ]; then echo chinese; fi
        ;;
    report-test) echo packages plotting latex ;;
    test | test-all)
        echo $build $labs shm packages
        if [ -z "${ALONE:-}" ]; then
            echo openblas_archive legality plotting latex curl zstd gettext
        fi
        ;;
    test-without-twin) echo $build $labs shm legality plotting latex curl zstd gettext ;;
    test-steps) echo $build $labs ;;
    hostcuda-test) echo $build cxx ;;
    hostcuda-bench) echo $build cxx grading ;;
    hostcuda-legality) echo cxx clang ;;
    fuzz) echo fuzzer python3 ;;
    format-check) echo clang_format ;;
    cuda-all) echo $build nvcc cublas ;;
    esac
}

# about NEED: sets `words`, what it is, and `debian`, the packages that hold it; the latter are none
# where setup.sh goes another way, or none at all.
about() {
    local gcc=gcc cxx=g++ openmp=gcc
    case $CC in *clang*) gcc=clang cxx="clang g++" openmp="clang libomp-dev" ;; esac
    case $1 in
    compiler) words="C compiler with its headers" debian="$gcc libc6-dev" ;;
    openmp) words="OpenMP for $CC" debian=$openmp ;;
    openblas) words="OpenBLAS with its headers" debian=libopenblas-dev ;;
    openblas_archive) words="OpenBLAS as an archive, libopenblas.a" debian=libopenblas-dev ;;
    cxx) words="C++17 compiler, for CUDA C on the CPU" debian=$cxx ;;
    criterion) words="Criterion 2.4 with its headers" debian=libcriterion-dev ;;
    grading)
        words="Python 3.11 or newer" debian=python3
        if have_python3; then debian=python3-tomli; fi
        ;;
    python3) words="Python 3" debian=python3 ;;
    gdb) words=gdb debian=gdb ;;
    entr) words="entr, which waits for files to be saved" debian=entr ;;
    zsh) words="zsh, in which TAB is pressed" debian=zsh ;;
    bubblewrap) words="bubblewrap, for the box that submissions run in" debian=bubblewrap ;;
    zstd) words="zstd, for what compilers packed with it" debian=zstd ;;
    slurm) words="Slurm and munge, for a cluster on this host" debian="slurm-wlm munge" ;;
    mmdebstrap) words="mmdebstrap, to make a Debian of its packages" \
        debian="mmdebstrap debian-archive-keyring" ;;
    sphinx) words="Sphinx with MyST and Furo" debian="python3-sphinx python3-myst-parser furo" ;;
    gettext) words="GNU gettext, for texts in other languages" debian=gettext ;;
    buildah) words="buildah, to make an image of it" debian=buildah ;;
    binutils) words="binutils (nm, objcopy, objdump, addr2line)" debian=binutils ;;
    legality) words="nvcc or clang++ that works, to judge what is CUDA" debian=clang ;;
    clang) words="clang++" debian=clang ;;
    curl) words=curl debian="curl ca-certificates" ;;
    fuzzer) words="clang with libFuzzer" debian=clang ;;
    clang_format) words=clang-format debian=clang-format ;;
    latex)
        words="LaTeX with latexmk, booktabs and Latin Modern, and poppler's tools"
        debian="latexmk texlive-latex-base texlive-latex-recommended texlive-pictures lmodern \
            poppler-utils"
        ;;
    chinese)
        words="xelatex with ctex, and the font Droid Sans Fallback"
        debian="texlive-xetex texlive-lang-chinese fonts-droid-fallback"
        ;;
    packages)
        words="torch $TORCH, numpy, pytest, pytest-xdist, expecttest and pyyaml in $PYTHON" debian=
        ;;
    plotting) words="matplotlib and jinja2 in $PYTHON" debian= ;;
    cublas) words="cuBLAS for the nvcc that is here" debian= ;;
    nvcc) words="nvcc, which is NVIDIA's to install (its CUDA toolkit)" debian= ;;
    shm) words="/dev/shm to write to, which Criterion needs" debian= ;;
    esac
}
