#!/bin/bash
# gpu_suite.sh OUT [STAGE...]: everything that only a GPU machine can tell, written to OUT.
#
# Stages (default: all, in this order); each is meant to take less than 8 minutes:
#   build      programs, suites and plug-in, float and double
#   suites     every suite on the device, plain path and rungs, float and double
#   sanitizer  the suites' kernels under compute-sanitizer's four tools
#   train      five epochs of net a, twice and without a graph, with the same bits
#   steps      training steps against PyTorch's best (STEPS_OPTIONS: options of baseline/bench_gpu.py)
# It needs no network and no .git, and takes the system's python3 where there is no .venv. Criterion
# may lie beside it as Debian packages (CRITERION_DEBS=folder, default .criterion).
set -uo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] || { echo "usage: $0 OUT [build] [suites] [sanitizer] [train] [steps]" >&2; exit 2; }
out=$1
shift
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
[ $# -gt 0 ] || set -- build suites sanitizer train steps

[ -x .venv/bin/python ] || export PYTHON=python3
PYTHON=${PYTHON:-.venv/bin/python}
failed=0

# Unpacks carried packages out of the way of the system's own; only Criterion and what it needs.
use_criterion() {
    [ -e /usr/include/criterion/criterion.h ] && return
    local debs=${CRITERION_DEBS:-.criterion} home=/tmp/gradlab-criterion deb
    if [ ! -d "$home" ]; then
        ls "$debs"/*.deb >/dev/null 2>&1 || { echo "no Criterion: put its packages into $debs"; exit 2; }
        for deb in "$debs"/*.deb; do dpkg -x "$deb" "$home" || exit 2; done
    fi
    export CPATH=$home/usr/include LIBRARY_PATH=$home/usr/lib/x86_64-linux-gnu
    export LD_LIBRARY_PATH=$home/usr/lib/x86_64-linux-gnu:$home/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH:-}
}

# stage NAME COMMAND...: runs it with its output in OUT/NAME.log and shows the end of it.
stage() {
    local name=$1 begin=$SECONDS status=0
    shift
    "$@" >"$out/$name.log" 2>&1 || status=$?
    tail -n "${LINES_SHOWN:-6}" "$out/$name.log"
    echo "== $name: $([ $status = 0 ] && echo good || echo "FAILED ($status)"), $((SECONDS - begin)) s"
    [ $status = 0 ] || failed=1
}

programs() { printf 'build/%s/%s ' float tests float train float replay double tests double train; }

sanitizer() {
    local tool
    for tool in memcheck racecheck initcheck synccheck; do
        echo "-- $tool"
        # each Criterion test is a process of its own, so children are followed; a filter keeps it short
        GRADLAB_DEVICES=cuda OMP_WAIT_POLICY=passive compute-sanitizer --tool $tool \
            --target-processes all --error-exitcode 99 build/float/tests -j8 \
            --filter '{lab[123]_*/*definition*,fused/*}' || return 1
    done
}

train_twice() {
    local run
    for run in 1 2; do
        build/float/train DEVICE=cuda NET=a OUT="$out/train-a-$run" || return 1
    done
    build/float/train DEVICE=cuda NET=a GRAPH=0 OUT="$out/train-a-plain" || return 1
    cmp "$out/train-a-1/checkpoint" "$out/train-a-2/checkpoint" && echo "equal bits" || return 1
    cmp "$out/train-a-1/checkpoint" "$out/train-a-plain/checkpoint" && echo "equal bits without graph"
}

use_criterion
for name in "$@"; do
    case $name in
    build) stage build make -j"$(nproc)" PYTHON="$PYTHON" $(programs) ;;
    suites)
        GRADLAB_DEVICES=cuda stage suites-float "$PYTHON" tools/run_tests.py build/float/tests
        GRADLAB_DEVICES=cuda stage suites-double "$PYTHON" tools/run_tests.py build/double/tests
        ;;
    sanitizer) stage sanitizer sanitizer ;;
    train) stage train train_twice ;;
    steps) LINES_SHOWN=40 stage steps "$PYTHON" baseline/bench_gpu.py ${STEPS_OPTIONS:-} OUT="$out/steps.jsonl" ;;
    *) echo "no stage $name" >&2; exit 2 ;;
    esac
done
exit $failed
