#!/bin/bash
# needs.sh GOAL...: one line if this machine lacks what these make goals need, with the command that
# fixes it; nothing otherwise. The Makefile asks whenever it is read, before any tool says it in
# words of its own. So what is there is noted in build/has, and looked for again when programs or
# search paths change. SETUP: what was typed for make and is to be typed for its setup, too.
set -uo pipefail
. tools/probe.sh
setup="make setup $*${SETUP:+ $(sed -E "s/'([A-Za-z0-9_.\/+-]*)'/\1/g" <<<"$SETUP")}"
needs=$(for goal; do needs_of "$goal"; done | tr ' ' '\n' | awk 'NF && !seen[$0]++')
[ -n "$needs" ] || exit 0

stop() {
    echo "$goals: $1"
    exit 0
}
goals=$*

# ---- room to write -------------------------------------------------------------------------------

# room FOLDER MB
room() {
    local free
    free=$(df -Pm "$1" 2>/dev/null | awk 'NR == 2 { print $4 }')
    [ "${free:-$2}" -ge "$2" ] ||
        stop "the disk is full: $free MB are free in $1, at least $2 are needed (try make clean)"
}
if grep -qxE 'compiler|grading' <<<"$needs"; then
    (mkdir -p build/has && : >build/has/room) 2>/dev/null ||
        stop "$PWD/build cannot be written: copy gradlab to a folder of your own (cp -r), and type \
it there"
    room build 100
    room "${TMPDIR:-/tmp}" 20
fi

# ---- what is missing -----------------------------------------------------------------------------

# Everything that decides what the probes find, as far as it shows without running them.
machine=$(
    printf '%s\n' "$PATH" "$CC" "$CXX" "$PYTHON" "$FUZZ_CC" "${NVCC:-}" "${CLANGXX:-}" \
        "${CPATH:-}" "${C_INCLUDE_PATH:-}" "${CPLUS_INCLUDE_PATH:-}" "${LIBRARY_PATH:-}" \
        "${CUBLAS_HOME:-}"
    command -v ${CC##* } ${CXX##* } "$PYTHON" python3 nm objcopy objdump addr2line nvcc clang \
        clang++ curl clang-format latexmk pdflatex xelatex pdftotext zstd mmdebstrap buildah \
        sphinx-build msgfmt msgmerge
    cat tools/probe.sh
)
lacking=
for need in $needs; do
    case $lacking$need in *"C compiler with"*open* | *"C compiler with"*criterion) continue ;; esac
    noted=build/has/$need
    if [ -r "$noted" ] && [ "$(<"$noted")" = "$machine" ]; then continue; fi
    if "have_$need" 2>/dev/null; then
        echo "$machine" 2>/dev/null >"$noted"
        continue
    fi
    case $need in
    shm)
        stop "/dev/shm cannot be written, and Criterion needs it: as root, mount -t tmpfs none \
/dev/shm; for a container, --tmpfs /dev/shm"
        ;;
    nvcc) stop "no nvcc here: install NVIDIA's CUDA toolkit, or say NVCC=path" ;;
    packages | plotting)
        [ "$PYTHON" = .venv/bin/python ] || setup="$PYTHON -m pip install -r $REQUIREMENTS \
-r report/requirements.txt"
        ;;
    esac
    about "$need"
    lacking+="${lacking:+, no }$words"
done
[ -z "$lacking" ] || stop "no $lacking: run $setup"
exit 0
