#!/bin/bash
# gpu_accuracy.sh OUT NET...: nets with their defaults (net m: two epochs), three seeds each
# (SEEDS="1 2 3"), ours and the PyTorch twin on the same plan. Needs CIFAR-10 and MNIST under
# GRADLAB_DATA and the programs built. Adds to OUT/train.jsonl.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$1
shift
PYTHON=${PYTHON:-python3}
mkdir -p "$out" build/accuracy || exit 2
failed=0

last() { grep -hoE '"test_acc": [0-9.]+' "$1" | tail -1; }

# both NET SEED [NAME=value...]: our run and the twin's from the same plan.
both() {
    local net=$1 seed=$2 folder=build/accuracy/$1-$2
    shift 2
    rm -rf "$folder"
    if ! { build/float/train DEVICE=cuda NET="$net" SEED="$seed" PLAN="$folder/plan" \
        OUT="$folder/ours" "$@" &&
        $PYTHON baseline/train.py DEVICE=cuda PLAN="$folder/plan" OUT="$folder/twin"; } \
        >"$folder.log" 2>&1; then
        echo "net $net seed $seed: FAILED: $(tail -1 "$folder.log")"
        failed=1
        return
    fi
    cat "$folder"/{ours,twin}/train.jsonl | sed 's/"data_root": "[^"]*", //' >>"$out/train.jsonl"
    echo "net $net seed $seed: $(last "$folder/ours/train.jsonl")," \
        "twin $(last "$folder/twin/train.jsonl")"
}

for net in "$@"; do
    for seed in ${SEEDS:-1 2 3}; do
        if [ "$net" = m ]; then both m "$seed" EPOCHS=2; else both "$net" "$seed"; fi
    done
done
exit $failed
