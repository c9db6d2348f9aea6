#!/bin/bash
# fuzz.sh SECONDS [TARGET...]: runs each fuzz target that long (libFuzzer under ASan and UBSan), on
# a corpus of its own, which starts from seeds.py and grows under build/fuzz.
#
# Says executions a CPU second and coverage; ends with `N passed, N failed`. What a target finds is
# left in build/fuzz/<target>-crash-* with the command that runs it again.
# Exit status: 0 nothing found; 1 something found; 2 wrong use; 3 no clang with libFuzzer here.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:?usage: fuzz.sh SECONDS [checkpoint] [cifar10] [mnist]}
shift
[ $# -gt 0 ] || set -- checkpoint cifar10 mnist
build=build/fuzz
common=tl
compiler=${FUZZ_CC:-clang}
flags=(-std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Wall -Wextra
    -Itl/include -I. -I$common)
mkdir -p "$build"
python3 tests/fuzz/seeds.py "$build/seeds" || exit 2

echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' >"$build/probe.c"
if ! "$compiler" "${flags[@]}" -o "$build/probe" "$build/probe.c" 2>"$build/probe.log"; then
    echo "fuzz: nothing was fuzzed, for $compiler has no libFuzzer here: run make setup fuzz" >&2
    exit 3
fi

# The loader of a data set with few images in a set, $build/<set>.c; nothing else in it changes. The
# target tries at its start that a sound set of that size loads.
shrink() { # SET
    sed -e 's/RECORDS = 10000,/RECORDS = 10,/; s/CHUNK = 100 /CHUNK = 5 /' \
        -e 's/TRAIN_COUNT = 60000, TEST_COUNT = 10000 /TRAIN_COUNT = 20, TEST_COUNT = 10 /' \
        "$common/$1.c" >"$build/$1.c"
}

make_target() { # NAME
    case $1 in
    checkpoint)
        "$compiler" "${flags[@]}" -o "$build/checkpoint" tests/fuzz/fuzz_checkpoint.c \
            $common/{checkpoint,history,record_read,record_write,crc32,status,shape,alloc}.c \
            solution/lab1/tensor.c
        ;;
    cifar10 | mnist)
        "$compiler" "${flags[@]}" -Wl,--wrap=open,--wrap=fstat,--wrap=read,--wrap=close \
            -DFUZZ_SET="$1" -DFUZZ_TRAIN=20 -DFUZZ_TEST=10 -o "$build/$1" \
            tests/fuzz/fuzz_dataset.c "$build"/{cifar10,mnist}.c $common/dataset*.c \
            $common/shapes10_*.c $common/{alloc,folder,rng,portable,status,crc32}.c -lm
        ;;
    *) echo "fuzz: no target \"$1\": checkpoint, cifar10 or mnist" >&2 && return 1 ;;
    esac
}

# One verdict: build, run, say what came out.
run_target() { # NAME
    local log=$build/$1.log cpu runs rate edges
    mkdir -p "$build/corpus-$1"
    if make_target "$1" && cpu=$(TIMEFORMAT='%U %S' && {
        time "$build/$1" -max_total_time="$seconds" -len_control=0 -max_len=4096 \
            -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
            -artifact_prefix="$build/$1-" \
            "$build/corpus-$1" "$build/seeds/$1" >"$log" 2>&1
    } 2>&1); then
        runs=$(awk '/number_of_executed_units/ {print $2}' "$log")
        rate=$(awk -v runs="$runs" '{printf "%d", runs / ($1 + $2)}' <<<"$cpu")
        edges=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d ' ' -f 2)
        echo "$1: $runs runs in $seconds s, $rate a CPU second, $edges edges, nothing found"
    else
        grep -E 'ERROR|SUMMARY|Test unit written' "$log" 2>/dev/null
        echo "$1: FAILED, see $log; again: $build/$1 $build/$1-crash-*"
        return 1
    fi
}

# Side by side, for each is one thread. Started so they would not hear Ctrl-C.
trap 'trap "" TERM; kill -TERM 0; exit 130' INT TERM
passed=0 failed=0 pids=()
shrink cifar10 && shrink mnist || exit 2
for target in "$@"; do
    run_target "$target" >"$build/$target.verdict" 2>&1 &
    pids[${#pids[@]}]=$!
done
for pid in "${pids[@]}"; do
    if wait "$pid"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
for target in "$@"; do cat "$build/$target.verdict"; done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
