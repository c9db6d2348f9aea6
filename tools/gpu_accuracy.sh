#!/bin/bash
# gpu_accuracy.sh OUT: nets a, b, c with their defaults, three seeds each, ours and the PyTorch twin, and
# net m for two epochs; then single steps of cuda against PyTorch. Needs CIFAR-10 and MNIST under
# GRADLAB_DATA and the programs built. Writes OUT/train.jsonl and OUT/parity.jsonl.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$1
PYTHON=${PYTHON:-python3}
mkdir -p "$out" build/accuracy || exit 2
failed=0

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
    echo "net $net seed $seed: $(grep -hoE '"test_acc": [0-9.]+' "$folder/ours/train.jsonl" | tail -1)" \
        "twin $(grep -hoE '"test_acc": [0-9.]+' "$folder/twin/train.jsonl" | tail -1)"
}

for seed in 1 2 3; do
    for net in a b; do both $net $seed; done
    both m $seed EPOCHS=2
done
# its lines are wanted most where it disagrees
$PYTHON baseline/parity.py DEVICE=cuda NETS=a,b,m STEPS=100 || failed=1
cp results/local/parity.jsonl "$out/"
for seed in 1 2 3; do both c $seed; done
exit $failed
