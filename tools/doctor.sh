#!/bin/bash
# doctor.sh: what was found, what is missing, what that costs, and the command that fixes it.
# Changes nothing and always exits 0: it reports, it does not judge.
set -uo pipefail
. tools/probe.sh
GRADLAB_DATA=${GRADLAB_DATA:-data}

has() { printf '  ok       %-12s %s\n' "$1" "$2"; }
# lacks WHAT FOUND COST MEND
lacks() {
    printf '  missing  %-12s %s\n' "$1" "$2"
    printf '           %-12s costs: %s\n' "" "$3"
    printf '           %-12s fix:  %s\n' "" "$4"
}

with= # what the setup that fixes it is to be told
[ "$CC" = gcc ] || with=" CC=$CC"

echo "to build and train"
if have_compiler; then
    has compiler "$("$CC" --version | head -1)"
    if have_openmp; then
        has OpenMP "$(nproc) cores"
    else
        lacks OpenMP "$CC does not link -fopenmp" "nothing builds" "make setup train$with"
    fi
    if have_openblas; then
        has OpenBLAS "$(basename "$(readlink -f "$("$CC" -print-file-name=libopenblas.so)")")"
    else
        lacks OpenBLAS "no cblas.h or libopenblas" "nothing builds" "make setup train$with"
    fi
else
    lacks compiler "'$CC' builds no program" "nothing builds" "make setup train$with"
fi

echo "labs, tests, and to compare with PyTorch"
if have_criterion; then
    has Criterion "$(readlink -f "$("$CC" -print-file-name=libcriterion.so)" | xargs basename)"
else
    lacks Criterion "no criterion/criterion.h or libcriterion" \
        "the labs (make lab0 …, make grade) and make test" "make setup lab1$with"
fi
if have_fuzzer; then
    has libFuzzer "$("$FUZZ_CC" --version | head -1)"
else
    lacks libFuzzer "'$FUZZ_CC' links no -fsanitize=fuzzer" "make fuzz; make test fuzzes nothing" \
        "make setup test"
fi
if have_packages; then
    has Python "$(python_version "$PYTHON") with torch $(torch_version "$PYTHON") ($PYTHON)"
else
    lacks Python "$PYTHON lacks some of torch $TORCH, numpy, pytest" \
        "make test, baseline, parity and bench-step" "make setup test"
fi

echo "to build the report"
if have_latex && have_plotting; then
    has LaTeX "$(pdflatex --version | head -1), matplotlib, jinja2"
else
    lacks LaTeX "no LaTeX with its packages, or $PYTHON lacks matplotlib or jinja2" "make report" \
        "make setup report"
fi

echo "CUDA C on the CPU (DEVICE=hostcuda: the same .cu files without a GPU)"
if have_cxx; then
    has hostcuda "$($CXX --version | head -1)"
else
    lacks hostcuda "'$CXX' builds no C++17 program" "DEVICE=hostcuda is not built" \
        "make setup train$with"
fi

echo "to grade what others hand in"
grading=$(command -v "$PYTHON" || command -v python3)
if [ -z "$grading" ]; then
    lacks Python "neither $PYTHON nor python3" "make grade" "make setup lab1$with"
elif ! have_grading; then
    lacks Python "$grading is older than 3.11 and has no tomli" "make grade" "make setup lab1$with"
elif sandbox=$("$grading" autograder/grade/sandbox.py 2>&1); then
    has sandbox "$sandbox"
else
    lacks sandbox "$sandbox" "make grade SUBMISSION= grades nobody else's work" \
        "install bubblewrap and allow user namespaces, or grade as root in a container"
fi

if why=$(have_legality 2>&1); then
    has legality "nvcc or clang++ says what is not legal CUDA"
else
    lacks legality "$(head -1 <<<"$why")" "make grade" "make setup grade"
fi
if ! have_shm; then
    lacks /dev/shm "cannot be written, and Criterion needs it" "make grade, make test" \
        "as root: mount -t tmpfs none /dev/shm (of a container: --tmpfs /dev/shm)"
fi

echo "CUDA (DEVICE=cuda; everything else works without)"
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
read -r found _ library <<<"$(tools/find_cuda.sh)"
if [ "$found" = error: ]; then
    lacks CUDA "$(tools/find_cuda.sh)" "nothing builds" "give the right place, or none"
elif [ -n "$found" ]; then
    has nvcc "$("$found" --version | sed -n 's/.*release \([^,]*\),.*/\1/p')"
    has cuBLAS "$library"
elif [ -n "$nvcc" ] && [ "$nvcc" != none ]; then
    has nvcc "$("$nvcc" --version | sed -n 's/.*release \([^,]*\),.*/\1/p')"
    lacks cuBLAS "not in nvcc's toolkit, nor in $PYTHON or python3" "DEVICE=cuda is not built" \
        "make setup cuda-all (CUDA 13), or CUBLAS_HOME=folder with include/ and lib/"
else
    lacks nvcc "no CUDA toolkit" "DEVICE=cuda is not built" \
        "install NVIDIA's toolkit yourself if you want it"
fi
if gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null); then
    has GPU "$(head -1 <<<"$gpu") (driver)"
else
    lacks GPU "no GPU or no driver" "DEVICE=cuda stops with a message, DEVICE=auto is cpu" \
        "none needed"
fi

echo "data sets in GRADLAB_DATA=$GRADLAB_DATA"
# data_set NAME BYTES COST MEND FILE...: every file there, with this many bytes together.
data_set() {
    local name=$1 bytes=$2 cost=$3 fix=$4 dir=$GRADLAB_DATA/$1 file here=0
    shift 4
    for file in "$@"; do
        [ -f "$dir/$file" ] && here=$((here + $(stat -Lc %s "$dir/$file")))
    done
    if [ "$here" = "$bytes" ]; then
        has "$name" "$dir, complete"
    elif [ "$here" = 0 ]; then
        lacks "$name" "no files in $dir" "$cost" "$fix"
    else
        lacks "$name" "$dir is incomplete: $here of $bytes bytes" "$cost" "$fix"
    fi
}
cifar_form=(data_batch_{1,2,3,4,5}.bin test_batch.bin)
data_set cifar10 184380000 "DATASET=auto trains on shapes10" "see data/README.md" "${cifar_form[@]}"
data_set mnist 54950048 "NET=m has nothing to train on" "see data/README.md" \
    {train-images-idx3,train-labels-idx1,t10k-images-idx3,t10k-labels-idx1}-ubyte
data_set shapes10 184380000 "a few seconds when it is first used" "make data DATASET=shapes10" \
    "${cifar_form[@]}"

echo "room"
has disk "$(df -Ph . | awk 'NR == 2 { print $4 }') free here (torch needs 1 GB, data sets 0.5 GB)"
has memory "$(awk '/^MemAvailable/ { printf "%.1f GiB available", $2 / 1048576 }' /proc/meminfo)"
exit 0
