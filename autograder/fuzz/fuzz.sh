#!/bin/bash
# fuzz.sh SECONDS [TARGET...]: runs each fuzz target that long (libFuzzer under ASan and UBSan), on
# a corpus of its own, which starts from seeds.py and grows under build/fuzz.
#
# Says executions a second and coverage; ends with `N passed, N failed`. What a target finds is left
# in build/fuzz/<target>-crash-* with the command that runs it again.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:?usage: fuzz.sh SECONDS [record] [cifar10] [mnist]}
shift
[ $# -gt 0 ] || set -- record cifar10 mnist
build=build/fuzz
compiler=${FUZZ_CC:-clang}
flags=(-std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Wall -Wextra
    -Ilabs/include -I.)
python3 autograder/fuzz/seeds.py "$build/seeds" || exit 2

command -v "$compiler" >/dev/null || {
    echo "fuzz: no $compiler; apt-get install clang libclang-rt-14-dev (14: your release's)" >&2
    exit 2
}

make_target() { # NAME
    local common=labs/common
    case $1 in
    record)
        "$compiler" "${flags[@]}" -o "$build/record" autograder/fuzz/fuzz_record.c \
            $common/{record_read,record_write,crc32,status}.c
        ;;
    cifar10 | mnist)
        "$compiler" "${flags[@]}" -Wl,--wrap=open,--wrap=fstat,--wrap=read,--wrap=close \
            -DFUZZ_SET="$1" -o "$build/$1" autograder/fuzz/fuzz_dataset.c $common/dataset*.c \
            $common/shapes10_*.c \
            $common/{alloc,cifar10,mnist,rng,status,crc32}.c -lm
        ;;
    *) echo "fuzz: no target \"$1\": record, cifar10 or mnist" >&2 && return 1 ;;
    esac
}

passed=0 failed=0
for target in "$@"; do
    log=$build/$target.log
    mkdir -p "$build/corpus-$target"
    if make_target "$target" && "$build/$target" -max_total_time="$seconds" -len_control=0 \
        -max_len=4096 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$build/$target-" \
        "$build/corpus-$target" "$build/seeds/$target" >"$log" 2>&1; then
        passed=$((passed + 1))
        rate=$(awk '/average_exec_per_sec/ {print $2}' "$log")
        runs=$(awk '/number_of_executed_units/ {print $2}' "$log")
        edges=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d ' ' -f 2)
        echo "$target: $runs runs in $seconds s, $rate a second, $edges edges, nothing found"
    else
        failed=$((failed + 1))
        grep -E 'ERROR|SUMMARY|Test unit written' "$log" 2>/dev/null
        echo "$target: FAILED, see $log; again: $build/$target $build/$target-crash-*"
    fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
