"""A training run that is killed or stopped at any moment, and resumed, loses nothing.

GRADLAB_KILLS=n: how many SIGKILLs (default 12). GRADLAB_STOP_DEVICE: device of the runs (cpu).
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "build/float/train"
DEVICE = os.environ.get("GRADLAB_STOP_DEVICE", "cpu")
# A few hundred steps with momentum and augmentation; a checkpoint after every third step.
OPTIONS = ["NET=a", "DATASET=shapes10", "LIMIT=512", "BATCH=16", "EPOCHS=4", "MOMENTUM=0.9", "LR=0.01",
           "AUG=crop+flip", "CKPT_EVERY=3", f"DEVICE={DEVICE}", "SEED=5"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """shapes10 drawn once, where the user's own data sets are not touched."""
    root = tmp_path_factory.mktemp("sets")
    subprocess.run([ROOT / "build/float/shapes10", root], check=True, capture_output=True)
    yield os.environ | {"GRADLAB_DATA": str(root), "OMP_NUM_THREADS": "2"}
    for file in root.glob("*/*"):
        file.unlink()


def start(environment, out, *more):
    return subprocess.Popen([TRAIN, *OPTIONS, f"OUT={out}", *more], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(environment, out, *more):
    process = start(environment, out, *more)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return errors


def resume_option(out) -> list:
    return [f"RESUME={out}/checkpoint"] if (out / "checkpoint").exists() else []


@pytest.fixture(scope="module")
def uninterrupted(environment, tmp_path_factory):
    """(folder, seconds) of a run that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole")
    begin = time.monotonic()
    run(environment, out)
    return out, time.monotonic() - begin


def epochs(out) -> dict:
    """epoch -> its losses; the last line of an epoch counts, for a kill may come behind the first."""
    lines = [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]
    return {line["epoch"]: (line["train_loss"], line["test_loss"], line["test_acc"])
            for line in lines if line["kind"] == "epoch"}


def test_killed_at_random_and_resumed_ends_with_the_same_bits(environment, uninterrupted, tmp_path):
    whole, seconds = uninterrupted
    kills, rounds, draw = 0, 0, random.Random(7)
    wanted = int(os.environ.get("GRADLAB_KILLS", "12"))
    while kills < wanted:
        out = tmp_path / f"run{rounds}"
        while True:
            process = start(environment, out, *resume_option(out))
            try:
                _, errors = process.communicate(timeout=draw.uniform(0.02, 0.6 * seconds))
                assert process.returncode == 0, errors
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
        assert (out / "checkpoint").read_bytes() == (whole / "checkpoint").read_bytes()
        assert epochs(out) == epochs(whole)
        rounds += 1
    print(f"{kills} kills in {rounds} runs, equal bits after each")


@pytest.mark.parametrize("number, name", [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_a_signal_saves_says_so_and_can_be_resumed(environment, uninterrupted, tmp_path, number,
                                                   name):
    whole, _ = uninterrupted
    out = tmp_path / "out"
    process = start(environment, out)
    while not (out / "checkpoint").exists():  # it trains
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    assert f"stopped by {name}" in errors and f"RESUME={out}/checkpoint" in errors
    run(environment, out, f"RESUME={out}/checkpoint")
    assert (out / "checkpoint").read_bytes() == (whole / "checkpoint").read_bytes()


def test_the_last_two_checkpoints_are_kept_and_the_older_one_serves(environment, uninterrupted,
                                                                    tmp_path):
    whole, _ = uninterrupted
    out = tmp_path / "out"
    run(environment, out, "STEPS=20")
    newest = (out / "checkpoint").read_bytes()
    (out / "checkpoint").write_bytes(newest[:-5])  # as a failing disk leaves it
    process = start(environment, out, f"RESUME={out}/checkpoint")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "damaged" in errors and "checkpoint.previous" in errors
    assert (out / "checkpoint").read_bytes() == newest[:-5]
    run(environment, out, f"RESUME={out}/checkpoint.previous")
    assert (out / "checkpoint").read_bytes() == (whole / "checkpoint").read_bytes()


def test_half_a_line_of_a_killed_run_is_cut(environment, tmp_path):
    out = tmp_path / "out"
    run(environment, out, "STEPS=40")
    with open(out / "train.jsonl", "a") as log:
        log.write('{"kind": "epoch", "epo')
    run(environment, out, f"RESUME={out}/checkpoint")
    assert sorted(epochs(out)) == [1, 2, 3, 4]


def test_two_runs_in_one_folder_are_refused(environment, tmp_path):
    out = tmp_path / "out"
    first = start(environment, out)
    while not (out / "checkpoint").exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.01)
    second = start(environment, out)
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 1 and "another run writes to" in errors
    first.communicate(timeout=120)
    assert first.returncode == 0 and sorted(epochs(out)) == [1, 2, 3, 4]


def test_a_folder_that_vanishes_ends_the_run_with_one_line(environment, tmp_path):
    out = tmp_path / "out"
    process = start(environment, out)
    while not (out / "checkpoint").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    out.rename(tmp_path / "gone")
    _, errors = process.communicate(timeout=60)
    complaints = [line for line in errors.splitlines() if line.startswith("train: ")]
    assert process.returncode == 1 and len(complaints) == 1
    assert re.search(rf"{out}.*No such file", complaints[0])
    assert (tmp_path / "gone/checkpoint").exists()


def test_other_options_are_refused_by_name(environment, tmp_path):
    out = tmp_path / "out"
    run(environment, out, "STEPS=5")
    process = start(environment, out, f"RESUME={out}/checkpoint", "BATCH=8")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "it has batch=16, this run batch=8" in errors
