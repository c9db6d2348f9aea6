#!/bin/bash
# gpu_suite.sh OUT [STAGE...]: everything that only a GPU machine can tell, written to OUT.
#
# Stages (default: all but train-times and the accuracies, in this order), each of less than 8
# minutes on an H200:
#   build      programs, suites and plug-in, float and double
#   suites     every suite on the device, plain path and rungs, float and double
#   rungs      the suites of each operation again on each step of its ladder
#   sanitizer  the kernels under compute-sanitizer's memcheck and initcheck
#   races      and under its synccheck and racecheck                     (sanitizer.jsonl)
#   sectors    what Nsight Compute counts of the kernels of tests/sectors/sectors.cu (sectors.jsonl)
#   bits       net a again, without a graph, and resumed: the same bits  (bits.jsonl)
#   parity     single steps against PyTorch, TF32 off                    (parity.jsonl)
#   steps      training steps against PyTorch's best, batch 64           (steps.jsonl)
#   steps-512  the same at batch 512
#   ops        single operations against PyTorch's, eager and in a graph, with the quicker kernels
#              and on the plain path                                     (bench_ops.jsonl)
#   ladder     each rung checked against the oracle, then timed          (ladder.jsonl)
#   conv2d     net c's convolutions in bfloat16 and TF32 beside cuDNN's, by Nsight Compute
#                                                                        (bench_conv2d.jsonl)
#   bridge     the operators inside PyTorch: their judges
#   bridge-memory  many of them under memcheck
#   bridge-times   the operators' times, and those of net m by them      (bridge.jsonl)
#   profile    operations of a step of net a, ours and PyTorch's         (profile.jsonl)
#   predict    net c trained, and its answers on the test images         (predictions.jsonl)
#   train-times    net c, 10 epochs, 8 seeds in each precision, against PyTorch's quickest loop
#                                                                        (bench_train.jsonl)
#   accuracy   nets a, b, m, three seeds, ours and PyTorch's             (train.jsonl)
#   accuracy-c the same of net c
# PARITY_OPTIONS, STEPS_OPTIONS, OPS_OPTIONS and BRIDGE_OPTIONS are options of baseline/parity.py,
# bench_gpu.py, bench_ops.py and bench_bridge.py (whose net takes MNIST; bridge needs pytest-xdist),
# LADDER_OPTIONS of `make bench`, TRAIN_OPTIONS of bench_train.py.
# It needs no network and no .git (GRADLAB_COMMIT names the commit), and takes the system's python3
# where there is no .venv. What that machine lacks is carried there: tools/gpu_packages.sh FOLDER
# fetches it elsewhere (CARRIED=FOLDER, default .carried). Profile and predict take CIFAR-10 under
# GRADLAB_DATA if it is there; accuracies need it, and MNIST.
set -uo pipefail
cd "$(dirname "$0")/.."

stages="build suites rungs sanitizer races sectors bits parity steps steps-512 ops ladder conv2d"
stages+=" bridge bridge-memory bridge-times profile predict"
usage="usage: $0 OUT [STAGE...] of: $stages train-times accuracy accuracy-c"
[ $# -ge 1 ] || { echo "$usage" >&2; exit 2; }
out=$1
shift
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
[ $# -gt 0 ] || set -- $stages

[ -x .venv/bin/python ] || export PYTHON=python3
PYTHON=${PYTHON:-.venv/bin/python}
failed=0

lacks() {
    echo "gpu_suite.sh: $1; fetch what is missing by tools/gpu_packages.sh FOLDER where there is" \
        "a network, bring FOLDER here, and say CARRIED=FOLDER" >&2
    exit 2
}

# What the stages need and this machine lacks, from what was carried; the system stays as it is.
# Asked before anything is built: time on such a machine is short.
use_carried() {
    local carried=${CARRIED:-.carried} home=/tmp/gradlab-carried package
    mkdir -p "$home" || exit 2
    if [ ! -e /usr/include/criterion/criterion.h ]; then
        for package in "$carried"/*.deb; do
            [ ! -e "$package" ] || dpkg -x "$package" "$home" || exit 2
        done
        local library=usr/lib/x86_64-linux-gnu
        export CPATH=$home/usr/include LIBRARY_PATH=$home/$library
        export LD_LIBRARY_PATH=$home/$library:$home/${library#usr/}:${LD_LIBRARY_PATH:-}
    fi
    echo '#include <criterion/criterion.h>
        Test(carried, links) {}' | cc -x c -o "$home/links" - -lcriterion 2>"$home/log" &&
        "$home/links" >>"$home/log" 2>&1 ||
        lacks "Criterion is not here whole ($(grep -m 1 -iE 'error|undefined' "$home/log"))"
    case " $* " in *" bridge"*)
        if ! "$PYTHON" -c 'import expecttest' 2>/dev/null; then
            "$PYTHON" -m zipfile -e "$carried"/expecttest-*.whl "$home/python" 2>"$home/log" ||
                lacks "there is no expecttest, which PyTorch's samples need"
            export PYTHONPATH=$home/python${PYTHONPATH:+:$PYTHONPATH}
        fi
        "$PYTHON" -c 'import pytest, xdist, expecttest' 2>"$home/log" ||
            lacks "the bridge's judges: $(tail -n 1 "$home/log")"
        ;;
    esac
}

# stage NAME COMMAND...: runs it with its output in OUT/NAME.log and shows the end of it.
stage() {
    local name=$1 begin=$SECONDS status=0 verdict=good
    shift
    "$@" >"$out/$name.log" 2>&1 || status=$?
    tail -n "${LINES_SHOWN:-6}" "$out/$name.log"
    [ $status = 0 ] || { verdict="FAILED ($status)" failed=1; }
    echo "== $name: $verdict, $((SECONDS - begin)) s"
}

programs() {
    printf 'build/float/%s ' suites train replay predict bench_ops bench
    printf 'build/double/%s ' suites train
}

# Five epochs of net a: again, without a graph, and killed after two and resumed, all with its bits.
same_bits() {
    local name same=1 folder=build/bits
    rm -rf "$folder"
    train() { build/float/train DEVICE=cuda NET=a OUT="$folder/$1" "${@:2}" || return 1; }
    train first && train again && train eager GRAPH=0 && train part STEPS=1500 &&
        train resumed RESUME="$folder/part/checkpoint" || return 1
    for name in again eager resumed; do
        cmp "$folder/first/checkpoint" "$folder/$name/checkpoint" && echo "$name: equal bits" ||
            same=0
    done
    grep -h '"kind": "run"' "$folder/first/train.jsonl" | tail -1 |
        sed 's/"kind": "run"/"kind": "bits", "same": '$same', "runs": "again, GRAPH=0, resumed"/
            s/"data_root": "[^"]*", //' >>"$out/bits.jsonl"
    [ $same = 1 ]
}

parity() {
    local status=0 lines=results/local/parity.jsonl before
    before=$(cat $lines 2>/dev/null | wc -l)
    $PYTHON baseline/parity.py DEVICE=cuda ${PARITY_OPTIONS:-} || status=$?
    tail -n +$((before + 1)) $lines >>"$out/parity.jsonl" # wanted most where it disagrees
    return $status
}

sanitizer() { $PYTHON tools/gpu_sanitizer.py "$out/sanitizer.jsonl" "$@"; }

steps() {
    $PYTHON baseline/bench_gpu.py BATCHES="$1" ${STEPS_OPTIONS:-} OUT="$out/steps.jsonl" \
        2>"$out/steps-$1.err" || { tail -n 3 "$out/steps-$1.err" && return 1; } # the tuner talks
}

# Twice: all quicker kernels, and none; both are timed against PyTorch in their own run.
ops() {
    local rungs
    for rungs in all none; do
        $PYTHON baseline/bench_ops.py DEVICE=cuda RUNGS=$rungs ${OPS_OPTIONS:-} \
            OUT="$out/bench_ops.jsonl" || return 1
    done
}

# with_bridge COMMAND...: where Python finds the bridge that was built, on the GPU alone.
with_bridge() {
    env GRADLAB_TL="$PWD/build/lib" GRADLAB_EXTENSION="$PWD/build/bridge/gradlab/_C.so" \
        PYTHONPATH="$PWD/bridge${PYTHONPATH:+:$PYTHONPATH}" GRADLAB_BRIDGE_DEVICES=cuda "$@"
}

make_bridge() {
    make -j"$(nproc)" PYTHON="$PYTHON" lib build/bridge/gradlab/_C.so build/float/{bench_ops,train}
}

# The judges of tests/bridge on the GPU; then every sample, and the gradients of quicker kernels,
# under memcheck: of our kernels alone, and without PyTorch's allocator, in whose blocks an access
# beyond an array would go unseen.
bridge() {
    make_bridge && with_bridge "$PYTHON" -m pytest -q -p no:cacheprovider -n 8 tests/bridge
}

bridge_memory() {
    make_bridge && with_bridge PYTORCH_NO_CUDA_MEMORY_CACHING=1 \
        compute-sanitizer --tool memcheck --target-processes all --error-exitcode 9 \
        --report-api-errors no --kernel-name-exclude kns=at6native \
        "$PYTHON" -um pytest -q -p no:cacheprovider -p no:benchmark -n 15 --dist worksteal \
        -k "cpp and (every_sample or rungs)" \
        tests/bridge/test_samples.py tests/bridge/test_gradcheck.py
}

bridge_times() {
    make_bridge && with_bridge "$PYTHON" baseline/bench_bridge.py DEVICE=cuda \
        ${BRIDGE_OPTIONS:-} OUT="$out/bridge.jsonl"
}

# The plan is ours, so both sides run the same steps from the same weights.
profile() {
    local folder=build/profile side
    rm -rf "$folder"
    build/float/train DEVICE=cuda NET=a EPOCHS=1 PLAN="$folder/plan" PLAN_ONLY=1 &&
        build/float/train DEVICE=cuda NET=a EPOCHS=1 PROFILE=1 STEPS=200 OUT="$folder/ours" &&
        $PYTHON baseline/profile_step.py DEVICE=cuda PLAN="$folder/plan" OUT="$folder/torch" ||
        return 1
    cat "$folder"/{ours,torch}/profile.jsonl >"$out/profile.jsonl"
}

conv2d() {
    local status=0 precision
    for precision in bf16 tf32; do
        $PYTHON baseline/bench_conv2d.py PRECISION=$precision OUT="$out/bench_conv2d.jsonl" ||
            status=$?
    done
    return $status
}

train_times() {
    local precision
    for precision in fp32 tf32 bf16; do
        $PYTHON baseline/bench_train.py PRECISION=$precision ${TRAIN_OPTIONS:-} \
            OUT="$out/bench_train.jsonl" || return 1
    done
}

predict() {
    local folder=build/predict
    rm -rf "$folder"
    build/float/train DEVICE=cuda NET=c OUT="$folder" &&
        build/float/predict DEVICE=cuda NET=c RESUME="$folder/checkpoint" OUT="$folder" &&
        cp "$folder/predictions.jsonl" "$out/predictions.jsonl"
}

use_carried "$@"
for name in "$@"; do
    case $name in
    build) stage build make -j"$(nproc)" PYTHON="$PYTHON" $(programs) ;;
    suites)
        export GRADLAB_DEVICES=cuda
        stage suites-float "$PYTHON" tools/run_tests.py build/float/suites
        stage suites-double "$PYTHON" tools/run_tests.py build/double/suites
        ;;
    rungs) GRADLAB_DEVICES=cuda stage rungs "$PYTHON" tools/run_tests.py build/float/suites:steps ;;
    sanitizer) stage sanitizer sanitizer memcheck initcheck ;;
    races) stage races sanitizer synccheck racecheck ;;
    sectors)
        LINES_SHOWN=45 stage sectors "$PYTHON" tests/sectors/gpu_sectors.py "$out/sectors.jsonl"
        ;;
    bits) stage bits same_bits ;;
    parity) LINES_SHOWN=30 stage parity parity ;;
    steps) LINES_SHOWN=30 stage steps steps 64 ;;
    steps-512) LINES_SHOWN=30 stage steps-512 steps 512 ;;
    ops) LINES_SHOWN=60 stage ops ops ;;
    ladder)
        LINES_SHOWN=30 stage ladder build/float/bench DEVICE=cuda ${LADDER_OPTIONS:-} \
            OUT="$out/ladder.jsonl"
        ;;
    conv2d) stage conv2d conv2d ;;
    bridge) LINES_SHOWN=60 stage bridge bridge ;;
    bridge-memory) LINES_SHOWN=30 stage bridge-memory bridge_memory ;;
    bridge-times) LINES_SHOWN=60 stage bridge-times bridge_times ;;
    profile) LINES_SHOWN=12 stage profile profile ;;
    predict) stage predict predict ;;
    train-times) LINES_SHOWN=60 stage train-times train_times ;;
    accuracy) LINES_SHOWN=20 stage accuracy tools/gpu_accuracy.sh "$out" a b m ;;
    accuracy-c) LINES_SHOWN=20 stage accuracy-c tools/gpu_accuracy.sh "$out" c ;;
    *) echo "no stage $name; $usage" >&2; exit 2 ;;
    esac
done
exit $failed
