"""Killed at any moment, a class goes on where it was."""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from classroom import Classroom

KILLS = 30 if os.environ.get("GRADLAB_TEST_ALL") == "1" else 8


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path)


def inodes(room) -> dict:
    return {str(p): p.stat().st_ino for p in room.out.glob("*/lab2/[0-9]*")}


def test_killed_at_any_moment_it_goes_on_and_ends_the_same(room):
    """Only what was graded and not yet written is graded again, and nothing that is written."""
    moments, kills, grew, seen = random.Random(5), 0, 0, {}
    for n in range(3 * KILLS):
        room.hand_in(f"s{n}", f"points {n} waits {moments.randrange(100)}")
    shutil.copytree(room.handed_in / "s4", room.handed_in / "twin")
    room.hand_in("zoe", "no file of the lab", "other.c")
    room.grade("JOBS=2", out=room.root / "calm")
    known, begun = room.root / "build/legality/known.txt", room.root / "build/submissions"
    known.touch()
    (begun / ".new-class-0123-x").mkdir()
    for _ in range(KILLS):
        process = subprocess.Popen(**room.command(*room.words("JOBS=2")))
        if moments.random() < 0.7:  # while it grades; else it may be before
            next((line for line in process.stderr if line.startswith("[")), "")
        time.sleep(moments.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        now = inodes(room)
        assert {k: v for k, v in now.items() if k in seen} == seen, "an attempt was written again"
        grew += 0 < len(seen) < len(now)
        seen = now
    assert kills > KILLS // 2 and grew > KILLS // 5, "too few runs were killed while they graded"
    room.grade("JOBS=2")
    assert {k: v for k, v in inodes(room).items() if k in seen} == seen
    assert room.tree() == room.tree(room.root / "calm")
    assert not [p for p in (room.root / "build").rglob("*") if "class" in p.name]
    assert list(known.parent.iterdir()) == [known], "what is CUDA is still known of a submission"
    assert not (room.root / "build/course.judged").exists()


def test_who_ends_it_ends_what_it_has_started(room):
    room.hand_in("ada", "points 30 waits for go")
    process = subprocess.Popen(**room.command(*room.words()))
    while not (room.root / "held").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 2 and "what is graded is kept" in said
    assert not list((room.root / "build/course").glob("*")) and not room.graded()


def test_whoever_comes_after_waits_for_what_still_runs(room):
    """The make of a killed grader holds the lock as long as it lives."""
    room.hand_in("ada", "points 30 waits for go")
    process = subprocess.Popen(**room.command(*room.words()))
    while not (room.root / "held").exists():
        time.sleep(0.01)
    process.kill()
    process.communicate()
    after = subprocess.Popen(**room.command(*room.words()))
    assert "what a killed grader had begun still runs" in after.stderr.readline()
    assert not (room.out / "ada").exists() and after.poll() is None
    (room.root / "go").touch()
    after.communicate(timeout=60)
    assert len(room.graded()) == 2 and room.rows()["2", "ada"]["points"] == "30"
