#!/bin/bash
# try_folder.sh FOLDER [options of hostcuda] [-- arguments of the programs]
#
# Which programs of a folder of CUDA files does hostcuda compile, which run to their end, why not
# the others: a line each, and their number. A program is a source with a main and the folder's
# other sources without one but the included ones; a folder without a .cu file is passed over.
# HOSTCUDA names the command, LIMIT the seconds that a program may run (60).
#
#   hostcuda/corpus/try_folder.sh ~/cuda-samples/Samples/0_Introduction -I ~/cuda-samples/Common
set -uo pipefail
export LC_ALL=C
hostcuda=$(readlink -f "$(command -v "${HOSTCUDA:-hostcuda}")") || {
    echo "try_folder.sh: no command hostcuda: make -C hostcuda install, or HOSTCUDA=file" >&2
    exit 2
}
[ $# -gt 0 ] && [ -d "$1" ] || {
    echo "usage: try_folder.sh FOLDER [options of hostcuda] [-- arguments of the programs]" >&2
    exit 2
}
folder=$1 options=() arguments=()
shift
while [ $# -gt 0 ]; do
    case $1 in
    --) shift && arguments=("$@") && break ;;
    -I) options+=(-I "$(readlink -f "$2")") && shift ;;
    -I*) options+=(-I "$(readlink -f "${1#-I}")") ;;
    *) options+=("$1") ;;
    esac
    shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=0 compiled=0 ran=0

has_main() { grep -qE '(^|[^A-Za-z0-9_])main[[:space:]]*\(' "$1"; }

say() { printf '%-9s %-34s %s\n' "$1" "$2" "${3:0:200}"; }

# run_it NAME FOLDER: in a copy of its folder, where it may write.
run_it() {
    local status named
    rm -rf "$work/place" && cp -RL "$2" "$work/place" && cd "$work/place" || exit 1
    timeout -k 5 "${LIMIT:-60}" "$work/program" "${arguments[@]}" </dev/null >"$work/said" 2>&1
    status=$?
    named=$(grep -aom1 '[^ ]*: hostcuda \[.*' "$work/said")
    cd - >/dev/null || exit 1
    if [ $status -eq 124 ]; then
        say slow "$1" "more than ${LIMIT:-60} s"
    elif [ -n "$named" ]; then
        say named "$1" "$named"
    elif [ $status -ne 0 ]; then
        say fails "$1" "status $status: $(tr -d '\0' <"$work/said" | grep -v '^ *$' | tail -1)"
    else
        say runs "$1" ""
        ran=$((ran + 1))
    fi
}

# try MAIN PART…: from within their folder, whose headers they name by "…".
try() {
    local name=${1#"$folder"/} place refusal
    place=$(dirname "$1")
    programs=$((programs + 1))
    grep -qs cublas "$@" && set -- "$@" -lcublas
    if (cd "$place" && "$hostcuda" "${options[@]}" -o "$work/program" "${@/#"$place/"/}") \
        >"$work/said" 2>&1; then
        compiled=$((compiled + 1))
        run_it "$name" "$place"
    elif refusal=$(grep -m1 'supported by hostcuda' "$work/said"); then
        say refused "$name" "$refusal"
    else
        say 'no' "$name" "$(grep -m1 -E 'error|undefined reference|hostcuda:' "$work/said")"
    fi
}

while read -r place; do
    mains=() parts=()
    for file in "$place"/*.cu "$place"/*.cpp "$place"/*.c "$place"/*.cc; do
        [ -f "$file" ] || continue
        if has_main "$file"; then
            mains+=("$file")
        elif ! grep -qsE "#[[:space:]]*include[[:space:]]*[\"<]([^\">]*/)?${file##*/}[\">]" \
            "$place"/*; then
            parts+=("$file")
        fi
    done
    for file in "${mains[@]}"; do try "$file" "${parts[@]}"; done
done < <(find -L "$folder" -name '*.cu' -printf '%h\n' | sort -u)

echo "$programs programs: $compiled compile, $ran of them run to their end without a mistake named"
[ $programs -gt 0 ] && [ $ran -eq $programs ]
