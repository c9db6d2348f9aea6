"""Short training runs for the tests about stopping them: start, stop, and look at what they leave.

GRADLAB_DEVICES: the device of the runs (cpu; of a list the first).
"""

import atexit
import fcntl
import functools
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAIN = ROOT / "build/float/train"
DEVICE = os.environ.get("GRADLAB_DEVICES", "cpu").split(",")[0]
# 128 steps with momentum and augmentation; a checkpoint after every eighth step, and each epoch.
OPTIONS = ["NET=a", "DATASET=shapes10", "LIMIT=512", "BATCH=16", "EPOCHS=4", "MOMENTUM=0.9",
           "LR=0.01", "AUG=crop+flip", "CKPT_EVERY=8", f"DEVICE={DEVICE}", "SEED=5"]
FIGURES = ("train_loss", "train_acc", "test_loss", "test_acc")  # of an epoch
PATIENCE_S = 300  # a run takes seconds; one that hangs must end as a failure


@functools.cache
def environment() -> dict:
    """shapes10 drawn once for all test processes; the user's own data sets are not touched."""
    root = ROOT / "build/sets"
    root.mkdir(parents=True, exist_ok=True)
    with open(root / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "shapes10/VERSION").exists():  # it comes last
            subprocess.run([ROOT / "build/float/shapes10", root], check=True, capture_output=True)
    return os.environ | {"GRADLAB_DATA": str(root), "OMP_NUM_THREADS": "2", "LC_ALL": "C"}


def start(out, *more, before=(), env=None, **popen) -> subprocess.Popen:
    """`before`: words in front of the command; `env`: added to the environment."""
    popen = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | popen
    return subprocess.Popen([*before, TRAIN, *OPTIONS, f"OUT={out}", *more], text=True,
                            env=environment() | (env or {}), **popen)


def finish(process: subprocess.Popen) -> tuple:
    """(exit status, what it wrote to stderr)"""
    _, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, errors


def run(out, *more, **how) -> str:
    """A run that must succeed; returns what it wrote to stderr."""
    status, errors = finish(start(out, *more, **how))
    assert status == 0, errors
    return errors


def wait_for_checkpoint(process: subprocess.Popen, out: Path) -> None:
    while not (out / "checkpoint").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def resume_option(out: Path) -> list:
    return [f"RESUME={out}/checkpoint"] if (out / "checkpoint").exists() else []


@functools.cache
def uninterrupted() -> tuple:
    """(folder, seconds to the first checkpoint, seconds in all) of a run that nobody disturbed."""
    out = Path(tempfile.mkdtemp(prefix="gradlab-whole-"))
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    environment()
    begin = time.monotonic()
    process = start(out)
    wait_for_checkpoint(process, out)
    first = time.monotonic() - begin
    status, errors = finish(process)
    assert status == 0, errors
    return out, first, time.monotonic() - begin


@functools.cache
def state_after(steps: int) -> bytes:
    """The checkpoint of an undisturbed run after that many steps."""
    with tempfile.TemporaryDirectory() as out:
        run(out, f"STEPS={steps}")
        return Path(out, "checkpoint").read_bytes()


def final_state() -> bytes:
    return (uninterrupted()[0] / "checkpoint").read_bytes()


def epoch_lines(out: Path) -> list:
    lines = [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == "epoch"]


def epochs(out: Path) -> dict:
    """epoch -> its figures; the log has each once, in order, however often the run was killed."""
    lines = epoch_lines(out)
    assert [line["epoch"] for line in lines] == list(range(1, len(lines) + 1))
    return {line["epoch"]: tuple(line[name] for name in FIGURES) for line in lines}


def history(state: bytes) -> dict:
    """epoch -> the same figures, from a checkpoint."""
    held = [state[begin:end] for _, begin, end, name in sections(state) if name == "history"]
    rows = struct.iter_unpack("<4d", held[0]) if held else []
    return dict(enumerate(rows, 1))


def files(folder: Path) -> dict:
    """name -> content of everything in a folder"""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def sections(data: bytes) -> list:
    """(start, start of the data, end of the data, name) of each section of a checkpoint, every
    length and sum checked: a reader of its own, by the format in tl/record.h alone."""
    magic, version, count = struct.unpack_from("<8sII", data)
    assert magic == b"TLRECORD" and version == 1
    found, at = [], 16
    for _ in range(count):
        size, crc, zero = struct.unpack_from("<QII", data, at + 88)
        begin, end = at + 104, at + 104 + size
        assert zero == 0 and end <= len(data)
        assert zlib.crc32(data[begin:end], zlib.crc32(data[at:at + 96])) == crc
        found.append((at, begin, end, data[at:at + 48].rstrip(b"\0").decode()))
        at = end + -size % 8
    assert at == len(data)
    return found


def expect_one_line(status: int, errors: str, *words) -> None:
    """Exit status 1 and one last line of the trainer's own, which holds all of the words."""
    lines = errors.splitlines()
    assert status == 1, errors
    assert [line for line in lines if line.startswith("train: ")] == lines[-1:], errors
    for word in words:
        assert str(word) in lines[-1], f"no {word!r} in: {lines[-1]}"
