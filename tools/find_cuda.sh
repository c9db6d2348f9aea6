#!/bin/bash
# find_cuda.sh: prints "NVCC INCLUDE LIBRARY" (nvcc, the folder of cublas_v2.h, the cuBLAS library),
# nothing where CUDA code cannot be built, or "error: ..." where a place was named and is wrong.
#   NVCC, CUBLAS_HOME   where to look instead of searching; NVCC=none builds without CUDA
#   PYTHON              its site-packages may hold PyPI's nvidia-cublas
# The Makefile asks this each time it is read, so it starts no program that takes long.
set -uo pipefail
shopt -s nullglob

NVCC=${NVCC:-} CUBLAS_HOME=${CUBLAS_HOME:-}
[ "$NVCC" != none ] || exit 0
if [ -n "$NVCC" ]; then
    command -v "$NVCC" >/dev/null || { echo "error: NVCC=$NVCC is no program"; exit 0; }
fi
for nvcc in ${NVCC:-nvcc /usr/local/cuda/bin/nvcc}; do
    nvcc=$(command -v "$nvcc") && break
done
[ -n "$nvcc" ] || exit 0

# cublas_in FOLDER: prints the answer if headers and library lie in this folder. In full: the
# plug-in gets this place, and programs are started from anywhere.
cublas_in() {
    local include library
    set -- "$(cd "$1" 2>/dev/null && pwd)"
    [ -n "$1" ] || return 1
    for include in "$1"/include "$1"/targets/*/include; do
        [ -e "$include/cublas_v2.h" ] || continue
        for library in "$1"/{lib64,lib,targets/*/lib,lib/*-linux-gnu}/libcublas.so{,.[0-9]*}; do
            [ ! -e "$library" ] || { echo "$nvcc $include $library"; return 0; }
        done
    done
    return 1
}

if [ -n "$CUBLAS_HOME" ]; then
    cublas_in "$CUBLAS_HOME" ||
        echo "error: CUBLAS_HOME=$CUBLAS_HOME has no include/cublas_v2.h or no lib/libcublas.so"
    exit 0
fi
# Beside nvcc; in the toolkit's usual place, where nvcc is a wrapper of it; in a Python.
for folder in "$(dirname "$(readlink -f "$nvcc")")/.." "${CUDA_HOME:-/usr/local/cuda}" /usr; do
    cublas_in "$folder" && exit 0
done
for python in "${PYTHON:-.venv/bin/python}" python3; do
    python=$(command -v "$python") || continue
    for folder in "$(dirname "$python")"/../lib/python3*/site-packages/nvidia/{cu1[3-9],cublas}; do
        cublas_in "$folder" && exit 0
    done
done
exit 0
