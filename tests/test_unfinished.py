"""A make that was killed leaves what it had begun to write; the next that writes it tidies up."""

import os
import subprocess
from pathlib import Path

import make

ROOT = Path(__file__).resolve().parents[1]


def test_what_a_killed_make_had_begun_goes_and_what_one_writes_stays():
    ended = subprocess.Popen(["true"])
    ended.wait()
    begun = {pid: ROOT / f"build/float/objects.{pid}" for pid in (ended.pid, os.getpid())}
    begun[ended.pid].parent.mkdir(parents=True, exist_ok=True)
    for path in begun.values():
        path.write_text("half a li")
    try:
        done = make.run("-C", str(ROOT), "-s", "build/float/objects", timeout=120)
        assert done.returncode == 0, done.stderr
        assert {pid: path.exists() for pid, path in begun.items()} == {
            ended.pid: False, os.getpid(): True}
    finally:
        for path in begun.values():
            path.unlink(missing_ok=True)
