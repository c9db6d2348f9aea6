#!/bin/bash
# legality.sh [-I dir | -isystem dir | -D name]... FILE.cu: is it CUDA, or only C++ that a host
# compiler takes? hostcuda compiles kernels for the CPU, so a kernel that calls std::sort or reads a
# host variable would run here and fail to compile on a GPU machine. nvcc judges where it is
# installed, else clang++ with declarations of our own (legality/prelude.h), without any toolkit.
#
# Exit 0: legal. 1: not, with a line for each reason, which may stand in a header:
# `FILE:LINE: error: this is not legal CUDA: why`.
# 2: could not judge, and why. NVCC and CLANGXX name the compilers, NVCC=none has none;
# HOSTCUDA_LEGALITY=nvcc or clang wants one of them, quick prefers clang. HOSTCUDA_LEGALITY_CACHE=
# folder keeps what makes the next file quicker; after HOSTCUDA_LEGALITY_SECONDS=30 of CPU time, or
# when it wants more than HOSTCUDA_LEGALITY_GB=8 of memory, a compiler is stopped.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flags=() file=
while [ $# -gt 0 ]; do
    case $1 in
    -I | -isystem | -D) flags+=("$1" "${2:?$1 wants a value}") && shift ;;
    -I* | -D*) flags+=("$1") ;;
    -*) echo "legality.sh: $1 is not an option; -I, -isystem and -D are" >&2 && exit 2 ;;
    *) [ -z "$file" ] || { echo "legality.sh: one file at a time" >&2 && exit 2; } && file=$1 ;;
    esac
    shift
done
[ -n "$file" ] || { echo "usage: legality.sh [-I dir]... FILE.cu" >&2 && exit 2; }
[ -r "$file" ] || { echo "legality.sh: cannot read $file" >&2 && exit 2; }

nvcc=${NVCC:-nvcc} clang=${CLANGXX:-}
usual=/usr/local/cuda/bin/nvcc
[ -n "${NVCC:-}" ] || command -v nvcc >/dev/null || { [ -x $usual ] && nvcc=$usual; }
for name in clang++ clang++-{24..14}; do
    [ -z "$clang" ] && command -v "$name" >/dev/null && clang=$name
done
case ${HOSTCUDA_LEGALITY:-} in
'') way=$(command -v "$nvcc" >/dev/null && echo nvcc || echo clang) ;;
quick) way=$([ -z "$clang" ] && command -v "$nvcc" >/dev/null && echo nvcc || echo clang) ;;
nvcc | clang) way=$HOSTCUDA_LEGALITY ;;
*)
    echo "legality.sh: HOSTCUDA_LEGALITY=$HOSTCUDA_LEGALITY: nvcc, clang or quick is wanted" >&2
    exit 2
    ;;
esac
if [ $way = nvcc ] && ! command -v "$nvcc" >/dev/null; then
    echo "legality.sh: no nvcc found; name it with NVCC=" >&2 && exit 2
fi
if [ $way = clang ] && ! command -v "${clang:-none}" >/dev/null; then
    echo "legality.sh: neither nvcc nor clang++ is installed, one of them must judge what is" \
        "CUDA: apt-get install clang" >&2 && exit 2
fi

said=$(mktemp) judged=0 seconds=${HOSTCUDA_LEGALITY_SECONDS:-30}
memory=${HOSTCUDA_LEGALITY_GB:-8}
trap 'rm -f "$said"' EXIT

# A compiler's command. Far more than a file needs: a template that grows without end costs its own
# file alone. What is said counts as output, too.
limited() {
    # (who may set no limit of time may have one already)
    ({ [ "$(ulimit -St)" -le "$seconds" ] 2>/dev/null || ulimit -t "$seconds"; } &&
        ulimit -v "${memory}000000" -f 1000000 && exec "$@") 2>&1 </dev/null |
        head -c 1000000
    return "${PIPESTATUS[0]}"
}

# The warnings made errors: host code and device code use each other's functions and variables.
# cuBLAS is searched for behind all else (legality/nvcc): many a toolkit comes without.
with_nvcc() {
    limited "$nvcc" -x cu -std=c++17 -arch=sm_80 --extended-lambda --cuda -o /dev/null \
        "${flags[@]}" -Xcompiler "-idirafter,$here/legality/nvcc" \
        -diag-error 20011,20013,20014,20015,20091,20092,20093,20094,20095,20096 "$file" \
        >"$said" || judged=$?
}

# Which clang, as far as the outside says, and the folder of its own headers. To ask it takes as
# long as a short file does, so what it said is kept, too.
about() {
    local kept
    this=$(stat -Lc '%n %s %Y' "$(command -v "$clang")")
    kept=${HOSTCUDA_LEGALITY_CACHE:+$HOSTCUDA_LEGALITY_CACHE/clang-$(sha256sum <<<"$this" |
        cut -c1-16)}
    if [ -n "$kept" ] && [ -s "$kept" ]; then
        read -r builtin <"$kept"
        [ ! -d "$builtin" ] || return 0
    fi
    builtin=$("$clang" -print-resource-dir)/include
    [ -z "$kept" ] || { mkdir -p "${kept%/*}" && echo "$builtin" >"$kept.$$" &&
        mv "$kept.$$" "$kept"; }
}

# How to read the prelude: from the header, or, where HOSTCUDA_LEGALITY_CACHE names a folder, from
# there, parsed once: that is most of the time of a short file. $1: host or device; then the
# compiler's options.
prelude() {
    local side=$1 key pch command header=$here/legality/prelude.h
    shift
    seen=(-include "$header")
    [ -n "${HOSTCUDA_LEGALITY_CACHE:-}" ] || return 0
    key=$({ echo "$this" && cat "$header" "$here"/include/*.h "$here"/include/hostcuda/*.h &&
        printf '%s\n' "$@"; } | sha256sum | cut -c1-16)
    pch=$HOSTCUDA_LEGALITY_CACHE/$side-$key.pch
    if [ ! -e "$pch" ]; then
        mkdir -p "$HOSTCUDA_LEGALITY_CACHE"
        # (the driver makes no such file of CUDA, so its own call is changed; no times are recorded)
        command=$("$clang" "$@" -fsyntax-only "-###" "$header" 2>&1 | grep '"-cc1"' | head -1)
        command=${command/\"-fsyntax-only\"/-emit-pch -fno-pch-timestamp -o \"\$pch.$$\"}
        eval "$command" >/dev/null 2>&1 &&
            mv "$pch.$$" "$pch" || return 0
    fi
    seen=(-Xclang -include-pch -Xclang "$pch")
}

# Once as the GPU's compiler sees the file and once as the host's.
with_clang() {
    local side this builtin options seen
    about
    for side in device host; do
        options=(-x cuda -std=c++17 --cuda-$side-only --cuda-gpu-arch=sm_75
            -nocudainc -nocudalib -nobuiltininc --cuda-path=/nonexistent -Wno-everything
            -Xclang -fno-cuda-host-device-constexpr -fno-caret-diagnostics -ferror-limit=0
            -fno-crash-diagnostics # a code generator that breaks down leaves no files behind
            "${flags[@]}" -I "$here/include" -isystem "$builtin")
        prelude $side "${options[@]}"
        limited "$clang" "${options[@]}" "${seen[@]}" -fsyntax-only "$file" >>"$said" || judged=$?
        [ $judged -le 1 ] || return 0 # it did not end by itself, nor would the other side
        # Who has no code generator for GPUs judges without; what is wrong, shows when it runs.
        [ $side$judged = device0 ] && grep -q __shared__ "$file" &&
            limited "$clang" "${options[@]}" "${seen[@]}" -S -o - "$file" | $demangle |
            awk -f "$here/legality/shared.awk" >>"$said"
    done
    ! grep -q '^ptxas error' "$said" || judged=1
}

demangle=$(command -v c++filt || echo cat)
with_$way 2>/dev/null # (the shell's own line on whom a limit ended)
[ $judged = 0 ] && exit 0
$demangle <"$said" | awk -v wanted="$file" -f "$here/legality/reasons.awk" && exit 1
# (who was killed says so or nothing; nvcc ends with 255 of its own accord, clang when killed)
if ! [ -s "$said" ] || grep -qE '[Kk]illed|signal|out of memory|bad_alloc' "$said"; then
    echo "legality.sh: ${!way} was stopped: for this file it took more than $seconds s," \
        "$memory GB or 1 GB of output; is there a macro or a template that grows without end?" >&2
else
    echo "legality.sh: ${!way} failed without naming a line: $(head -20 "$said")" >&2
fi
exit 2
