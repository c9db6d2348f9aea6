"""What killed_class.py compares, and in make test-all a class of ten that is killed six times; the
whole by hand:

    tests/term/killed_class.py LAB=2 FOLDER=folder
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/term"), str(ROOT / "autograder/course/tests")]

import killed_class  # noqa: E402 (found by the line above)
from classroom import Classroom  # noqa: E402 (found by the line above)


@pytest.mark.parametrize("change, same", [
    ({}, True),
    ({"wall_s": 9.5, "time": "later"}, True),
    ({"runs": [{"device": "cpu", "seconds": 3}]}, True),
    ({"claims": [{"failures": [{"kind": "crash", "cpu_s": 0.2}]}]}, True),
    ({"claims": [{"failures": [{"kind": "leak", "cpu_s": 0.1}]}]}, False),
    ({"runs": [{"device": "cuda", "seconds": 2}]}, False),
    ({"score": {"points": 99}}, False),
    ({"seed": None}, False),
])
def test_all_but_times_must_be_the_same(tmp_path, change, same):
    document = {"seed": 1, "score": {"points": 98}, "wall_s": 1.5, "time": "now",
                "runs": [{"device": "cpu", "seconds": 2}],
                "claims": [{"failures": [{"kind": "crash", "cpu_s": 0.1}]}]}
    for name, what in (("calm", document), ("killed", document | change)):
        path = tmp_path / name / "ada/lab2/1/grade.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(what))
    states = [killed_class.state(tmp_path / name) for name in ("calm", "killed")]
    assert (not killed_class.differing(*states, "class")) == same


def test_what_is_missing_or_left_is_a_difference():
    assert killed_class.differing({"a": b"", "b": b""}, {"a": b"", "c": b""}, "class") == [
        "class: b: None instead of b''", "class: c: b'' instead of None"]


def a_class(tmp_path, monkeypatch) -> killed_class.Class:
    """Ten students' who wait for their points, which a make of the test's gives."""
    room = Classroom(tmp_path)
    for n in range(10):
        room.hand_in(f"s{n}", f"points {n} waits 100")
    monkeypatch.setattr(killed_class, "ROOT", room.root)
    one = killed_class.Class(2, room.root, "2")
    command = room.command(*room.words("JOBS=2", out="{}"))
    one.words = [w for w in command["args"] if not w.startswith("OUT=")]
    one.env = command["env"]
    return one


def test_a_class_that_is_killed_ends_as_the_undisturbed_one(tmp_path, monkeypatch):
    one = a_class(tmp_path, monkeypatch)
    whole = one.graded(tmp_path / "calm")
    classes, bad = killed_class.disturbed(one, 5, random.Random(1), whole)
    assert classes and not bad, bad


def test_other_points_after_a_kill_and_a_file_left_are_noticed(tmp_path, monkeypatch):
    one = a_class(tmp_path, monkeypatch)
    whole = one.graded(tmp_path / "calm")
    (tmp_path / "changed").write_text("1")
    left = tmp_path / "build/left"
    monkeypatch.setattr(killed_class, "kill", lambda process, _: left.touch() or kill(process))
    _, bad = killed_class.disturbed(one, 1, random.Random(1), whole)
    assert any("points: 8 instead of 7" in line for line in bad)
    assert bad[-1].endswith("build/left was left")


def kill(process) -> None:
    process.kill()
    process.wait()


def a_class_of_ten(tmp_path):
    words = [sys.executable, "tests/term/killed_class.py", "LAB=4", f"FOLDER={tmp_path / 'class'}",
             "STUDENTS=10", "KILLS=6", "SEED=1"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0 and "6 kills, " in done.stdout, done.stdout + done.stderr


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_class_of_ten = a_class_of_ten
