"""A training run that is killed or stopped at any moment, and resumed, loses nothing.

GRADLAB_KILLS=n: how many SIGKILLs (default 12); GRADLAB_DEVICES: the device. Twenty on a GPU, with
the programs built and nothing else of this repository needed:

    GRADLAB_DEVICES=cuda GRADLAB_KILLS=20 python3 -m pytest -s tests/test_stopped_runs.py
"""

import collections
import json
import os
import random
import signal
import struct
import subprocess
import time
import zlib
from pathlib import Path

import pytest

from training_runs import (DEVICE, environment, epoch_lines, epochs, expect_one_line, files,
                           final_state, finish, history, resume_option, run, sections, start,
                           uninterrupted, wait_for_checkpoint)

KILLS = int(os.environ.get("GRADLAB_KILLS", "12"))


def moment_of_kill(draw: random.Random) -> float:
    """Seconds after the start. Most kills come while it trains and saves, some before."""
    _, first, whole = uninterrupted()
    return draw.uniform(0.01, first) if draw.random() < 0.15 else draw.uniform(0.9 * first, whole)


def readable(out) -> str:
    """What a kill has left; every checkpoint among it is whole."""
    names = {path.name for path in out.iterdir()} if out.exists() else set()
    assert names <= {"checkpoint", "checkpoint.previous", "checkpoint.next", "train.jsonl",
                     "checkpoint.next.part", "checkpoint.previous.part", "train.jsonl.part"}
    for name in names & {"checkpoint", "checkpoint.previous", "checkpoint.next"}:
        sections((out / name).read_bytes())
    if names & {"checkpoint.next", "checkpoint.next.part", "checkpoint.previous.part"}:
        return "within a save"
    return "between two saves" if "checkpoint" in names else "before the first save"


def test_killed_at_random_and_resumed_ends_with_the_same_bits(tmp_path, capsys):
    whole, first, seconds = uninterrupted()
    begin, rounds, kills, draw = time.monotonic(), 0, collections.Counter(), random.Random(7)
    while kills.total() < KILLS:
        out = tmp_path / f"run{rounds}"
        while True:
            process = start(out, "CKPT_EVERY=3", *resume_option(out))
            try:
                _, errors = process.communicate(timeout=moment_of_kill(draw))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                _, errors = process.communicate()
            if process.returncode == 0:  # it was quicker
                break
            assert process.returncode == -signal.SIGKILL, errors
            kills[readable(out)] += 1
        assert (out / "checkpoint").read_bytes() == final_state()
        assert history(final_state()) == epochs(whole) == epochs(out)
        rounds += 1
    with capsys.disabled():
        moments = ", ".join(f"{count} {when}" for when, count in sorted(kills.items()))
        print(f"\n{DEVICE}: {kills.total()} kills ({moments}) in {rounds} runs of {seconds:.2f} s "
              f"(first save after {first:.2f} s), equal bits after each, every checkpoint "
              f"readable, {time.monotonic() - begin:.0f} s")


@pytest.mark.parametrize("number, name", [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"),
                                          (signal.SIGHUP, "SIGHUP")])
def test_a_signal_saves_says_so_and_can_be_resumed(tmp_path, number, name):
    out = tmp_path / "out"
    # these tests may themselves run under nohup, which is inherited
    process = start(out, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    wait_for_checkpoint(process, out)
    process.send_signal(number)
    status, errors = finish(process)
    assert status == 128 + number, errors
    assert f"stopped by {name}" in errors and f"RESUME={out}/checkpoint" in errors
    run(out, f"RESUME={out}/checkpoint")
    assert (out / "checkpoint").read_bytes() == final_state()


SIGNAL_IN_A_SAVE = """
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int fsync(int file) {
    struct stat about;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) kill(getpid(), SIGTERM);
    return (int)syscall(SYS_fsync, file);
}
"""


@pytest.fixture(scope="module")
def signal_in_a_save(tmp_path_factory) -> dict:
    """The environment of a run that gets a SIGTERM while its first checkpoint is being written."""
    folder = tmp_path_factory.mktemp("preload")
    (folder / "signal.c").write_text(SIGNAL_IN_A_SAVE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "signal.so", folder / "signal.c"],
                   check=True)
    return {"LD_PRELOAD": str(folder / "signal.so")}


def test_a_signal_in_a_save_stops_the_run_in_words_and_in_status(tmp_path, signal_in_a_save):
    out = tmp_path / "out"
    status, errors = finish(start(out, env=signal_in_a_save))
    assert status == 128 + signal.SIGTERM and "stopped by SIGTERM after step 8," in errors
    run(out, f"RESUME={out}/checkpoint")
    assert (out / "checkpoint").read_bytes() == final_state()


def test_a_signal_in_the_last_save_stops_nothing(tmp_path, signal_in_a_save):
    """All is done and on the disk: neither the words nor the status say otherwise."""
    out = tmp_path / "out"
    status, errors = finish(start(out, "CKPT_EVERY=0", "EPOCHS=1", env=signal_in_a_save))
    assert status == 0 and "stopped by" not in errors
    assert "SIGTERM came when all steps were done; the run is complete and saved" in errors
    assert list(history((out / "checkpoint").read_bytes())) == [1] == list(epochs(out))
    out = tmp_path / "steps"
    status, errors = finish(start(out, "CKPT_EVERY=0", "STEPS=20", env=signal_in_a_save))
    assert status == 0 and "the run is complete and saved" in errors


def test_a_complete_run_is_resumed_to_what_it_is(tmp_path):
    whole = uninterrupted()[0]
    run(tmp_path / "copy", f"RESUME={whole}/checkpoint")
    assert (tmp_path / "copy/checkpoint").read_bytes() == final_state()
    assert epochs(tmp_path / "copy") == epochs(whole)
    before = files(tmp_path / "copy")
    run(tmp_path / "copy", f"RESUME={tmp_path}/copy/../copy/checkpoint")
    after = files(tmp_path / "copy")
    assert after.pop("train.jsonl").startswith(before.pop("train.jsonl")) and after == before


def test_nohup_outlives_its_terminal(tmp_path):
    out = tmp_path / "out"
    process = start(out, before=["nohup"], stdin=subprocess.DEVNULL)
    wait_for_checkpoint(process, out)
    process.send_signal(signal.SIGHUP)
    assert finish(process)[0] == 0
    assert (out / "checkpoint").read_bytes() == final_state()


def test_the_last_two_checkpoints_are_kept_and_the_older_one_serves(tmp_path):
    out = tmp_path / "out"
    run(out, "STEPS=20")
    newest = (out / "checkpoint").read_bytes()
    (out / "checkpoint").write_bytes(newest[:-5])  # as a failing disk leaves it
    status, errors = finish(start(out, f"RESUME={out}/checkpoint"))
    expect_one_line(status, errors, "damaged", out / "checkpoint")
    assert f"{out}/checkpoint.previous" in errors
    assert (out / "checkpoint").read_bytes() == newest[:-5]
    run(out, f"RESUME={out}/checkpoint.previous")
    assert (out / "checkpoint").read_bytes() == final_state()


def test_a_checkpoint_that_is_gone_is_named_with_the_one_before_it(tmp_path):
    out = tmp_path / "out"
    run(out, "STEPS=16")
    (out / "checkpoint").unlink()
    status, errors = finish(start(out, f"RESUME={out}/checkpoint"))
    expect_one_line(status, errors, "No such file", out / "checkpoint")
    assert f"{out}/checkpoint.previous" in errors


def test_half_a_line_of_a_killed_run_is_cut(tmp_path):
    out = tmp_path / "out"
    run(out, "STEPS=40")
    with open(out / "train.jsonl", "a") as log:
        log.write('{"kind": "epoch", "epo')
    run(out, f"RESUME={out}/checkpoint")
    assert sorted(epochs(out)) == [1, 2, 3, 4]


def test_in_another_folder_the_log_has_the_epochs_before_too(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    run(first, "STEPS=70")  # 32 steps an epoch
    whole = epochs(uninterrupted()[0])
    assert history((first / "checkpoint").read_bytes()) == {n: whole[n] for n in (1, 2)}
    run(second, f"RESUME={first}/checkpoint")
    assert epochs(second) == whole and sorted(epochs(first)) == [1, 2]
    for line in epoch_lines(second):
        restored = line["epoch"] <= 2
        assert line.get("restored", 0) == restored
        for name in ("train_s", "eval_s", "images_per_s"):
            assert (line[name] is None) == restored
    assert (second / "checkpoint").read_bytes() == final_state()


def test_in_the_same_folder_no_epoch_is_logged_twice(tmp_path):
    out = tmp_path / "out"
    run(out, "STEPS=70")
    (out / "older").write_bytes((out / "checkpoint").read_bytes())
    run(out, f"RESUME={out}/checkpoint", "STEPS=110")
    run(out, f"RESUME={out}/older")  # trains the third epoch once more
    assert epochs(out) == epochs(uninterrupted()[0])
    assert not any("restored" in line for line in epoch_lines(out))


def test_a_history_of_another_length_is_refused(tmp_path):
    """With every sum right, as only a program leaves it."""
    out = tmp_path / "out"
    run(out, "STEPS=70")
    state = bytearray((out / "checkpoint").read_bytes())
    at, begin, end, _ = next(s for s in sections(bytes(state)) if s[3] == "position")
    state[begin] = 3  # epochs that are done
    state[at + 96:at + 100] = struct.pack("<I", zlib.crc32(state[begin:end],
                                                           zlib.crc32(state[at:at + 96])))
    (out / "checkpoint").write_bytes(state)
    status, errors = finish(start(tmp_path / "new", f"RESUME={out}/checkpoint"))
    expect_one_line(status, errors, out / "checkpoint",
                    'section "history" holds 8 elements, 12 wanted')
    assert not (tmp_path / "new").exists()


def test_other_options_are_refused_by_name(tmp_path):
    out = tmp_path / "out"
    run(out, "STEPS=5")
    status, errors = finish(start(out, f"RESUME={out}/checkpoint", "BATCH=8"))
    expect_one_line(status, errors, "it has batch=16, this run batch=8")


def test_killed_while_it_draws_the_set_the_next_run_draws_it_anew(tmp_path):
    root, sound = tmp_path / "data", Path(environment()["GRADLAB_DATA"])
    parts = []
    while not parts:  # a kill may come behind the file that was waited for
        process = start(tmp_path / "out", env={"GRADLAB_DATA": str(root)})
        while not list(root.glob("shapes10/data_batch_*.part")):
            assert process.poll() is None and not (root / "shapes10/VERSION").exists()
        process.kill()
        assert process.wait() == -signal.SIGKILL
        parts = list(root.glob("shapes10/*.part"))
    run(tmp_path / "out", env={"GRADLAB_DATA": str(root)})
    assert (tmp_path / "out/checkpoint").read_bytes() == final_state()
    assert files(root / "shapes10") == files(sound / "shapes10")


def test_a_run_leaves_nothing_but_its_log_and_two_checkpoints(tmp_path):
    out = tmp_path / "out"
    run(out, "STEPS=16")
    assert sorted(path.name for path in out.iterdir()) == ["checkpoint", "checkpoint.previous",
                                                           "train.jsonl"]
    assert [json.loads(line)["kind"] for line in open(out / "train.jsonl")] == ["run"]
